//! Commands that one caller asks together and whose answers he takes together: one wake-up for all
//! of them, where each would have its own.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::halt::Halt;
use super::pending::{Answer, Letter, Refusal};

/// What came of one command.
type Came = Result<Answer, Refusal>;

/// Answers to several commands, as they come.
#[derive(Debug)]
pub struct Gathered {
    waiting: Mutex<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    answers: Vec<Came>,
    /// Commands without an answer; one more for as long as the caller may still ask.
    missing: usize,
    to: Option<oneshot::Sender<Vec<Came>>>,
}

impl Gathered {
    /// Takes the answer to the command at `place`; if it was the last, gives them all, addressed.
    pub fn put(&self, place: usize, came: Came) -> Option<Letter> {
        let mut waiting = self.waiting.lock();
        if let Some(answer) = waiting.answers.get_mut(place) {
            *answer = came;
        }
        waiting.less()
    }
}

impl Waiting {
    fn less(&mut self) -> Option<Letter> {
        self.missing = self.missing.saturating_sub(1);
        let to = if self.missing == 0 { self.to.take() } else { None }?;
        Some(Letter::All { to, answers: std::mem::take(&mut self.answers) })
    }
}

/// The caller's end.
#[derive(Debug)]
pub struct Gathering {
    gathered: Arc<Gathered>,
    all: oneshot::Receiver<Vec<Came>>,
    count: usize,
    halt: Arc<Halt>,
}

impl Gathering {
    /// Nothing asked yet.
    pub(super) fn new(halt: Arc<Halt>) -> Gathering {
        let (to, all) = oneshot::channel();
        let waiting = Waiting { answers: Vec::new(), missing: 1, to: Some(to) };
        let gathered = Arc::new(Gathered { waiting: Mutex::new(waiting) });
        Gathering { gathered, all, count: 0, halt }
    }

    /// A place for one more answer.
    pub(super) fn place(&mut self) -> (Arc<Gathered>, usize) {
        let place = self.count;
        self.count = self.count.saturating_add(1);
        let mut waiting = self.gathered.waiting.lock();
        waiting.missing = waiting.missing.saturating_add(1);
        waiting.answers.push(Err(self.halt.unanswered()));
        (Arc::clone(&self.gathered), place)
    }

    /// Gives the last place back: its command could not be handed in.
    pub(super) fn without_last(&mut self) {
        self.count = self.count.saturating_sub(1);
        let mut waiting = self.gathered.waiting.lock();
        waiting.missing = waiting.missing.saturating_sub(1);
        waiting.answers.truncate(self.count);
    }

    /// Waits for all answers; they stand in the order in which was asked.
    pub async fn came(self) -> Vec<Result<Answer, Refusal>> {
        let Gathering { gathered, all, count, halt } = self;
        let last = gathered.waiting.lock().less();
        // From here on only open places keep it alive: if they die unanswered, so does the wait.
        drop(gathered);
        match last {
            Some(Letter::All { answers, .. }) => answers,
            _ => all.await.unwrap_or_else(|_| vec![Err(halt.unanswered()); count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(asked: usize, answered: &[usize]) -> Vec<Result<Answer, Refusal>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut gathering = Gathering::new(Arc::default());
        let places: Vec<_> = (0..asked).map(|_| gathering.place()).collect();
        for (gathered, place) in places {
            if answered.contains(&place)
                && let Some(letter) = gathered.put(place, Err(Refusal::Overloaded))
            {
                letter.deliver();
            }
        }
        runtime.block_on(gathering.came())
    }

    #[test]
    fn answers_come_together_whoever_is_last() {
        let overloaded = |came: &[Result<Answer, Refusal>]| {
            came.iter().filter(|came| matches!(came, Err(Refusal::Overloaded))).count()
        };
        assert!(answers(0, &[]).is_empty());
        assert_eq!(overloaded(&answers(3, &[0, 1, 2])), 3);
        // One is never answered: nobody waits for it for ever, and nothing is made up.
        let came = answers(3, &[0, 2]);
        assert_eq!((came.len(), overloaded(&came)), (3, 0));
    }
}
