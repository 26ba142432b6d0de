//! Gathers what one connection submits in a turn: the commands travel to the sequencer together,
//! in their order, and their answers come back together, with one wake-up.
//!
//! Whoever submits need not know: [`asking`](super::asking) adds to the gathering of its thread if
//! one is open.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::bell::Bell;
use super::mailbox::Mailbox;
use super::outbox;
use super::placed_here::PlacedHere;
use engine::Engine;
use engine::pending::{Caller, Outcome};
use exchange::command::KeyedCommand;
use exchange::effect::Applied;
use views::ReadModel;

thread_local! {
    /// The gathering that is open on this thread.
    static OPEN: RefCell<Option<Gathering>> = const { RefCell::new(None) };
}

struct Gathering {
    commands: Vec<KeyedCommand>,
    /// Who looks at the read model after which command.
    looks: Vec<(usize, Arc<dyn Caller>)>,
    /// Made with the first command: most turns have none.
    answers: Option<Arc<Gathered>>,
    holds: Holds,
    /// Who notes the orders placed, of the commands from this position on.
    placed: Option<(Arc<PlacedHere>, usize)>,
}

/// The answers of commands that were gathered.
#[derive(Default)]
pub struct Gathered {
    state: Mutex<Answers>,
    mailbox: Option<Arc<Mailbox>>,
}

#[derive(Default)]
struct Answers {
    looks: Vec<(usize, Arc<dyn Caller>)>,
    /// Who notes the orders placed, and the positions of the placements that it notes.
    placed: Option<(Arc<PlacedHere>, Vec<usize>)>,
    /// Runs of commands, by their positions, as they were heard of.
    parts: Vec<(Range<usize>, Outcome)>,
    bell: Bell,
}

/// The place of one command, or of several in a row, among the gathered.
pub struct Place {
    gathered: Arc<Gathered>,
    positions: Range<usize>,
}

/// Counts the requests of a connection after which no further one may begin, since they have not
/// submitted all of theirs yet.
#[derive(Debug, Clone, Default)]
pub struct Holds(Arc<AtomicUsize>);

impl Holds {
    /// Whether the next request must wait.
    pub fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// Holds back further requests of the connection until it is dropped.
#[derive(Debug)]
pub struct Hold(Holds);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Holds back further requests of the connection whose turn it is; `None` outside of a turn.
pub fn hold() -> Option<Hold> {
    let holds = OPEN.with_borrow(|open| open.as_ref().map(|gathering| gathering.holds.clone()))?;
    holds.0.fetch_add(1, Ordering::Relaxed);
    Some(Hold(holds))
}

/// Runs a connection's turn, and submits at its end, together, what was asked in it.
pub fn turn<R>(
    engine: &Engine,
    holds: &Holds,
    placed: Option<&Arc<PlacedHere>>,
    run: impl FnOnce() -> R,
) -> R {
    /// Closes the gathering even if the turn panics.
    struct Closing<'a>(&'a Engine);

    impl Drop for Closing<'_> {
        fn drop(&mut self) {
            if let Some(gathering) = OPEN.take() {
                gathering.submit(self.0);
            }
        }
    }

    OPEN.set(Some(Gathering {
        commands: Vec::new(),
        looks: Vec::new(),
        answers: None,
        holds: holds.clone(),
        placed: placed.map(|placed| (Arc::clone(placed), 0)),
    }));
    let _closing = Closing(engine);
    run()
}

/// Has the orders noted that are placed in the rest of the turn.
pub fn note(placed: &Arc<PlacedHere>) {
    OPEN.with_borrow_mut(|open| {
        if let Some(gathering) = open {
            gathering.placed = Some((Arc::clone(placed), gathering.commands.len()));
        }
    });
}

