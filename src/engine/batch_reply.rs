//! Replies to a batch of commands: the caller is woken once with all answers, instead of once per
//! command, and each applied block is referenced once for all its records.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::halt::Halt;
use super::mailbox::Mailbox;
use super::pending::{CommandOutcome, Delivery, Refusal};
use exchange::effect::Applied;

/// The outcome of a run of consecutive commands of the batch.
#[derive(Debug)]
pub struct BatchPart {
    /// Their positions in the batch.
    pub positions: Range<usize>,
    /// Their outcome.
    pub outcome: CommandOutcome,
}

/// Collects the outcomes of a batch.
#[derive(Debug)]
pub struct BatchReplySink {
    waiting: Mutex<Waiting>,
    /// The mailbox of the thread that submitted the batch.
    mailbox: Option<Arc<Mailbox>>,
}

#[derive(Debug)]
struct Waiting {
    parts: Vec<BatchPart>,
    /// Commands without an answer, plus one while the caller may still add commands.
    missing: usize,
    to: Option<oneshot::Sender<Vec<BatchPart>>>,
}

impl BatchReplySink {
    /// Adds an outcome; if it was the last, returns the delivery of them all.
    pub fn put(&self, part: BatchPart) -> Option<Delivery> {
        let mut waiting = self.waiting.lock();
        let count = part.positions.len();
        waiting.parts.push(part);
        waiting.complete(count)
    }

    /// The mailbox of the thread that submitted the batch, if it has one.
    pub const fn mailbox(&self) -> Option<&Arc<Mailbox>> {
        self.mailbox.as_ref()
    }
}

impl Waiting {
    fn complete(&mut self, count: usize) -> Option<Delivery> {
        self.missing = self.missing.saturating_sub(count);
        let to = if self.missing == 0 { self.to.take() } else { None }?;
        Some(Delivery::All { to, parts: std::mem::take(&mut self.parts) })
    }
}

/// Delivers the outcomes there are, even if the rest will never come.
impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(to) = self.to.take() {
            // The caller may be gone too.
            drop(to.send(std::mem::take(&mut self.parts)));
        }
    }
}

/// The caller's end of a batch.
#[derive(Debug)]
pub struct BatchReplies {
    sink: Arc<BatchReplySink>,
    all: oneshot::Receiver<Vec<BatchPart>>,
    count: usize,
    halt: Arc<Halt>,
}

impl BatchReplies {
    /// An empty batch.
    pub(super) fn new(halt: Arc<Halt>) -> BatchReplies {
        let (to, all) = oneshot::channel();
        let waiting = Waiting { parts: Vec::new(), missing: 1, to: Some(to) };
        let sink = BatchReplySink { waiting: Mutex::new(waiting), mailbox: Mailbox::current() };
        BatchReplies { sink: Arc::new(sink), all, count: 0, halt }
    }

    /// Reserves positions for `count` more commands; returns the sink and the first position.
    pub(super) fn reserve(&mut self, count: usize) -> (Arc<BatchReplySink>, usize) {
        let first = self.count;
        self.count = self.count.saturating_add(count);
        let mut waiting = self.sink.waiting.lock();
        waiting.missing = waiting.missing.saturating_add(count);
        (Arc::clone(&self.sink), first)
    }

    /// Answers the last `count` commands with a refusal: the intake did not take them.
    pub(super) fn refuse_last(&self, count: usize, refusal: Refusal) {
        if count > 0 {
            let positions = self.count.saturating_sub(count)..self.count;
            // Never completes the batch, since `missing` still counts the caller.
            drop(self.sink.put(BatchPart { positions, outcome: CommandOutcome::Refused(refusal) }));
        }
    }

    /// Waits for all answers.
    pub async fn came(self) -> BatchOutcomes {
        let BatchReplies { sink, all, count, halt } = self;
        let last = sink.waiting.lock().complete(1);
        // From here on only open reply slots keep the sink alive: if they are dropped unanswered,
        // the wait ends.
        drop(sink);
        let mut parts = match last {
            Some(Delivery::All { parts, .. }) => parts,
            _ => all.await.unwrap_or_default(),
        };
        parts.sort_unstable_by_key(|part| part.positions.start);
        BatchOutcomes { parts, count, unanswered: halt.unanswered() }
    }
}

/// The outcomes of a batch.
#[derive(Debug)]
pub struct BatchOutcomes {
    /// Sorted by position.
    parts: Vec<BatchPart>,
    count: usize,
    /// The refusal for a command without an answer.
    unanswered: Refusal,
}

impl BatchOutcomes {
    /// Each command's answer, in the order of submission: the record with its effects, or the
    /// refusal.
    pub fn each(&self) -> impl Iterator<Item = Result<Applied<'_>, Refusal>> {
        let mut parts = self.parts.iter().peekable();
        (0..self.count).map(move |position| {
            while parts.next_if(|part| part.positions.end <= position).is_some() {}
            let found = parts.peek().filter(|part| part.positions.contains(&position));
            let Some(BatchPart { positions, outcome }) = found else { return Err(self.unanswered) };
            match outcome {
                CommandOutcome::Refused(refusal) => Err(*refusal),
                CommandOutcome::Applied(block, first) => {
                    let position = position.saturating_sub(positions.start).saturating_add(*first);
                    block.record(position).ok_or(self.unanswered)
                }
            }
        })
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/batch_reply.rs"]
mod tests;
