//! A caller for the tests of the engine.

use std::ops::Range;
use std::sync::Arc;
use std::task::{Wake, Waker};

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::pending::{Caller, Outcome, Pending, Refusal, Slot};
use exchange::command::Command;
use exchange::effect::Applied;
use exchange::units::Sequence;
use views::ReadModel;

/// What a caller heard: the first record and how many, or why not; `None` if it is lost.
pub type Heard = (Range<usize>, Option<Result<Sequence, Refusal>>);

/// Runs a closure when it is woken.
struct OnWake<F>(F);

impl<F: Fn() + Send + Sync> Wake for OnWake<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

struct Told {
    heard: Sender<Heard>,
    looks: Box<dyn Fn() + Send + Sync>,
    waker: Waker,
}

impl Caller for Told {
    fn look(&self, _: usize, _: &ReadModel, _: &Applied<'_>) {
        (self.looks)();
    }

    fn hear(&self, positions: Range<usize>, outcome: Outcome) -> Option<Waker> {
        let outcome = match outcome {
            Outcome::Applied(block, first) => block.record(first).map(|came| Ok(came.sequence)),
            Outcome::Refused(refusal) => Some(Err(refusal)),
            Outcome::Lost => None,
        };
        self.heard.send((positions, outcome)).unwrap_or_default();
        Some(self.waker.clone())
    }
}

/// A caller, and what it hears.
pub fn caller() -> (Arc<dyn Caller>, Receiver<Heard>) {
    caller_that(|| (), || ())
}

/// A caller that does something when it looks, and when it is woken.
pub fn caller_that(
    looks: impl Fn() + Send + Sync + 'static,
    woken: impl Fn() + Send + Sync + 'static,
) -> (Arc<dyn Caller>, Receiver<Heard>) {
    let (heard, all) = unbounded();
    let waker = Waker::from(Arc::new(OnWake(woken)));
    (Arc::new(Told { heard, looks: Box::new(looks), waker }), all)
}

/// A slot of this caller's for so many commands.
pub fn slot(caller: Arc<dyn Caller>, count: usize) -> Slot {
    Pending::new((0..count).map(|_| Command::AdvanceClock.into()).collect(), caller).slot(count)
}
