//! Commands that one caller asks together and whose answers he takes together: one wake-up for all
//! of them, where each would have its own, and one hold on each block for all its records.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::halt::Halt;
use super::mailbox::Mailbox;
use super::pending::{Came, Letter, Refusal};
use crate::exchange::effect::Applied;

/// What came of commands that were asked one after the other.
#[derive(Debug)]
pub struct Gained {
    /// Their places among all.
    pub places: Range<usize>,
    /// What came of them.
    pub came: Came,
}

/// Answers to several commands, as they come.
#[derive(Debug)]
pub struct Gathered {
    waiting: Mutex<Waiting>,
    /// The mailbox of the thread that asks.
    home: Option<Arc<Mailbox>>,
}

#[derive(Debug)]
struct Waiting {
    gained: Vec<Gained>,
    /// Commands without an answer; one more for as long as the caller may still ask.
    missing: usize,
    to: Option<oneshot::Sender<Vec<Gained>>>,
}

impl Gathered {
    /// Takes answers; if they were the last, gives them all, addressed.
    pub fn put(&self, gained: Gained) -> Option<Letter> {
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
    fn less(&mut self, count: usize) -> Option<Letter> {
        self.missing = self.missing.saturating_sub(count);
        let to = if self.missing == 0 { self.to.take() } else { None }?;
        Some(Letter::All { to, gained: std::mem::take(&mut self.gained) })
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
pub struct Gathering {
    gathered: Arc<Gathered>,
    all: oneshot::Receiver<Vec<Gained>>,
    count: usize,
    halt: Arc<Halt>,
}

impl Gathering {
    /// Nothing asked yet.
    pub(super) fn new(halt: Arc<Halt>) -> Gathering {
        let (to, all) = oneshot::channel();
        let waiting = Waiting { gained: Vec::new(), missing: 1, to: Some(to) };
        let gathered = Gathered { waiting: Mutex::new(waiting), home: Mailbox::here() };
        Gathering { gathered: Arc::new(gathered), all, count: 0, halt }
    }

    /// Places for so many more answers, and the first of them.
    pub(super) fn places(&mut self, count: usize) -> (Arc<Gathered>, usize) {
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
            drop(self.gathered.put(Gained { places, came: Came::Refused(refusal) }));
        }
    }

    /// Waits for all answers.
    pub async fn came(self) -> Answers {
        let Gathering { gathered, all, count, halt } = self;
        let last = gathered.waiting.lock().less(1);
        // From here on only open places keep it alive: if they die unanswered, so does the wait.
        drop(gathered);
        let mut gained = match last {
            Some(Letter::All { gained, .. }) => gained,
            _ => all.await.unwrap_or_default(),
        };
        gained.sort_unstable_by_key(|gained| gained.places.start);
        Answers { gained, count, unanswered: halt.unanswered() }
    }
}

/// Answers to several commands.
#[derive(Debug)]
pub struct Answers {
    /// By their places.
    gained: Vec<Gained>,
    count: usize,
    /// What is said of a command without an answer.
    unanswered: Refusal,
}

impl Answers {
    /// Each answer: the record with its effects, or why there is none; in the order in which was
    /// asked.
    pub fn each(&self) -> impl Iterator<Item = Result<Applied<'_>, Refusal>> {
        let mut gained = self.gained.iter().peekable();
        (0..self.count).map(move |place| {
            while gained.next_if(|gained| gained.places.end <= place).is_some() {}
            let found = gained.peek().filter(|gained| gained.places.contains(&place));
            let Some(Gained { places, came }) = found else { return Err(self.unanswered) };
            match came {
                Came::Refused(refusal) => Err(*refusal),
                Came::Applied(block, first) => {
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
        let mut gathering = Gathering::new(Arc::default());
        let gathered = (asked > 0).then(|| gathering.places(asked));
        for places in refused {
            let (places, came) = (places.clone(), Came::Refused(Refusal::Overloaded));
            if let Some((gathered, _)) = &gathered
                && let Some(letter) = gathered.put(Gained { places, came })
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
        let mut gathering = Gathering::new(Arc::default());
        let (gathered, first) = gathering.places(5);
        assert_eq!(first, 0);
        gathering.refuse_last(2, Refusal::TooLarge);
        gathering.refuse_last(0, Refusal::TooLarge);
        let came = Came::Refused(Refusal::Overloaded);
        assert!(gathered.put(Gained { places: 0..3, came }).is_none());
        let answers = runtime.block_on(gathering.came());
        let refusals: Vec<Refusal> = answers.each().map(|answer| answer.unwrap_err()).collect();
        let [taken, not] = [Refusal::Overloaded, Refusal::TooLarge];
        assert_eq!(refusals, [taken, taken, taken, not, not]);
    }
}
