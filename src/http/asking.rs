//! Asking the engine: a future for the answer to a command, for those to a batch, and for the
//! result of a trial.

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::bell::Bell;
use super::gather::{self, Place};
use super::mailbox::Mailbox;
use super::outbox;
use engine::matcher::Trying;
use engine::pending::{Answer, Caller, Outcome, Refusal};
use engine::{Engine, TRIAL_MEETS_MAX};
use exchange::command::KeyedCommand;
use exchange::effect::{Applied, Effect};
use exchange::invariant::Broken;
use exchange::trial::KeyedStep;
use exchange::units::{Sequence, TimeMs};
use views::ReadModel;

/// The caller of one command, which looks at the read model as its record left it.
struct One<L, T> {
    state: Mutex<OneState<L, T>>,
    mailbox: Option<Arc<Mailbox>>,
}

struct OneState<L, T> {
    look: Option<L>,
    seen: Option<T>,
    outcome: Option<Outcome>,
    bell: Bell,
}

impl<L, T> Caller for One<L, T>
where
    L: FnOnce(&ReadModel, &Applied<'_>) -> T + Send,
    T: Send,
{
    fn look(&self, _: usize, view: &ReadModel, applied: &Applied<'_>) {
        let look = self.state.lock().look.take();
        if let Some(look) = look {
            let seen = look(view, applied);
            self.state.lock().seen = Some(seen);
        }
    }

    fn hear(&self, _: Range<usize>, outcome: Outcome) -> Option<Waker> {
        let mut state = self.state.lock();
        state.outcome = Some(outcome);
        state.bell.ring(self.mailbox.as_ref())
    }
}

/// What a caller of one command waits for.
trait Heard<T>: Send + Sync {
    fn heard(&self, cx: &Context<'_>) -> Poll<(Outcome, Option<T>)>;
}

impl<L: Send, T: Send> Heard<T> for One<L, T> {
    fn heard(&self, cx: &Context<'_>) -> Poll<(Outcome, Option<T>)> {
        let mut state = self.state.lock();
        let Some(outcome) = state.outcome.take() else {
            state.bell.hang(cx);
            return Poll::Pending;
        };
        Poll::Ready((outcome, state.seen.take()))
    }
}

/// One of the commands that its connection submits together.
struct OneOf<L, T> {
    place: Place,
    one: Arc<One<L, T>>,
}

impl<L: Send, T: Send> Heard<T> for OneOf<L, T> {
    fn heard(&self, cx: &Context<'_>) -> Poll<(Outcome, Option<T>)> {
        let outcome = self.place.poll_one(cx);
        outcome.map(|outcome| (outcome, self.one.state.lock().seen.take()))
    }
}

/// The answer to come of a submitted command, and what its look saw.
pub struct Asking<T> {
    heard: Arc<dyn Heard<T>>,
    engine: Engine,
}

impl<T> std::fmt::Debug for Asking<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asking").finish_non_exhaustive()
    }
}

impl<T> Future for Asking<T> {
    type Output = Result<(Answer, T), Refusal>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.heard.heard(cx).map(|(outcome, seen)| match outcome {
            Outcome::Applied(block, index) => {
                let answer = Answer::of(block, index).zip(seen);
                answer.ok_or_else(|| self.engine.unanswered())
            }
            Outcome::Refused(refusal) => Err(refusal),
            Outcome::Lost => Err(self.engine.unanswered()),
        })
    }
}

/// Submits a command, and calls `look` on the read model after its record was folded and before the
/// next is, so that it sees exactly this command's result. One caller's commands keep their order,
/// and those submitted together share a block.
pub fn ask<T: Send + 'static>(
    engine: &Engine,
    command: impl Into<KeyedCommand>,
    look: impl FnOnce(&ReadModel, &Applied<'_>) -> T + Send + 'static,
) -> Asking<T> {
    let state = OneState { look: Some(look), seen: None, outcome: None, bell: Bell::default() };
    let one = Arc::new(One { state: Mutex::new(state), mailbox: Mailbox::current() });
    let looker = Arc::clone(&one) as Arc<dyn Caller>;
    let heard: Arc<dyn Heard<T>> = match gather::add([command.into()], Some(looker)) {
        Ok(place) => Arc::new(OneOf { place, one }),
        Err([command]) => {
            outbox::submit(engine, vec![command], Arc::clone(&one) as Arc<dyn Caller>);
            one
        }
    };
    Asking { heard, engine: engine.clone() }
}

impl Heard<()> for Place {
    fn heard(&self, cx: &Context<'_>) -> Poll<(Outcome, Option<()>)> {
        self.poll_one(cx).map(|outcome| (outcome, Some(())))
    }
}

/// [`ask`] without a look, which costs the matcher nothing.
pub fn ask_only(engine: &Engine, command: impl Into<KeyedCommand>) -> Asking<()> {
    match gather::add([command.into()], None) {
        Ok(place) => Asking { heard: Arc::new(place), engine: engine.clone() },
        Err([command]) => ask(engine, command, |_, _| ()),
    }
}

/// The caller of several commands: it is woken once, with all answers.
struct Several {
    state: Mutex<SeveralState>,
    mailbox: Option<Arc<Mailbox>>,
}

