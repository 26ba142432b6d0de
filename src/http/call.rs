//! A request that passed the door: its caller, its input, and access to the exchange. Endpoints get
//! one.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use super::asking::{Asking, ask, ask_only};
use super::auth::Caller;
use super::form::Form;
use super::idempotency;
use super::keyring::Keyring;
use super::limits::Limits;
use super::passwords::Passwords;
use super::past::Past;
use super::preconditions::Preconditions;
use super::presence::Presence;
use super::problem::Problem;
use super::rates::RequestClass;
use super::reply::Reply;
use super::request_id::RequestId;
use super::response_cache::ResponseCaches;
use super::second_factor::BegunFactors;
use super::site::Site;
use super::stream::ends::Teller;
use super::stream::hub::Hub;
use super::stream::seats::Seats;
use super::traffic::Traffic;
use super::unread_rows::UnreadRows;
use super::venue::Venue;
use super::waiting::WaitingReads;
use super::wrong_keys::WrongKeys;
use engine::Engine;
use engine::pending::Answer;
use exchange::command::{Act, Command, IdempotencyKey, KeyedCommand};
use exchange::effect::{Applied, Effect};
use exchange::ids::{
    CategoryId, CategoryNo, EventId, EventNo, KeyId, KeyNo, MarketId, MarketNo, UserId, UserNo,
};
use exchange::reject::Reject;
use exchange::units::Sequence;
use views::ReadModel;
use views::catalogue::MarketRow;
use views::responses::StoredResponse;

/// Most rows that are looked at without waiting for a turn.
pub const SHORT_MAX: usize = 1000;

/// The outcome of a command, executed now or by an earlier request.
#[derive(Debug)]
pub struct Written<T> {
    /// The record of the command.
    pub sequence: Sequence,
    /// Whether an earlier request wrote that record.
    pub replayed: bool,
    /// What the answer shows.
    pub shown: T,
}

impl<T> Written<T> {
    /// Maps what the answer shows.
    ///
    /// # Errors
    /// That of `show`.
    pub fn try_map<U, E: Into<Problem>>(
        self,
        show: impl FnOnce(T) -> Result<U, E>,
    ) -> Result<Written<U>, Problem> {
        let Written { sequence, replayed, shown } = self;
        Ok(Written { sequence, replayed, shown: show(shown).map_err(Into::into)? })
    }

    /// The 200 answer with this content.
    pub fn reply(&self, content: &impl Serialize) -> Result<Reply, Problem> {
        Ok(Reply::ok(self.sequence, content)?.replayed(self.replayed))
    }

    /// The 201 answer to a creation.
    pub fn created(&self, path: String, content: &impl Serialize) -> Result<Reply, Problem> {
        Ok(Reply::created(self.sequence, path, content)?.replayed(self.replayed))
    }
}

/// A submitted command.
#[derive(Debug)]
pub struct Writing<T>(Asking<Option<T>>);

