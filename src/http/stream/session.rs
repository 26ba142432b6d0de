//! Whose stream it is: the key that was shown, and one of its user's places.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use super::channel::Channel;
use super::listening::Listening;
use super::message::{Asked, Subscribed};
use super::print::ChannelAnswer;
use super::seats::Seat;
use crate::auth::{self, Caller, Credential};
use crate::call::SharedState;
use crate::connection_slots::ConnectionSlot;
use crate::entrance;
use crate::problem::{FieldCode, FieldError, Kind, Problem};
use crate::rates::{Allowance, RequestClass};
use crate::route::Access;
use crate::tokens;
use engine::Engine;
use exchange::units::Sequence;

/// A stream of a key's user.
#[derive(Debug)]
pub struct Session {
    /// As whom it acts.
    pub caller: Caller,
    key: Credential,
    ends_by_itself: bool,
    /// Whether it came in where nothing is told that is the operators'.
    elsewhere: bool,
    _seat: Seat,
}

impl Session {
    /// Opens a stream: it costs a read, and one of the user's places.
    ///
    /// # Errors
    /// The key is not good, or the user has no token or no place left.
    pub fn open(
        key: Credential,
        engine: &Engine,
        shared: &SharedState,
        connection: Option<&ConnectionSlot>,
    ) -> Result<Session, Problem> {
        let caller = auth::holder(key, engine, &shared.caches.holders)?;
        if !Access::Keys.admits(caller.role) {
            return Err(Problem::new(Kind::Forbidden, "this key only reads metrics"));
        }
        tokens::take(&shared.keyring, &caller, RequestClass::Reads, false, Instant::now())?;
        let seat = shared.seats.take(caller.user)?;
        let ends_by_itself = caller.ends_by_itself(engine);
        let elsewhere = entrance::is_elsewhere(connection, &shared.site);
        Ok(Session { caller, key, ends_by_itself, elsewhere, _seat: seat })
    }

    /// Takes note of what was published since; whether the key is still good.
    pub fn refresh(&mut self, engine: &Engine, shared: &SharedState) -> bool {
        let (as_of, keys_as_of) = engine.watermark_and_keys();
        if keys_as_of == self.caller.keys_as_of && !self.ends_by_itself {
            self.caller.as_of = as_of;
            return true;
        }
        match auth::holder(self.key, engine, &shared.caches.holders) {
            Ok(caller) => {
                self.caller = caller;
                true
            }
            Err(_) => false,
        }
    }

    /// The same as of a record at least, of which something is to be told.
    pub fn refresh_to(&mut self, to: Sequence, engine: &Engine, shared: &SharedState) -> bool {
        if engine.watermark() < to {
            // It is published before the lock is free again.
            drop(engine.read());
        }
        self.refresh(engine, shared)
    }

    fn channel(&self, name: &str) -> Result<Channel, Problem> {
        match Channel::parse(name)? {
            Channel::Journal if self.elsewhere => Err(entrance::elsewhere()),
            channel => Ok(channel),
        }
    }

    /// Subscribes to channels; each stands or falls for itself.
    pub fn subscribe(
        &self,
        listening: &mut Listening,
        names: &[String],
        from: Option<Sequence>,
    ) -> Vec<ChannelAnswer> {
        let mut seen = HashSet::new();
        // Each has a snapshot, which is taken while others wait: no channel twice.
        let mut once = |channel| if seen.insert(channel) { Ok(channel) } else { Err(repeated()) };
        let read: Vec<Result<Channel, Problem>> =
            names.iter().map(|name| self.channel(name).and_then(&mut once)).collect();
        let good: Vec<Channel> = read.iter().flatten().copied().collect();
        let mut asked = listening.subscribe(&self.caller, &good, from).into_iter();
        let lost = || Err(Problem::internal("a subscription has no answer"));
        let each = read.into_iter().map(|read| match read {
            Ok(_) => asked.next().unwrap_or_else(lost),
            Err(problem) => Err(problem),
        });
        names.iter().zip(each).map(|(name, asked)| answer(name, asked)).collect()
    }

    /// Ends subscriptions.
    pub fn unsubscribe(listening: &mut Listening, names: &[String]) -> Vec<ChannelAnswer> {
        let end = |name: &String| {
            let ended = Channel::parse(name).and_then(|channel| {
                let ended = listening.unsubscribe(&[channel]).into_iter().next();
                ended.unwrap_or_else(|| Err(Problem::internal("an unsubscription has no answer")))
            });
            ChannelAnswer { channel: name.clone(), came: ended.map(|()| None) }
        };
        names.iter().map(end).collect()
    }
}

fn repeated() -> Problem {
    let (field, code) = ("channels".to_owned(), FieldCode::Repeated);
    Problem::invalid(vec![FieldError { field, code, detail: "is named twice".into() }])
}

fn answer(name: &str, asked: Asked) -> ChannelAnswer {
    let came = asked.map(|Subscribed { sequence, .. }| Some(sequence));
    ChannelAnswer { channel: name.to_owned(), came }
}

/// Whoever asks to be let in.
pub struct Guest<'a> {
    /// Knows keys and places.
    pub shared: &'a SharedState,
    /// The venue's engine.
    pub engine: &'a Engine,
    /// The connection's slot.
    pub slot: &'a Arc<ConnectionSlot>,
}

impl Guest<'_> {
    /// Lets the holder of a key in, for good: a connection has one key.
    ///
    /// # Errors
    /// The key is missing, not good, or another than before.
    pub fn let_in<'s>(
        &self,
        session: &'s mut Option<Session>,
        key: Option<&str>,
    ) -> Result<&'s Session, Problem> {
        let hash = key.map(|key| auth::hash(key.as_bytes())).transpose()?;
        let hash = hash.map(|hash| Credential { hash, by_cookie: false });
        if session.is_none() {
            let hash = hash.ok_or_else(Problem::keyless)?;
            let opened = Session::open(hash, self.engine, self.shared, Some(self.slot));
            let opened = opened.inspect_err(|problem| {
                if problem.kind.lacks_good_key() {
                    self.slot.disown();
                    // Where a client behind a proxy is, only its requests tell. Nothing waits here:
                    // control messages are few.
                    let is_near = self.shared.site.proxies.is_empty();
                    self.shared.wrong_keys.is_late(self.slot.address().filter(|_| is_near));
                }
            })?;
            self.slot.hold(&opened.caller, Instant::now(), self.engine);
            return Ok(session.insert(opened));
        }
        let session = session.as_ref().ok_or_else(Problem::keyless)?;
        if hash.is_some_and(|hash| hash != session.key) {
            let (field, code) = ("key".to_owned(), FieldCode::InvalidValue);
            let detail = "is another than the one with which this stream was opened".into();
            return Err(Problem::invalid(vec![FieldError { field, code, detail }]));
        }
        Ok(session)
    }
}

impl Problem {
    /// Something was asked for before a key was shown.
    pub fn keyless() -> Problem {
        Problem::new(Kind::MissingApiKey, "send authenticate with your API key first")
    }

    /// Too many control messages.
    pub fn beyond_controls(left: Allowance) -> Problem {
        let limit = left.limit;
        let detail = format!("a stream takes {limit} control messages a second");
        let allowance = Some(Box::new(left));
        Problem { allowance, ..Problem::new(Kind::RateLimited, detail) }
    }
}