struct SeveralState {
    /// Runs of commands, by their positions.
    parts: Vec<(Range<usize>, Outcome)>,
    missing: usize,
    bell: Bell,
}

impl Caller for Several {
    fn hear(&self, positions: Range<usize>, outcome: Outcome) -> Option<Waker> {
        let mut state = self.state.lock();
        state.missing = state.missing.saturating_sub(positions.len());
        state.parts.push((positions, outcome));
        if state.missing == 0 { state.bell.ring(self.mailbox.as_ref()) } else { None }
    }
}

/// The answers to come of commands that were submitted together.
pub struct AskingSeveral {
    answers: SeveralAnswers,
    engine: Engine,
}

enum SeveralAnswers {
    Alone(Arc<Several>),
    /// Beside others of their connection.
    Gathered(Place),
}

impl Future for AskingSeveral {
    type Output = Outcomes;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcomes> {
        let mut parts = match &self.answers {
            SeveralAnswers::Gathered(place) => ready!(place.poll(cx)),
            SeveralAnswers::Alone(several) => {
                let mut state = several.state.lock();
                if state.missing > 0 {
                    state.bell.hang(cx);
                    return Poll::Pending;
                }
                std::mem::take(&mut state.parts)
            }
        };
        parts.sort_unstable_by_key(|(positions, _)| positions.start);
        Poll::Ready(Outcomes { parts, unanswered: self.engine.unanswered() })
    }
}

/// Submits commands together, in their order. As many are taken in as there is room for.
pub fn ask_several(engine: &Engine, commands: Vec<KeyedCommand>) -> AskingSeveral {
    let missing = commands.len();
    let answers = match gather::add(commands, None) {
        Ok(place) => SeveralAnswers::Gathered(place),
        Err(commands) => {
            let state = SeveralState { parts: Vec::new(), missing, bell: Bell::default() };
            let mailbox = Mailbox::current();
            let several = Arc::new(Several { state: Mutex::new(state), mailbox });
            outbox::submit(engine, commands, Arc::clone(&several) as Arc<dyn Caller>);
            SeveralAnswers::Alone(several)
        }
    };
    AskingSeveral { answers, engine: engine.clone() }
}

/// The outcomes of several commands.
#[derive(Debug)]
pub struct Outcomes {
    /// In the order of their positions.
    parts: Vec<(Range<usize>, Outcome)>,
    /// The refusal for a command without an answer.
    unanswered: Refusal,
}

impl Outcomes {
    /// Each command's answer, in the order of submission: the record with its effects, or the
    /// refusal.
    pub fn each(&self) -> impl Iterator<Item = Result<Applied<'_>, Refusal>> {
        let unanswered = self.unanswered;
        self.parts.iter().flat_map(move |(positions, outcome)| {
            (0..positions.len()).map(move |index| match outcome {
                Outcome::Applied(block, first) => {
                    block.record(first.saturating_add(index)).ok_or(unanswered)
                }
                Outcome::Refused(refusal) => Err(*refusal),
                Outcome::Lost => Err(unanswered),
            })
        })
    }
}

/// What commands would do now, each after those before it; nothing is journaled or changed. `tell`
/// turns their effects, with the sequence numbers and the time that their records would have, into
/// the result. It sees the read model without them, whose watermark is the last record that the
/// trial takes into account. Costs the matcher as much as the commands would.
///
/// # Errors
/// [`Refusal`], but never an unknown outcome.
pub async fn try_out<T: Send + 'static>(
    engine: &Engine,
    steps: Vec<KeyedStep>,
    tell: impl FnOnce(&ReadModel, Result<&[Applied<'_>], Broken>) -> T + Send + 'static,
) -> Result<T, Refusal> {
    let (sender, seen) = oneshot::channel();
    engine.try_out(move |trying| {
        // The caller may have gone away meanwhile.
        drop(sender.send(tried(trying, &steps, tell).ok_or(Refusal::TrialTooLarge)));
    })?;
    seen.await.unwrap_or_else(|_| Err(engine.untried()))
}

/// The result of a trial; `None` if it could match too many orders.
fn tried<T>(
    trying: &Trying<'_>,
    steps: &[KeyedStep],
    tell: impl FnOnce(&ReadModel, Result<&[Applied<'_>], Broken>) -> T,
) -> Option<T> {
    let Trying { exchange, time, .. } = *trying;
    let all = exchange.trial(steps, time, TRIAL_MEETS_MAX).transpose()?;
    let view = trying.read();
    Some(match &all {
        Ok(all) => tell(&view, Ok(&applied(all, exchange.sequence().next(), time))),
        Err(broken) => tell(&view, Err(*broken)),
    })
}

/// The effects of the steps, with the sequence numbers that their records would have.
fn applied(all: &[Vec<Effect>], first: Sequence, time: TimeMs) -> Vec<Applied<'_>> {
    let sequences = std::iter::successors(Some(first), |sequence| Some(sequence.next()));
    let all = sequences.zip(all).map(|(sequence, effects)| Applied { sequence, time, effects });
    all.collect()
}

#[cfg(test)]
#[path = "../../tests/unit/http/asking.rs"]
mod tests;
