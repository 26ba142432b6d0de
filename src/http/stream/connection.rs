//! A WebSocket's connection: what its client asks for is answered, in the order in which it was
//! sent, and what its channels tell is passed on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};

use super::control::{self, Asked, Order, OrderOp};
use super::ending::Ending;
use super::entry;
use super::frames::{Frames, Incoming};
use super::limits::{
    CLOSE_WAIT, CONTROLS_PER_SECOND, HEARTBEAT_EVERY, IN_FLIGHT_MAX, KEY_WAIT, UNSENT_BYTES_MAX,
};
use super::listening::Listening;
use super::message::Message;
use super::print;
use super::session::{Guest, Session};
use crate::auth::Caller;
use crate::connection_slots::ConnectionSlot;
use crate::door::{Door, polled};
use crate::gather::{self, Holds};
use crate::placed_here::PlacedHere;
use crate::problem::Problem;
use crate::rates::{Bucket, Rate, RequestClass};
use crate::reply::Reply;
use crate::request_id::RequestId;
use crate::route::EndpointFuture;
use engine::Engine;
use exchange::ids::Token;
use exchange::units::Sequence;

/// Messages of a client that are read in one turn.
const READ_A_TURN: usize = 256;
/// How often more is fetched for a reader in one turn, and how much each time.
const FETCHES_A_TURN: usize = 8;
const FETCHED_BYTES: usize = 64 * 1024;

/// What a connection needs to begin.
pub struct Beginning {
    /// Answers what is asked.
    pub door: Arc<Door>,
    /// The venue's engine.
    pub engine: Engine,
    /// Its slot.
    pub slot: Arc<ConnectionSlot>,
    /// Who has opened it, if its request had a key.
    pub session: Option<Session>,
    /// Longest time that a write may make no progress.
    pub write_wait: Duration,
}

/// A connection.
pub struct Connection<S> {
    beginning: Beginning,
    frames: Frames<S>,
    listening: Option<Listening>,
    /// Commands that are not answered, in their order.
    running: VecDeque<Running>,
    /// One that cannot begin before those are answered.
    waiting: Option<(Token, Box<Order>)>,
    holds: Holds,
    placed: Option<Arc<PlacedHere>>,
    controls: Bucket,
    opened: Instant,
    /// When the next heartbeat is due.
    beat_at: Instant,
    /// Whether it is to be told when it has everything.
    beats: bool,
    /// Since when a write has made no progress.
    blocked_since: Option<Instant>,
    ending: Option<Ending>,
    /// Since when the client knows of the end.
    closing_since: Option<Instant>,
}

/// A command on its way.
struct Running {
    id: Token,
    work: Work,
    /// The body of a placement, which may name an order.
    names: Bytes,
    began: Instant,
    request_id: RequestId,
    as_of: Sequence,
    counted: Option<(usize, RequestClass)>,
}

