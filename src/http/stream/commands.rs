//! The commands of a connection: begun in the order in which they were sent, and answered in it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};

use super::control::{Order, OrderOp};
use super::entry;
use super::frames::Frames;
use super::limits::IN_FLIGHT_MAX;
use super::print;
use super::session::Session;
use crate::answer_log::{self, Answered, Record};
use crate::auth::Caller;
use crate::caught::polled;
use crate::connection_slots::ConnectionSlot;
use crate::door::Door;
use crate::gather::{self, Holds};
use crate::placed_here::PlacedHere;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::request_id::RequestId;
use crate::route::EndpointFuture;
use engine::Engine;
use exchange::ids::{Token, UserNo};
use exchange::units::Sequence;

/// A member of bodies that gives an order a name.
const NAMED: &[u8] = b"\"clientOrderId\"";

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

/// The commands of one connection that are not answered.
#[derive(Default)]
pub struct Commands {
    /// In their order.
    running: VecDeque<Running>,
    /// One that cannot begin before those are answered.
    waiting: Option<(Token, Box<Order>)>,
    holds: Holds,
    placed: Option<Arc<PlacedHere>>,
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
    counted: Option<usize>,
}

enum Work {
    Going(EndpointFuture),
    Done(Box<Result<Reply, Problem>>),
}

impl Commands {
    /// Whether none is left.
    pub fn are_answered(&self) -> bool {
        self.running.is_empty()
    }

    /// Forgets what was not begun.
    pub fn drop_waiting(&mut self) {
        self.waiting = None;
    }

    /// What holds further ones back.
    pub const fn holds(&self) -> &Holds {
        &self.holds
    }

    /// The orders that are to be cancelled with the connection.
    pub const fn placed(&self) -> Option<&Arc<PlacedHere>> {
        self.placed.as_ref()
    }

    /// Has the orders that are placed from now on end with the connection.
    pub fn end_orders_of(&mut self, user: UserNo) {
        if self.placed.is_none() {
            let placed = Arc::new(PlacedHere::by(user));
            gather::note(&placed);
            self.placed = Some(placed);
        }
    }

    /// Whether there is room for another.
    pub fn has_room(&self) -> bool {
        self.waiting.is_none() && !self.is_full()
    }

    /// The same, once the one that waited has begun, if it can begin now.
    pub fn have_room(&mut self, with: &Beginning) -> bool {
        if self.is_full() {
            return false;
        }
        if let Some((id, order)) = self.waiting.take() {
            self.take(id, order, with);
        }
        self.has_room()
    }

    /// Whether the next can begin: the one that waits, or another.
    pub fn goes_on(&self) -> bool {
        let waits = |(_, order): &(Token, Box<Order>)| self.must_wait(order);
        !self.is_full() && !self.waiting.as_ref().is_some_and(waits)
    }

    fn is_full(&self) -> bool {
        self.holds.any() || self.running.len() >= IN_FLIGHT_MAX
    }

    /// Begins a command, or has it wait for those before it.
    pub fn take(&mut self, id: Token, order: Box<Order>, with: &Beginning) {
        if self.must_wait(&order) {
            self.waiting = Some((id, order));
        } else {
            self.begin(id, order, with);
        }
    }

    /// Whether a command may be about an order whose placement is not answered.
    fn must_wait(&self, order: &Order) -> bool {
        if order.op == OrderOp::Batch && entry::may_end_named(&order.body) {
            return self.running.iter().any(|running| entry::may_name(&running.names, NAMED));
        }
        let Some(name) = order.name.as_ref().filter(|_| order.op == OrderOp::Cancel) else {
            return false;
        };
        let name = name.as_str().as_bytes();
        self.running.iter().any(|running| entry::may_name(&running.names, name))
    }

    /// Begins a command: it asks as far as it can without an answer.
    fn begin(&mut self, id: Token, order: Box<Order>, with: &Beginning) {
        let Beginning { door, engine, session, .. } = with;
        let Some(session) = session else { return };
        let (began, request_id) = (Instant::now(), door.request_ids().next());
        let names = match order.op {
            OrderOp::Place | OrderOp::Batch => order.body.clone(),
            _ => Bytes::new(),
        };
        let (caller, shared) = (session.caller, door.shared());
        let asked = door.entry().begin(order, caller, engine, shared, request_id, began);
        let counted = asked.as_ref().map(|begun| begun.route.number);
        let answer = asked
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
    pub fn answer<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        with: &Beginning,
        frames: &mut Frames<S>,
    ) {
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
            let Beginning { door, session, .. } = with;
            let caller = session.as_ref().map(|session| session.caller);
            let (status, sequence) = match came {
                Ok(reply) => {
                    let told = (reply.status.as_u16(), reply.sequence);
                    print::answer(frames, &id, reply);
                    told
                }
                Err(problem) => {
                    if let Some(cause) = problem.cause {
                        tracing::error!(
                            cause,
                            request_id = request_id.as_str(),
                            "a command failed"
                        );
                    }
                    let problem = match caller {
                        Some(caller) => door.explained(problem, &Caller { as_of, ..caller }),
                        None => problem,
                    };
                    let status = problem.kind.status().as_u16();
                    let text =
                        print::refused(Some(&id), &problem, Some(as_of), request_id.as_str());
                    frames.push(&[&text]);
                    (status, problem.sequence.unwrap_or(as_of))
                }
            };
            door.traffic().count(counted, status, began);
            let Some(route) = counted.and_then(|number| door.entry().numbered(number)) else {
                continue;
            };
            let answered = Answered {
                method: &route.method,
                route: Some(route),
                status,
                us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
                request_id: request_id.as_str(),
                caller: caller.as_ref(),
                record: Record::At(sequence),
                parent: None,
            };
            answer_log::log(&answered, door.venue(), door.shared().site.spans.as_ref());
        }
        if let Some(placed) = &self.placed {
            placed.prune(&with.engine);
        }
    }
}