impl<T> Writing<T> {
    /// Waits for the outcome. A refusal is a problem.
    pub async fn came(self) -> Result<Written<T>, Problem> {
        let (answer, seen) = self.0.await?;
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

/// The `again` of commands that cannot be repeated under a key.
pub fn never<T>(_: &ReadModel, _: &StoredResponse) -> Option<T> {
    None
}

/// State shared by all requests.
#[derive(Debug)]
pub struct SharedState {
    /// The venue, which may still be opening.
    pub venue: Venue,
    /// Counts of requests and connections.
    pub traffic: Traffic,
    /// Limits of users, and last use of keys.
    pub keyring: Keyring,
    /// The venue as a site.
    pub site: Site,
    /// Hashes passwords.
    pub passwords: Passwords,
    /// Counts wrong keys.
    pub wrong_keys: WrongKeys,
    /// Second factors that wait for their first codes.
    pub begun_factors: BegunFactors,
    /// Cached answers.
    pub caches: ResponseCaches,
    /// Limits on rows that wait for readers of long lists.
    pub unread: Arc<UnreadRows>,
    /// What all streams listen to.
    pub hub: Arc<Hub>,
    /// How many streams each user has.
    pub seats: Seats,
    /// What ends connections.
    pub ends: Teller,
    /// Reads that wait for a change.
    pub waiting: WaitingReads,
    /// Held while users' limits on keys are checked and a key is created, so that concurrent
    /// requests cannot exceed them.
    pub key_creation: tokio::sync::Mutex<()>,
    /// Held while it is looked at how much play money a user has, and more is given.
    pub faucet: tokio::sync::Mutex<()>,
    /// Held while a market is revised, so that none is revised between the check of a condition on
    /// it and the revision; and while a market or an event is named, so that a slug that was found
    /// free still is.
    pub revision: tokio::sync::Mutex<()>,
}

impl SharedState {
    /// Empty caches and full rates.
    pub fn new(venue: Venue, traffic: Traffic, limits: &Limits, site: Site) -> SharedState {
        SharedState {
            venue,
            traffic,
            keyring: Keyring::new(limits.rates),
            site,
            passwords: Passwords::default(),
            wrong_keys: WrongKeys::default(),
            begun_factors: BegunFactors::default(),
            caches: ResponseCaches::default(),
            unread: Arc::new(UnreadRows::new(limits.unread)),
            hub: Arc::default(),
            seats: Seats::default(),
            ends: Teller::default(),
            waiting: WaitingReads::default(),
            key_creation: tokio::sync::Mutex::default(),
            faucet: tokio::sync::Mutex::default(),
            revision: tokio::sync::Mutex::default(),
        }
    }
}

/// A request to an endpoint.
#[derive(Clone)]
pub struct Call {
    /// Takes commands and gives access to the read model.
    pub engine: Engine,
    /// The authenticated caller.
    pub caller: Caller,
    /// Whose account it is about: the caller's, unless an operator names another user.
    pub account: UserNo,
    /// State shared by all requests.
    pub shared: Arc<SharedState>,
    /// The path parameters, by the names in the route's template.
    pub path: Vec<(String, String)>,
    /// The query string.
    pub query: Option<String>,
    /// The body; empty where none was sent.
    pub body: Bytes,
    /// The idempotency key, if one was sent. Its hash is that of the endpoint; see
    /// [`Call::once_for`].
    pub once: Option<Box<IdempotencyKey>>,
    /// Whose act its commands are, where only operators may ask for them.
    pub act: Option<Box<Act>>,
    /// Its conditions on what it reads or changes.
    pub conditions: Preconditions,
    /// The request class whose token the request itself took: that of its route, or cancels if no
    /// token of that was left for [`Endpoint::Several`](super::route::Endpoint::Several).
    pub drew: RequestClass,
    /// Which one it is.
    pub origin: Origin,
}

/// Which request it is, and of which connection.
#[derive(Debug, Clone)]
pub struct Origin {
    /// Its id.
    pub request_id: RequestId,
    /// Whether the client of its connection is still there, if it came on one of its own.
    pub presence: Option<Presence>,
    /// Whether operators have an entrance of their own and it did not come in there.
    pub elsewhere: bool,
}

impl Call {
    /// A request about its caller's account, which says nothing yet.
    pub fn bare(
        engine: &Engine,
        caller: Caller,
        shared: &Arc<SharedState>,
        drew: RequestClass,
        origin: Origin,
    ) -> Call {
        Call {
            engine: engine.clone(),
            caller,
            account: caller.user,
            shared: Arc::clone(shared),
            path: Vec::new(),
            query: None,
            body: Bytes::new(),
            once: None,
            act: None,
            conditions: Preconditions::default(),
            drew,
            origin,
        }
    }

    /// What it says, to be read.
    pub fn form(&self) -> Form<'_> {
        let form = Form::new(&self.path, self.query.as_deref()).with_body(&self.body);
        let form = form.with_clock(&self.engine);
        if self.act.is_some() { form.of_operator() } else { form }
    }

    /// Its typed parts, all of them good.
    ///
    /// # Errors
    /// Everything that is bad in it, and everything that `read` does not ask for.
    pub fn read<'a, T>(
        &'a self,
        read: impl FnOnce(&mut Form<'a>) -> Option<T>,
    ) -> Result<T, Problem> {
        let mut form = self.form();
        let read = read(&mut form);
        form.finish(read)
    }

    /// The same request about the account of the user whom its path names.
    ///
    /// # Errors
    /// There is no such user.
    pub fn about_user(self) -> Result<Call, Problem> {
        // Whoever answers it reads the query.
        let mut form = Form::new(&self.path, None);
        let id = form.path("userId");
        let id = form.finish(id)?;
        let (_, account) = self.look(|view| user_no(view, id))?;
        Ok(Call { account, ..self })
    }

    /// Access to past states; queries of non-operators are limited together, and each has one.
    pub fn past(&self) -> Past {
        let past =
            Past::new(Arc::clone(self.engine.past()), Arc::clone(self.shared.venue.questions()));
        if self.caller.is_operator() { past } else { past.for_trader(self.caller.user) }
    }

    /// This request's idempotency key, if it has one, with the meaning of the request.
    pub fn once_for(&self, command: &Command) -> Option<Box<IdempotencyKey>> {
        let meant = self.once.as_deref().map(|once| idempotency::meaning(once, command));
        meant.map(|once| Box::new(idempotency::grounded(once, self.act.as_deref())))
    }

    /// A command with this request's idempotency key, if it has one, and the caller's API key.
    pub fn asked(&self, command: Command) -> KeyedCommand {
        KeyedCommand { once: self.once_for(&command), ..self.keyless(command) }
    }

    /// The same without the idempotency key.
    fn keyless(&self, command: Command) -> KeyedCommand {
        KeyedCommand { once: None, act: self.act.clone(), command: self.by_key(command) }
    }

    /// A command with the caller's API key, which is no part of what is asked for.
    pub fn by_key(&self, command: Command) -> Command {
        command.by_key(self.caller.key())
    }

    /// Takes the record of a command from the user's daily allowance. The methods that execute a
    /// command do so themselves.
    ///
    /// # Errors
    /// The allowance is used up.
    pub fn record(&self, command: &Command) -> Result<(), Problem> {
        self.shared.keyring.record(&self.caller, command).map_err(Problem::beyond_daily)
    }

    /// Executes a command without an idempotency key. A refusal is a problem.
    pub async fn submit(&self, command: Command) -> Result<Answer, Problem> {
        self.record(&command)?;
        accepted(ask_only(&self.engine, self.keyless(command)).await?.0)
    }

    /// Executes a command and calls `look` on its result before the next record is applied. If an
    /// earlier request executed it, `again` builds the same from the stored response. Both run on
    /// the matcher's thread under the read model's write lock: they must only copy what the answer
    /// needs, and leave serialisation for later.
    pub async fn submit_and_look<T: Send + 'static>(
        &self,
        command: Command,
        look: impl FnOnce(&ReadModel, &Applied<'_>) -> Option<T> + Send + 'static,
        again: impl FnOnce(&ReadModel, &StoredResponse) -> Option<T> + Send + 'static,
    ) -> Result<Written<T>, Problem> {
        self.ask_and_look(self.asked(command), look, again)?.came().await
    }

    /// Executes a command and shows the rows that it changed as its record left them, whether that
    /// was now or, for a repetition, earlier. `show` runs under the read model's write lock.
    pub async fn submit_and_show<T: Send + 'static>(
        &self,
        command: Command,
        show: impl FnOnce(&ReadModel, &StoredResponse) -> Option<T> + Send + 'static,
    ) -> Result<Written<T>, Problem> {
        self.submit_asked_and_show(self.asked(command), show).await
    }

