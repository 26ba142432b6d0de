//! A WebSocket's connection: what its client asks for is answered, in the order in which it was
//! sent, and what its channels tell is passed on.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};

use super::commands::{Beginning, Commands};
use super::control::{self, Asked};
use super::ending::Ending;
use super::frames::{Frames, Incoming};
use super::limits::{
    CLOSE_WAIT, CONTROLS_PER_SECOND, HEARTBEAT_EVERY, KEY_WAIT, STEADY_BYTES, UNSENT_BYTES_MAX,
};
use super::listening::Listening;
use super::message::Message;
use super::print;
use super::session::{Guest, Session};
use crate::gather;
use crate::placed_here::PlacedHere;
use crate::problem::Problem;
use crate::rates::{Bucket, Rate};
use exchange::ids::Token;
use exchange::units::Sequence;

/// Messages of a client that are read in one turn.
const READ_A_TURN: usize = 256;
/// How often more is fetched for a reader in one turn, and how much each time: orders of others
/// wait for several such turns.
const FETCHES_A_TURN: usize = 2;
const FETCHED_BYTES: usize = 32 * 1024;

/// A connection.
pub struct Connection<S> {
    beginning: Beginning,
    frames: Frames<S>,
    listening: Option<Listening>,
    commands: Commands,
    controls: Bucket,
    opened: Instant,
    /// When the next heartbeat is due.
    beat_at: Instant,
    /// Whether it is.
    beats: bool,
    /// It is told at once that it has everything when it has everything up to this record.
    catching_up: Option<Sequence>,
    /// A write that waits for the reader.
    blocked: Option<Blocked>,
    ending: Option<Ending>,
    /// Since when the client knows of the end.
    closing_since: Option<Instant>,
}

/// Since when a write waits for its reader, and how much had been written by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Blocked {
    since: Instant,
    written: u64,
}

