//! Waiting for a topic to change, for reads that are answered once it has: a reader of a ring that
//! takes nothing out of it.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::bell::Bell;
use super::channel::Topic;
use super::hub::Hub;
use super::listening::leave;
use super::ring::Ring;
use crate::problem::Problem;
use engine::Engine;
use exchange::units::Sequence;

/// A wait; dropping it gives everything back.
#[derive(Debug)]
pub struct Waiting {
    ring: Arc<Ring>,
    bell: Arc<Bell>,
    /// How much was in the ring when its reader last looked.
    seen: u64,
}

impl Hub {
    /// Has the engine tell of what happens, if it does not yet.
    ///
    /// # Errors
    /// The hub cannot run.
    pub fn run(&self, engine: &Engine) -> Result<(), Problem> {
        self.start(engine).map(drop)
    }

    /// Begins to wait for a topic. The caller holds the read model's lock, whose last record is
    /// `now`: nothing after it is missed.
    pub fn wait(&self, topic: Topic, now: Sequence) -> Waiting {
        let bell = Arc::new(Bell::here());
        let (ring, _) = self.shared.register(topic, &bell, now, None);
        let seen = ring.end();
        Waiting { ring, bell, seen }
    }
}

impl Waiting {
    /// Ready once something was told of the topic since the last time; the task is woken then.
    pub fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.is_told() {
            return Poll::Ready(());
        }
        self.bell.hang(cx);
        // What came before the bell hung rang for nobody.
        if self.is_told() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn is_told(&mut self) -> bool {
        let before = std::mem::replace(&mut self.seen, self.ring.end());
        self.seen != before
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        leave(&self.ring, &self.bell);
    }
}