/// Adds commands to the gathering of this thread; gives them back if there is none.
pub fn add<C: IntoIterator<Item = KeyedCommand>>(
    commands: C,
    look: Option<Arc<dyn Caller>>,
) -> Result<Place, C> {
    OPEN.with_borrow_mut(|open| {
        let Some(gathering) = open else { return Err(commands) };
        let first = gathering.commands.len();
        gathering.commands.extend(commands);
        gathering.looks.extend(look.map(|look| (first, look)));
        let answers = gathering.answers.get_or_insert_with(|| {
            // Its worker submits: it is no longer one that only reads.
            Arc::new(Gathered { mailbox: Mailbox::current(), ..Gathered::default() })
        });
        let gathered = Arc::clone(answers);
        Ok(Place { gathered, positions: first..gathering.commands.len() })
    })
}

impl Gathering {
    fn submit(self, engine: &Engine) {
        let Gathering { commands, looks, answers: Some(answers), placed, .. } = self else {
            return;
        };
        let mut state = answers.state.lock();
        state.looks = looks;
        state.placed = placed.map(|(placed, from)| {
            let places = |asked: &KeyedCommand| asked.command.placement().is_some();
            let later = commands.iter().enumerate().skip(from);
            placed.submitted(commands.len());
            (placed, later.filter(|(_, asked)| places(asked)).map(|(at, _)| at).collect())
        });
        drop(state);
        outbox::submit(engine, commands, answers);
    }
}

impl Caller for Gathered {
    fn look(&self, position: usize, view: &ReadModel, applied: &Applied<'_>) {
        let state = self.state.lock();
        let found = state.looks.binary_search_by_key(&position, |(first, _)| *first).ok();
        let look = found.and_then(|index| state.looks.get(index)).map(|(_, look)| Arc::clone(look));
        drop(state);
        if let Some(look) = look {
            look.look(0, view, applied);
        }
    }

    fn hear(&self, positions: Range<usize>, outcome: Outcome) -> Option<Waker> {
        let mut state = self.state.lock();
        if let Some((placed, placements)) = &state.placed {
            let their = placements.iter().filter(|position| positions.contains(*position));
            placed.hear(&positions, their.copied(), &outcome);
        }
        state.parts.push((positions, outcome));
        state.bell.ring(self.mailbox.as_ref())
    }
}

impl Place {
    /// The outcomes of its commands, in runs, once all are there.
    pub fn poll(&self, cx: &Context<'_>) -> Poll<Vec<(Range<usize>, Outcome)>> {
        let mut state = self.gathered.state.lock();
        let mut parts = Vec::with_capacity(1);
        let mut missing = self.positions.len();
        for (positions, outcome) in &state.parts {
            let from = positions.start.max(self.positions.start);
            let to = positions.end.min(self.positions.end);
            if from < to {
                missing = missing.saturating_sub(to.saturating_sub(from));
                let skipped = from.saturating_sub(positions.start);
                parts.push((from..to, after(outcome, skipped)));
            }
        }
        if missing > 0 {
            state.bell.hang(cx);
            return Poll::Pending;
        }
        Poll::Ready(parts)
    }
}

impl Place {
    /// The outcome of its only command, once it is there.
    pub fn poll_one(&self, cx: &Context<'_>) -> Poll<Outcome> {
        let mut state = self.gathered.state.lock();
        let position = self.positions.start;
        let part = state.parts.iter().find(|(positions, _)| positions.contains(&position));
        let outcome = part
            .map(|(positions, outcome)| after(outcome, position.saturating_sub(positions.start)));
        if outcome.is_none() {
            state.bell.hang(cx);
        }
        outcome.map_or(Poll::Pending, Poll::Ready)
    }
}

/// The outcome of a run without its first commands.
fn after(outcome: &Outcome, skipped: usize) -> Outcome {
    match outcome {
        Outcome::Applied(block, first) => {
            Outcome::Applied(Arc::clone(block), first.saturating_add(skipped))
        }
        Outcome::Refused(refusal) => Outcome::Refused(*refusal),
        Outcome::Lost => Outcome::Lost,
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/gather.rs"]
mod tests;
