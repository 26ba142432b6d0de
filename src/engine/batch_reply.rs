//! Commands that one caller asks together and whose answers he takes together: one wake-up for all
//! of them, where each would have its own, and one hold on each block for all its records.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::halt::Halt;
use super::mailbox::Mailbox;
use super::pending::{CommandOutcome, Delivery, Refusal};
use crate::exchange::effect::Applied;

/// What came of commands that were asked one after the other.
#[derive(Debug)]
pub struct BatchPart {
    /// Their places among all.
    pub places: Range<usize>,
    /// What came of them.
    pub came: CommandOutcome,
}

/// Answers to several commands, as they come.
#[derive(Debug)]
pub struct BatchReplySink {
    waiting: Mutex<Waiting>,
    /// The mailbox of the thread that asks.
    home: Option<Arc<Mailbox>>,
}

#[derive(Debug)]
struct Waiting {
    gained: Vec<BatchPart>,
    /// Commands without an answer; one more for as long as the caller may still ask.
    missing: usize,
    to: Option<oneshot::Sender<Vec<BatchPart>>>,
}

impl BatchReplySink {
    /// Takes answers; if they were the last, gives them all, addressed.
    pub fn put(&self, gained: BatchPart) -> Option<Delivery> {
        let mut waiting = self.waiting.lock();
        let count = gained.places.len();
        waiting.gained.push(gained);
        waiting.less(count)
    }

    /// The mailbox of the thread that asks, if it has one.
    pub const fn home(&self) -> Option<&Arc<Mailbox>> {
        self.home.as_ref()
    }
}

impl Waiting {
    fn less(&mut self, count: usize) -> Option<Delivery> {
        self.missing = self.missing.saturating_sub(count);
        let to = if self.missing == 0 { self.to.take() } else { None }?;
        Some(Delivery::All { to, gained: std::mem::take(&mut self.gained) })
    }
}

/// What has come is given, whatever became of the rest.
impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(to) = self.to.take() {
            // Whoever asked may be gone as well.
            drop(to.send(std::mem::take(&mut self.gained)));
        }
    }
}

/// The caller's end.
#[derive(Debug)]
pub struct BatchReplies {
    gathered: Arc<BatchReplySink>,
    all: oneshot::Receiver<Vec<BatchPart>>,
    count: usize,
    halt: Arc<Halt>,
}

impl BatchReplies {
    /// Nothing asked yet.
    pub(super) fn new(halt: Arc<Halt>) -> BatchReplies {
        let (to, all) = oneshot::channel();
        let waiting = Waiting { gained: Vec::new(), missing: 1, to: Some(to) };
        let gathered = BatchReplySink { waiting: Mutex::new(waiting), home: Mailbox::here() };
        BatchReplies { gathered: Arc::new(gathered), all, count: 0, halt }
    }

    /// Places for so many more answers, and the first of them.
    pub(super) fn places(&mut self, count: usize) -> (Arc<BatchReplySink>, usize) {
        let first = self.count;
        self.count = self.count.saturating_add(count);
        let mut waiting = self.gathered.waiting.lock();
        waiting.missing = waiting.missing.saturating_add(count);
        (Arc::clone(&self.gathered), first)
    }

    /// Answers the last so many commands that were asked with a refusal: they were not taken in.
    pub(super) fn refuse_last(&self, count: usize, refusal: Refusal) {
        if count > 0 {
            let places = self.count.saturating_sub(count)..self.count;
            // Never the last answers, as the caller may still ask.
            drop(self.gathered.put(BatchPart { places, came: CommandOutcome::Refused(refusal) }));
        }
    }

    /// Waits for all answers.
    pub async fn came(self) -> BatchOutcomes {
        let BatchReplies { gathered, all, count, halt } = self;
        let last = gathered.waiting.lock().less(1);
        // From here on only open places keep it alive: if they die unanswered, so does the wait.
        drop(gathered);
        let mut gained = match last {
            Some(Delivery::All { gained, .. }) => gained,
            _ => all.await.unwrap_or_default(),
        };
        gained.sort_unstable_by_key(|gained| gained.places.start);
        BatchOutcomes { gained, count, unanswered: halt.unanswered() }
    }
}

/// Answers to several commands.
#[derive(Debug)]
pub struct BatchOutcomes {
    /// By their places.
    gained: Vec<BatchPart>,
    count: usize,
    /// What is said of a command without an answer.
    unanswered: Refusal,
}

impl BatchOutcomes {
    /// Each answer: the record with its effects, or why there is none; in the order in which was
    /// asked.
    pub fn each(&self) -> impl Iterator<Item = Result<Applied<'_>, Refusal>> {
        let mut gained = self.gained.iter().peekable();
        (0..self.count).map(move |place| {
            while gained.next_if(|gained| gained.places.end <= place).is_some() {}
            let found = gained.peek().filter(|gained| gained.places.contains(&place));
            let Some(BatchPart { places, came }) = found else { return Err(self.unanswered) };
            match came {
                CommandOutcome::Refused(refusal) => Err(*refusal),
                CommandOutcome::Applied(block, first) => {
                    let place = place.saturating_sub(places.start).saturating_add(*first);
                    block.record(place).ok_or(self.unanswered)
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many asked, and those at these places refused.
    fn answers(asked: usize, refused: &[Range<usize>]) -> Vec<Refusal> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut gathering = BatchReplies::new(Arc::default());
        let gathered = (asked > 0).then(|| gathering.places(asked));
        for places in refused {
            let (places, came) = (places.clone(), CommandOutcome::Refused(Refusal::Overloaded));
            if let Some((gathered, _)) = &gathered
                && let Some(letter) = gathered.put(BatchPart { places, came })
            {
                letter.deliver();
            }
        }
        drop(gathered);
        let answers = runtime.block_on(gathering.came());
        answers.each().map(|answer| answer.unwrap_err()).collect()
    }

    #[test]
    fn answers_come_together_whoever_is_last() {
        let overloaded = |came: &[Refusal]| -> Vec<bool> {
            came.iter().map(|came| *came == Refusal::Overloaded).collect()
        };
        assert!(answers(0, &[]).is_empty());
        assert_eq!(overloaded(&answers(3, &[1..3, 0..1])), [true; 3]);
        // One is never answered: nobody waits for it for ever, and what came to others is told.
        assert_eq!(overloaded(&answers(4, &[3..4, 0..2])), [true, true, false, true]);
    }

    #[test]
    fn what_was_not_taken_in_is_refused_in_its_place() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut gathering = BatchReplies::new(Arc::default());
        let (gathered, first) = gathering.places(5);
        assert_eq!(first, 0);
        gathering.refuse_last(2, Refusal::TooLarge);
        gathering.refuse_last(0, Refusal::TooLarge);
        let came = CommandOutcome::Refused(Refusal::Overloaded);
        assert!(gathered.put(BatchPart { places: 0..3, came }).is_none());
        let answers = runtime.block_on(gathering.came());
        let refusals: Vec<Refusal> = answers.each().map(|answer| answer.unwrap_err()).collect();
        let [taken, not] = [Refusal::Overloaded, Refusal::TooLarge];
        assert_eq!(refusals, [taken, taken, taken, not, not]);
    }
}
