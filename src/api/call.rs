//! One request that passed the door: who calls, with what, and how to reach the exchange.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use super::auth::Caller;
use super::directory::Directory;
use super::form::Form;
use super::keyring::Keyring;
use super::problem::Problem;
use super::reply::Reply;
use super::request_id::RequestId;
use super::response_cache::ResponseCaches;
use super::routes::RequestClass;
use super::unread_rows::UnreadRows;
use crate::engine::past::Past;
use crate::engine::pending::Answer;
use crate::engine::{Asking, Engine};
use crate::exchange::command::{Command, IdempotencyKey, KeyedCommand};
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::{
    CategoryId, CategoryNo, EventId, EventNo, MarketId, MarketNo, UserId, UserNo,
};
use crate::exchange::reject::Reject;
use crate::exchange::units::Sequence;
use crate::projection::ReadModel;
use crate::projection::catalogue::MarketRow;
use crate::projection::responses::StoredResponse;

/// What came of a command, now or when it was carried out before.
#[derive(Debug)]
pub struct Written<T> {
    /// The record that carried it out.
    pub sequence: Sequence,
    /// Whether that was an earlier one.
    pub replayed: bool,
    /// What the answer shows.
    pub shown: T,
}

impl<T> Written<T> {
    /// The same with what is to be shown of it.
    ///
    /// # Errors
    /// That of `show`.
    pub fn told<U, E: Into<Problem>>(
        self,
        show: impl FnOnce(T) -> Result<U, E>,
    ) -> Result<Written<U>, Problem> {
        let Written { sequence, replayed, shown } = self;
        Ok(Written { sequence, replayed, shown: show(shown).map_err(Into::into)? })
    }

    /// The answer that says this.
    pub fn saying(&self, content: &impl Serialize) -> Result<Reply, Problem> {
        Ok(Reply::ok(self.sequence, content)?.replayed(self.replayed))
    }

    /// The answer to a creation.
    pub fn created(&self, path: String, content: &impl Serialize) -> Result<Reply, Problem> {
        Ok(Reply::created(self.sequence, path, content)?.replayed(self.replayed))
    }
}

/// A command that was handed in.
#[derive(Debug)]
pub struct Writing<T>(Asking<Option<T>>);

impl<T> Writing<T> {
    /// Waits for what comes of it. A refusal is a problem.
    pub async fn came(self) -> Result<Written<T>, Problem> {
        let (answer, seen) = self.0.came().await?;
        let (sequence, replayed) = match answer.effects() {
            [Effect::Refused(reject)] => {
                return Err(Problem::refused(*reject, answer.sequence()));
            }
            [Effect::Repeated { first }] => (*first, true),
            _ => (answer.sequence(), false),
        };
        Ok(Written { sequence, replayed, shown: seen.ok_or_else(Problem::lacking_row)? })
    }
}

/// What is made of a repetition where none can be asked for: nothing.
pub fn never<T>(_: &ReadModel, _: &StoredResponse) -> Option<T> {
    None
}

/// What stands behind the door for all requests.
#[derive(Debug)]
pub struct SharedState {
    /// What is remembered of keys.
    pub keyring: Keyring,
    /// What is kept in print.
    pub caches: ResponseCaches,
    /// What is known of keys and markets.
    pub directory: Directory,
    /// What waits for readers of long lists.
    pub unread: Arc<UnreadRows>,
}

/// A request to an endpoint.
#[derive(Clone)]
pub struct Call {
    /// Where commands go and readers read.
    pub engine: Engine,
    /// Who asks.
    pub caller: Caller,
    /// What all requests share.
    pub shared: Arc<SharedState>,
    /// The parts of the path that its template names.
    pub path: Vec<(String, String)>,
    /// What follows the question mark.
    pub query: Option<String>,
    /// The body; empty where none was sent.
    pub body: Bytes,
    /// The key under which it is asked.
    pub once: Option<Box<IdempotencyKey>>,
    /// The lane that the request itself drew on: that of its route, or, where nothing was left
    /// there for [`Endpoint::Several`](super::routes::Endpoint::Several), the one of cancels.
    pub drew: RequestClass,
    /// The request's id.
    pub request_id: RequestId,
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