impl Blocked {
    /// Whether too little was taken for so long; looked at again from now on if it was enough.
    fn is_stuck(&mut self, written: u64, now: Instant, wait: Duration) -> bool {
        if now.saturating_duration_since(self.since) < wait {
            return false;
        }
        let taken = written.saturating_sub(self.written);
        *self = Blocked { since: now, written };
        taken < STEADY_BYTES
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Greets a client over a socket that was upgraded, of which `read` was read already.
    pub fn open(beginning: Beginning, stream: S, read: &[u8]) -> Connection<S> {
        let now = Instant::now();
        let mut connection = Connection {
            frames: Frames::new(stream, read),
            listening: None,
            commands: Commands::default(),
            controls: Bucket::default(),
            opened: now,
            beat_at: now.checked_add(HEARTBEAT_EVERY).unwrap_or(now),
            beats: false,
            catching_up: None,
            blocked: None,
            ending: None,
            closing_since: None,
            beginning,
        };
        let welcome = print::welcome(connection.beginning.engine.now());
        connection.frames.push(&[&welcome]);
        connection
    }

    /// When it is to be looked at even if nothing comes.
    pub fn next_look(&self) -> Instant {
        let now = Instant::now();
        let after = |since: Instant, wait: Duration| since.checked_add(wait).unwrap_or(now);
        let is_nobodys = self.beginning.session.is_none() && self.ending.is_none();
        let key = is_nobodys.then(|| after(self.opened, KEY_WAIT));
        let blocked = self.blocked.map(|it| after(it.since, self.beginning.write_wait));
        let closing = self.closing_since.map(|since| after(since, CLOSE_WAIT));
        let all = [key, blocked, closing].into_iter().flatten();
        all.fold(self.beat_at, Instant::min)
    }

    /// Looks at what time has brought. True if the connection is over.
    pub fn look(&mut self) -> bool {
        let now = Instant::now();
        let since = |since: Option<Instant>, wait: Duration| {
            since.is_some_and(|since| now.duration_since(since) >= wait)
        };
        let (written, wait) = (self.frames.written(), self.beginning.write_wait);
        if self.blocked.as_mut().is_some_and(|blocked| blocked.is_stuck(written, now, wait)) {
            return true;
        }
        if since(self.closing_since, CLOSE_WAIT) && self.blocked.is_none() {
            return true;
        }
        if self.beginning.session.is_none() && since(Some(self.opened), KEY_WAIT) {
            self.end(Ending::NoKey);
        }
        if now >= self.beat_at {
            self.beat_at = now.checked_add(HEARTBEAT_EVERY).unwrap_or(now);
            self.beats = true;
            if let Some(listening) = &self.listening
                && let Err(slow) = listening.check()
            {
                self.end(Ending::Slow(slow.sequence));
            }
        }
        false
    }

    /// Ends it if its key is not in force any more.
    pub fn check_key(&mut self) {
        let Beginning { session, engine, door, .. } = &mut self.beginning;
        if session.as_mut().is_some_and(|session| !session.refresh(engine, door.shared())) {
            self.end(Ending::BadKey);
        }
    }

    /// Begins to end it: what is in flight is still answered.
    pub fn end(&mut self, why: Ending) {
        if self.ending.is_none() {
            self.ending = Some(why);
            self.listening = None;
            self.commands.drop_waiting();
        }
    }

    /// The orders that are to be cancelled after its end.
    pub fn placed(&self) -> Option<Arc<PlacedHere>> {
        self.commands.placed().cloned()
    }

    /// Goes on as far as possible; ready at its end.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(session) = &mut self.beginning.session
            && self.ending.is_none()
            && !session.refresh(&self.beginning.engine, self.beginning.door.shared())
        {
            self.end(Ending::BadKey);
        }
        let engine = self.beginning.engine.clone();
        let (holds, placed) = (self.commands.holds().clone(), self.placed());
        let mut again = gather::turn(&engine, &holds, placed.as_ref(), || {
            self.commands.answer(cx, &self.beginning, &mut self.frames);
            let more = self.read(cx);
            let was_full = !self.commands.has_room();
            self.commands.answer(cx, &self.beginning, &mut self.frames);
            // What held it back may have been answered just now: nothing else wakes it.
            more || (was_full && self.commands.goes_on())
        });
        again |= self.pass_on(cx);
        if self.commands.are_answered()
            && self.closing_since.is_none()
            && let Some(why) = &self.ending
        {
            if why.speaks() {
                self.frames.close(why.code(), &why.reason());
            }
            self.closing_since = Some(Instant::now());
        }
        match self.frames.poll_flush(cx) {
            Poll::Ready(Err(_)) => return Poll::Ready(()),
            Poll::Ready(Ok(())) => self.blocked = None,
            Poll::Pending => {
                let written = self.frames.written();
                self.blocked.get_or_insert_with(|| Blocked { since: Instant::now(), written });
                again = false;
            }
        }
        if self.closing_since.is_some() {
            return self.poll_closed(cx);
        }
        if again {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Reads on until the client has ended the connection, too.
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.blocked.is_some() {
            return Poll::Pending;
        }
        loop {
            match std::task::ready!(self.frames.poll_read(cx)) {
                Incoming::Text(_) | Incoming::Binary => {}
                Incoming::TooLarge | Incoming::Broken | Incoming::Ended => return Poll::Ready(()),
            }
        }
    }

    /// Reads what has come, as far as it may be in hand at once; whether there may be more.
    fn read(&mut self, cx: &mut Context<'_>) -> bool {
        for _ in 0..READ_A_TURN {
            if self.ending.is_some() || !self.commands.have_room(&self.beginning) {
                return false;
            }
            if self.frames.unsent() >= UNSENT_BYTES_MAX {
                return true;
            }
            match self.frames.poll_read(cx) {
                Poll::Pending => return false,
                Poll::Ready(Incoming::Text(text)) => self.take(&text),
                Poll::Ready(Incoming::Binary) => self.end(Ending::NotText),
                Poll::Ready(Incoming::TooLarge) => self.end(Ending::TooLarge),
                Poll::Ready(Incoming::Broken) => self.end(Ending::Broken),
                Poll::Ready(Incoming::Ended) => self.end(Ending::Left),
            }
        }
        true
    }

    /// Takes a message.
    fn take(&mut self, text: &str) {
        let (id, asked) = control::read(text);
        match (id, asked) {
            (Some(id), Ok(Asked::Order(order))) if self.beginning.session.is_some() => {
                self.commands.take(id, order, &self.beginning);
            }
            (id, asked) => {
                if let Some(problem) = self.too_often() {
                    return self.refuse(id.as_ref(), &problem);
                }
                match asked.and_then(|asked| self.control(asked)) {
                    Ok(answer) => self.frames.push(&[&print::done(id.as_ref(), &answer)]),
                    Err(problem) => self.refuse(id.as_ref(), &problem),
                }
            }
        }
    }

    /// Refuses control messages beyond their rate.
    fn too_often(&self) -> Option<Problem> {
        let rate = Rate::new(CONTROLS_PER_SECOND, CONTROLS_PER_SECOND)?;
        let now = u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // A bucket is full at a moment before the first.
        let left = self.controls.take(rate, 1, now);
        left.wait_seconds.map(|_| Problem::beyond_controls(left))
    }

    fn refuse(&mut self, id: Option<&Token>, problem: &Problem) {
        let request_id = self.beginning.door.request_ids().next();
        let sequence = self.beginning.session.as_ref().map(|session| session.caller.as_of);
        let text = print::refused(id, problem, sequence, request_id.as_str());
        self.frames.push(&[&text]);
    }

    /// Does what a control message asks for; returns what its answer says.
    fn control(&mut self, asked: Asked) -> Result<print::Done, Problem> {
        let head = self.head();
        let Beginning { door, engine, slot, session, .. } = &mut self.beginning;
        match asked {
            Asked::Ping => Ok(print::Done::Pong(session.is_some().then_some(head), engine.now())),
            Asked::Authenticate(key, ends_orders) => {
                let guest = Guest { shared: door.shared(), engine, slot };
                let session = guest.let_in(session, key.as_deref())?;
                if ends_orders {
                    self.commands.end_orders_of(session.caller.user);
                }
                Ok(print::Done::LetIn(session.caller.as_of, ends_orders))
            }
            Asked::Subscribe(names, from) => {
                let session = session.as_ref().ok_or_else(Problem::keyless)?;
                let listening = match &mut self.listening {
                    Some(listening) => listening,
                    none => none.insert(door.shared().hub.listen(engine)?),
                };
                self.catching_up = Some(engine.watermark());
                Ok(print::Done::Channels(session.subscribe(listening, &names, from)))
            }
            Asked::Unsubscribe(names) => {
                session.as_ref().ok_or_else(Problem::keyless)?;
                let listening = match &mut self.listening {
                    Some(listening) => listening,
                    none => none.insert(door.shared().hub.listen(engine)?),
                };
                Ok(print::Done::Channels(Session::unsubscribe(listening, &names)))
            }
            Asked::Order(_) => Err(Problem::keyless()),
        }
    }

    /// Passes on what the channels tell; whether there is more.
    fn pass_on(&mut self, cx: &mut Context<'_>) -> bool {
        let mut messages: Vec<Arc<Message>> = Vec::new();
        for _ in 0..FETCHES_A_TURN {
            // What waits leaves together with what is fetched.
            if self.frames.unsent() >= FETCHED_BYTES && self.frames.poll_flush(cx).is_pending() {
                return false;
            }
            let Some(listening) = &mut self.listening else {
                self.beat();
                return false;
            };
            match listening.poll_messages(cx, &mut messages, FETCHED_BYTES) {
                Poll::Pending => {
                    self.beat();
                    return false;
                }
                Poll::Ready(Err(slow)) => {
                    self.end(Ending::Slow(slow.sequence));
                    return true;
                }
                Poll::Ready(Ok(_)) => {
                    let last = messages.last().map_or(Sequence::ZERO, |last| last.sequence);
                    let Beginning { session, engine, door, .. } = &mut self.beginning;
                    let session = session.as_mut();
                    if session.is_some_and(|it| !it.refresh_to(last, engine, door.shared())) {
                        self.end(Ending::BadKey);
                        return true;
                    }
                    for message in messages.drain(..) {
                        self.frames.push(&[&message.text]);
                    }
                    self.beat();
                }
            }
        }
        true
    }

    /// The last record of which everything that concerns the connection was handed out.
    fn head(&self) -> Sequence {
        let engine = &self.beginning.engine;
        // Nothing concerns a connection that listens to nothing.
        let listening = self.listening.as_ref().filter(|all| all.channels().len() > 0);
        listening.map_or_else(|| engine.watermark(), Listening::head)
    }

    /// Tells the client how far it has everything, if it is to be told.
    fn beat(&mut self) {
        if !self.beats && self.catching_up.is_none() {
            return;
        }
        let Beginning { session, engine, slot, .. } = &self.beginning;
        let head = self.head();
        let has_caught_up = self.catching_up.is_some_and(|to| head >= to);
        if let Some(session) = session
            && self.ending.is_none()
            && (self.beats || has_caught_up)
        {
            slot.hold(&session.caller, Instant::now(), engine);
            let heartbeat = print::heartbeat(head, engine.now());
            self.frames.push(&[&heartbeat]);
            self.beats = false;
            self.catching_up = self.catching_up.filter(|_| !has_caught_up);
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/connection.rs"]
mod tests;