enum Work {
    Going(EndpointFuture),
    Done(Box<Result<Reply, Problem>>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Greets a client over a socket that was upgraded, of which `read` was read already.
    pub fn open(beginning: Beginning, stream: S, read: &[u8]) -> Connection<S> {
        let now = Instant::now();
        let mut connection = Connection {
            frames: Frames::new(stream, read),
            listening: None,
            running: VecDeque::new(),
            waiting: None,
            holds: Holds::default(),
            placed: None,
            controls: Bucket::default(),
            opened: now,
            beat_at: now.checked_add(HEARTBEAT_EVERY).unwrap_or(now),
            beats: false,
            blocked_since: None,
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
        let blocked = self.blocked_since.map(|since| after(since, self.beginning.write_wait));
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
        if since(self.blocked_since, self.beginning.write_wait) {
            return true;
        }
        if since(self.closing_since, CLOSE_WAIT) && self.blocked_since.is_none() {
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
            self.waiting = None;
        }
    }

    /// The orders that are to be cancelled after its end.
    pub fn placed(&self) -> Option<Arc<PlacedHere>> {
        self.placed.clone()
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
        let (holds, placed) = (self.holds.clone(), self.placed.clone());
        let mut again = gather::turn(&engine, &holds, placed.as_ref(), || {
            self.answer(cx);
            let more = self.read(cx);
            self.answer(cx);
            more
        });
        again |= self.pass_on(cx);
        if self.running.is_empty()
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
            Poll::Ready(Ok(())) => self.blocked_since = None,
            Poll::Pending => {
                self.blocked_since.get_or_insert_with(Instant::now);
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
        if self.blocked_since.is_some() {
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
            if self.ending.is_some() || self.holds.any() || self.running.len() >= IN_FLIGHT_MAX {
                return false;
            }
            if let Some((id, order)) = self.waiting.take() {
                if self.must_wait(&order) {
                    self.waiting = Some((id, order));
                    return false;
                }
                self.begin(id, order);
                continue;
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
            (Some(id), Ok(Asked::Order(order))) => {
                if self.beginning.session.is_none() {
                    return self.refuse(Some(&id), &Problem::keyless());
                }
                if self.must_wait(&order) {
                    self.waiting = Some((id, order));
                } else {
                    self.begin(id, order);
                }
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
                    let user = session.caller.user;
                    self.placed.get_or_insert_with(|| Arc::new(PlacedHere::by(user)));
                }
                Ok(print::Done::LetIn(session.caller.as_of, ends_orders))
            }
            Asked::Subscribe(names, from) => {
                let session = session.as_ref().ok_or_else(Problem::keyless)?;
                let listening = match &mut self.listening {
                    Some(listening) => listening,
                    none => none.insert(door.shared().hub.listen(engine)?),
                };
                self.beats = true;
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
            Asked::Order(_) => Err(Problem::internal("a command is no control message")),
        }
    }

    /// Whether a command may be about an order whose placement is not answered.
    fn must_wait(&self, order: &Order) -> bool {
        let Some(name) = order.name.as_ref().filter(|_| order.op == OrderOp::Cancel) else {
            return false;
        };
        let name = name.as_str().as_bytes();
        self.running.iter().any(|running| entry::may_name(&running.names, name))
    }

    /// Begins a command: it asks as far as it can without an answer.
    fn begin(&mut self, id: Token, order: Box<Order>) {
        let Beginning { door, engine, session, .. } = &self.beginning;
        let Some(session) = session else { return };
        let (began, request_id) = (Instant::now(), door.request_ids().next());
        let names = match order.op {
            OrderOp::Place | OrderOp::Batch => order.body.clone(),
            _ => Bytes::new(),
        };
        let (caller, shared) = (session.caller, door.shared());
        let begun = door.entry().begin(order, caller, engine, shared, request_id, began);
        let counted = begun.as_ref().map(|begun| (begun.route.number, begun.route.class));
        let answer = begun
            .map_or_else(|| Err(Problem::internal("a command has no route")), |begun| begun.answer);
        let work = match answer {
            Err(problem) => Work::Done(Box::new(Err(problem))),
            Ok(mut future) => {
                // Only the first in the row is woken: the others have their answers after it.
                let mut cx = Context::from_waker(Waker::noop());
                match polled(future.as_mut(), &mut cx) {
                    Poll::Ready(came) => Work::Done(Box::new(came)),
                    Poll::Pending => Work::Going(future),
                }
            }
        };
        let as_of = caller.as_of;
        self.running.push_back(Running { id, work, names, began, request_id, as_of, counted });
    }

    /// Answers what is done, in the order in which it was asked for.
    fn answer(&mut self, cx: &mut Context<'_>) {
        while let Some(first) = self.running.front_mut() {
            let came = match &mut first.work {
                Work::Going(future) => match polled(future.as_mut(), cx) {
                    Poll::Pending => return,
                    Poll::Ready(came) => came,
                },
                Work::Done(came) => std::mem::replace(
                    &mut **came,
                    Err(Problem::internal("an answer was told twice")),
                ),
            };
            let Some(Running { id, began, request_id, as_of, counted, .. }) =
                self.running.pop_front()
            else {
                return;
            };
            let Beginning { door, session, .. } = &self.beginning;
            let status = match came {
                Ok(reply) => {
                    let status = reply.status.as_u16();
                    print::answer(&mut self.frames, &id, reply);
                    status
                }
                Err(problem) => {
                    if let Some(cause) = problem.cause {
                        tracing::error!(
                            cause,
                            request_id = request_id.as_str(),
                            "a command failed"
                        );
                    }
                    let caller = session.as_ref().map(|session| session.caller);
                    let problem = match caller {
                        Some(caller) => door.explained(problem, &Caller { as_of, ..caller }),
                        None => problem,
                    };
                    let status = problem.kind.status().as_u16();
                    let text =
                        print::refused(Some(&id), &problem, Some(as_of), request_id.as_str());
                    self.frames.push(&[&text]);
                    status
                }
            };
            door.traffic().count(counted, status, began);
        }
        if let Some(placed) = &self.placed {
            placed.prune(&self.beginning.engine);
        }
    }

    /// Passes on what the channels tell; whether there is more.
    fn pass_on(&mut self, cx: &mut Context<'_>) -> bool {
        let mut messages: Vec<Arc<Message>> = Vec::new();
        for _ in 0..FETCHES_A_TURN {
            if self.frames.unsent() > 0 && !self.frames.poll_flush(cx).is_ready() {
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
                    for message in messages.drain(..) {
                        self.frames.push(&[&message.text]);
                    }
                }
            }
        }
        true
    }

    /// The last record of which everything that concerns the connection was handed out.
    fn head(&self) -> Sequence {
        let engine = &self.beginning.engine;
        self.listening.as_ref().map_or_else(|| engine.watermark(), Listening::head)
    }

    /// Tells the client that it has everything, if it is to be told.
    fn beat(&mut self) {
        let Beginning { session, engine, slot, .. } = &self.beginning;
        if let Some(session) = session
            && self.ending.is_none()
            && std::mem::take(&mut self.beats)
        {
            slot.hold(&session.caller, Instant::now(), engine);
            let heartbeat = print::heartbeat(self.head(), engine.now());
            self.frames.push(&[&heartbeat]);
        }
    }
}
