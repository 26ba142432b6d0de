//! The hub's ear on the matcher's thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_channel::Sender;
use parking_lot::Mutex;

use super::bell::Bell;
use super::build::Facts;
use super::channel::{Channel, Topic};
use super::draft::Slice;
use super::drawing::Asker;
use super::rings::Shared;
use engine::announcer::Announcer;
use exchange::command::Record;
use exchange::effect::Applied;
use exchange::results::Results;
use exchange::units::Sequence;
use views::ReadModel;

/// Most facts that wait for the hub, unless they are of one block: some 10 MiB.
const FACTS_MAX: usize = 1 << 15;

/// What the hub is given to do.
#[derive(Debug)]
pub enum Task {
    /// Print and hand out what records up to this one tell.
    Tell(Facts, Sequence),
    /// Everything up to this record has been told of: note it, and ring.
    Reached(Sequence, Arc<Bell>),
    /// Have the orders of a topic drawn.
    Draw(Topic, Channel, Asker),
    /// A slice of the drawing of this number was copied, or will not be.
    Copied(u64, Option<Box<Slice>>),
    /// Nobody listens any more.
    End,
}

/// Collects facts, and passes them on without ever waiting.
#[derive(Debug)]
pub struct Announcing {
    pub(super) shared: Arc<Shared>,
    pub(super) tasks: Sender<Task>,
    pub(super) facts: Mutex<Facts>,
}

impl Announcer for Announcing {
    fn wanted(&self) -> bool {
        self.shared.watched.any()
    }

    fn see(&self, view: &ReadModel, record: &Record, applied: &Applied<'_>) {
        self.facts.lock().see(&self.shared.watched.read(), view, record, applied);
    }

    fn end_block(&self, view: &ReadModel, results: Results) {
        self.facts.lock().end_block(&self.shared.watched.read(), view, results);
    }

    fn publish(&self, through: Sequence) {
        let facts = std::mem::take(&mut *self.facts.lock());
        let count = facts.count();
        if count == 0 {
            return;
        }
        let shared = &self.shared;
        // Before the records are published: see `Shared::complete_at`.
        shared.sent.store(through.get(), Ordering::SeqCst);
        let waiting = shared.waiting.fetch_add(count, Ordering::SeqCst);
        // One record may have more than the bound, and must be told all the same.
        let full = waiting > 0 && waiting.saturating_add(count) > FACTS_MAX;
        if full || self.tasks.try_send(Task::Tell(facts, through)).is_err() {
            shared.waiting.fetch_sub(count, Ordering::SeqCst);
            // The matcher never waits: readers go on from a new snapshot, or from the journal.
            shared.lost.store(through.get(), Ordering::SeqCst);
        }
    }
}