    /// The past, as far as the caller may ask for it at once with others.
    pub fn past(&self) -> Past {
        let past = self.engine.past();
        if self.caller.is_operator() { past.clone() } else { past.for_the_public() }
    }

    /// A command as this request asks it: under its key, if it has one.
    pub fn asked(&self, command: Command) -> KeyedCommand {
        KeyedCommand { once: self.once.clone(), command }
    }

    /// Has a command carried out that no repetition can be asked of. A refusal is a problem.
    pub async fn submit(&self, command: Command) -> Result<Answer, Problem> {
        accepted(self.engine.submit(command).await?)
    }

    /// Has a command carried out, and looks at what it made before anything else can change it; if
    /// it was carried out before, `again` makes the same of what was kept of that. Both run while
    /// everybody waits: they take what the answer needs, and leave the printing.
    pub async fn submit_and_look<T: Send + 'static>(
        &self,
        command: Command,
        look: impl FnOnce(&ReadModel, &Applied<'_>) -> Option<T> + Send + 'static,
        again: impl FnOnce(&ReadModel, &StoredResponse) -> Option<T> + Send + 'static,
    ) -> Result<Written<T>, Problem> {
        self.ask_and_look(self.asked(command), look, again)?.came().await
    }

    /// Has a command carried out and shows what it made: its rows as the record left them, whether
    /// that was now or, for a repetition, the first time. `show` runs while everybody waits.
    pub async fn submit_and_show<T: Send + 'static>(
        &self,
        command: Command,
        show: impl FnOnce(&ReadModel, &StoredResponse) -> Option<T> + Send + 'static,
    ) -> Result<Written<T>, Problem> {
        let look = |view: &ReadModel, applied: &Applied<'_>| match applied.effects {
            [Effect::Repeated { first }] => {
                view.answers.of(*first).and_then(|kept| show(view, kept))
            }
            [Effect::Refused(_)] => None,
            _ => show(view, &StoredResponse::of(applied, view)),
        };
        Writing(self.engine.ask_and_look(self.asked(command), look)?).came().await
    }

    /// The same without waiting: commands that are handed in together share a block.
    pub fn ask_and_look<T: Send + 'static>(
        &self,
        asked: KeyedCommand,
        look: impl FnOnce(&ReadModel, &Applied<'_>) -> Option<T> + Send + 'static,
        again: impl FnOnce(&ReadModel, &StoredResponse) -> Option<T> + Send + 'static,
    ) -> Result<Writing<T>, Problem> {
        let look = |view: &ReadModel, applied: &Applied<'_>| seen(view, applied, look, again);
        Ok(Writing(self.engine.ask_and_look(asked, look)?))
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

/// What there is to see of a record.
fn seen<T>(
    view: &ReadModel,
    applied: &Applied<'_>,
    look: impl FnOnce(&ReadModel, &Applied<'_>) -> Option<T>,
    again: impl FnOnce(&ReadModel, &StoredResponse) -> Option<T>,
) -> Option<T> {
    match applied.effects {
        [Effect::Repeated { first }] => view.answers.of(*first).and_then(|kept| again(view, kept)),
        // Nobody is shown more than why; and what was refused may be about an order that ended
        // long ago, which is read from the disk while everybody waits.
        [Effect::Refused(_)] => None,
        _ => look(view, applied),
    }
}

/// An answer, if it is no refusal.
pub fn accepted(answer: Answer) -> Result<Answer, Problem> {
    match answer.effects() {
        [Effect::Refused(reject)] => Err(Problem::refused(*reject, answer.sequence())),
        _ => Ok(answer),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_looked_at_by_nobody() {
        let view = ReadModel::new();
        let looked = |effects: &[Effect]| {
            let applied = Applied { sequence: Sequence::new(1), time: view.time(), effects };
            seen(&view, &applied, |_, _| Some(()), never).is_some()
        };
        assert!(looked(&[]));
        assert!(!looked(&[Effect::Refused(Reject::OrderNotOpen)]));
        // Nothing was kept of the first.
        assert!(!looked(&[Effect::Repeated { first: Sequence::ZERO }]));
    }
}
