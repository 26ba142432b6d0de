//! One request that passed the door: who calls, with what, and how to reach the exchange.

use std::sync::Arc;

use bytes::Bytes;

use super::auth::Caller;
use super::form::Form;
use super::keyring::Keyring;
use super::problem::Problem;
use crate::engine::Engine;
use crate::engine::pending::Answer;
use crate::exchange::command::Command;
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::{
    CategoryId, CategoryNo, EventId, EventNo, MarketId, MarketNo, UserId, UserNo,
};
use crate::exchange::reject::Reject;
use crate::exchange::units::Sequence;
use crate::projection::ReadModel;
use crate::projection::catalogue::MarketRow;

/// A request to an endpoint.
#[derive(Clone)]
pub struct Call {
    /// Where commands go and readers read.
    pub engine: Engine,
    /// Who asks.
    pub caller: Caller,
    /// What the door remembers of keys.
    pub keyring: Arc<Keyring>,
    /// The parts of the path that its template names.
    pub path: Vec<(String, String)>,
    /// What follows the question mark.
    pub query: Option<String>,
    /// The body; empty where none was sent.
    pub body: Bytes,
}

impl Call {
    /// The form of an endpoint without a body.
    pub fn form(&self) -> Form<'_> {
        Form::new(&self.path, self.query.as_deref())
    }

    /// The form of an endpoint that needs a body.
    pub fn form_with_body(&self) -> Form<'_> {
        Form::with_body(&self.path, self.query.as_deref(), &self.body)
    }

    /// The form of an endpoint whose body may be left out.
    pub fn form_with_optional_body(&self) -> Form<'_> {
        if self.body.is_empty() { self.form() } else { self.form_with_body() }
    }

    /// Has a command carried out. A refusal is a problem.
    pub async fn submit(&self, command: Command) -> Result<Answer, Problem> {
        let answer = self.engine.submit(command).await?;
        match answer.effects() {
            [Effect::Refused(reject)] => Err(Problem::refused(*reject, answer.sequence())),
            _ => Ok(answer),
        }
    }

    /// Has a command carried out, and looks at what it made before anything else can change it.
    /// `look` runs while everybody waits: it takes what the answer needs, and leaves the printing.
    pub async fn submit_and_look<T: Send + 'static>(
        &self,
        command: Command,
        look: impl FnOnce(&ReadModel, &[Effect]) -> Option<T> + Send + 'static,
    ) -> Result<(Sequence, T), Problem> {
        let look = |view: &ReadModel, applied: &Applied<'_>| look(view, applied.effects);
        let (answer, seen) = self.engine.submit_and_look(command, look).await?;
        match answer.effects() {
            [Effect::Refused(reject)] => Err(Problem::refused(*reject, answer.sequence())),
            _ => seen
                .map(|seen| (answer.sequence(), seen))
                .ok_or_else(|| Problem::internal("the read model lacks a row that it must have")),
        }
    }

    /// Reads at one moment: what `look` finds, and the last record it can have seen. `look` must
    /// leave what is slow, such as printing, for later: writers wait meanwhile.
    pub fn look<T>(
        &self,
        look: impl FnOnce(&ReadModel) -> Result<T, Problem>,
    ) -> Result<(Sequence, T), Problem> {
        let view = self.engine.read();
        let sequence = view.watermark();
        match look(&view) {
            Ok(found) => Ok((sequence, found)),
            Err(problem) => Err(Problem { sequence: Some(sequence), ..problem }),
        }
    }
}

/// A market that the public may see.
pub fn public_market(view: &ReadModel, id: MarketId) -> Result<&MarketRow, Problem> {
    let row = view.catalogue.market_no(id).and_then(|market| view.catalogue.market(market));
    row.filter(|row| row.status.public()).ok_or_else(|| Problem::of(Reject::MarketNotFound))
}

/// The number of any market, drafts too.
pub fn market_no(view: &ReadModel, id: MarketId) -> Result<MarketNo, Problem> {
    view.catalogue.market_no(id).ok_or_else(|| Problem::of(Reject::MarketNotFound))
}

/// The number of any event.
pub fn event_no(view: &ReadModel, id: EventId) -> Result<EventNo, Problem> {
    view.catalogue.event_no(id).ok_or_else(|| Problem::of(Reject::EventNotFound))
}

/// The number of a user.
pub fn user_no(view: &ReadModel, id: UserId) -> Result<UserNo, Problem> {
    view.accounts.user_no(id).ok_or_else(|| Problem::of(Reject::UserNotFound))
}

/// The numbers of categories, all of which must exist.
pub fn category_nos(view: &ReadModel, ids: &[CategoryId]) -> Result<Vec<CategoryNo>, Problem> {
    let number = |id: &CategoryId| view.catalogue.category_no(*id);
    let numbers: Option<Vec<CategoryNo>> = ids.iter().map(number).collect();
    numbers.ok_or_else(|| Problem::of(Reject::CategoryNotFound))
}