    /// [`Call::submit_and_show`] of a command that has its idempotency key.
    pub async fn submit_asked_and_show<T: Send + 'static>(
        &self,
        asked: KeyedCommand,
        show: impl FnOnce(&ReadModel, &StoredResponse) -> Option<T> + Send + 'static,
    ) -> Result<Written<T>, Problem> {
        let look = |view: &ReadModel, applied: &Applied<'_>| match applied.effects {
            [Effect::Repeated { first }] => {
                view.answers.of(*first).and_then(|kept| show(view, kept))
            }
            [Effect::Refused(_)] => None,
            _ => show(view, &StoredResponse::of(applied, view)),
        };
        self.record(&asked.command)?;
        Writing(ask(&self.engine, asked, look)).came().await
    }

    /// [`Call::submit_and_look`] without waiting: commands submitted together share a block.
    pub fn ask_and_look<T: Send + 'static>(
        &self,
        asked: KeyedCommand,
        look: impl FnOnce(&ReadModel, &Applied<'_>) -> Option<T> + Send + 'static,
        again: impl FnOnce(&ReadModel, &StoredResponse) -> Option<T> + Send + 'static,
    ) -> Result<Writing<T>, Problem> {
        self.record(&asked.command)?;
        let user = self.caller.user;
        let look =
            move |view: &ReadModel, applied: &Applied<'_>| seen(view, applied, user, look, again);
        Ok(Writing(ask(&self.engine, asked, look)))
    }

    /// [`Call::look`], on a thread for it if it looks at so many rows that the worker's other
    /// connections would wait.
    pub async fn look_apart<T: Send + 'static>(
        &self,
        rows: usize,
        look: impl FnOnce(&ReadModel) -> Result<T, Problem> + Send + 'static,
    ) -> Result<(Sequence, T), Problem> {
        if rows <= SHORT_MAX {
            return self.look(look);
        }
        let call = self.clone();
        let looking = tokio::task::spawn_blocking(move || call.look(look)).await;
        looking.unwrap_or_else(|_| Err(Problem::internal("a look at many rows ended early")))
    }

    /// Calls `look` on one state of the read model; returns its result and that state's last
    /// record. Slow work such as serialisation must wait until afterwards: the projector is blocked
    /// meanwhile.
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

/// What a record's result shows.
fn seen<T>(
    view: &ReadModel,
    applied: &Applied<'_>,
    user: UserNo,
    look: impl FnOnce(&ReadModel, &Applied<'_>) -> Option<T>,
    again: impl FnOnce(&ReadModel, &StoredResponse) -> Option<T>,
) -> Option<T> {
    match applied.effects {
        [Effect::Repeated { first }] => again(view, &view.answers.or_placed(*first, user)),
        // The caller only gets the reason. And a refused command may concern an order that ended
        // long ago, which would be read from disk under the write lock.
        [Effect::Refused(_)] => None,
        _ => look(view, applied),
    }
}

/// Turns a refusal into a problem.
pub fn accepted(answer: Answer) -> Result<Answer, Problem> {
    match answer.effects() {
        [Effect::Refused(reject)] => Err(Problem::refused(*reject, answer.sequence())),
        _ => Ok(answer),
    }
}

/// A public market.
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

/// The number of a key that a user has, or had.
pub fn own_key_no(view: &ReadModel, user: UserNo, id: KeyId) -> Result<KeyNo, Problem> {
    let row = view.accounts.key_no(id).and_then(|key| view.accounts.key(key));
    let own = row.filter(|row| row.user == user).map(|row| row.no);
    own.ok_or_else(|| Problem::of(Reject::KeyNotFound))
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
#[path = "../../tests/unit/http/call.rs"]
mod tests;
