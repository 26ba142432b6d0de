//! The thread that replays the journal for those who catch up: in turns of bounded work, resting as
//! long as it works, and in an order in which nobody waits for ever.

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::telling::Telling;
use super::{Resumer, Shared};
use engine::Engine;
use engine::background::{Ending, give_way};
use engine::follower::Follower;
use engine::past::PastError;
use engine::throttle::{Ended, Throttle};
use exchange::units::Sequence;

/// Records of a step: some hundred microseconds.
const STEP_RECORDS: usize = 128;
/// Records by which it is worth looking for a nearer snapshot.
const NEAR_RECORDS: u64 = 20_000;
/// How long one may be passed over for others before the replay goes to where it is.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long the replay stays on its way once it has come to somebody.
const STAY: Duration = Duration::from_secs(2);
/// How long the replay waits for one who has no room, and was not found slow yet, before it goes on
/// with the others: to come back for one costs more.
const DRAIN: Duration = Duration::from_millis(20);
/// How long the state of the last replay is kept for the next: it is as large as the venue's own.
const KEEP: Duration = Duration::from_mins(1);
/// How many are woken at once, and how long after them others are: what they take would otherwise
/// keep all cores busy, and orders wait for one.
const WAKES_AT_ONCE: usize = 8;
const WAKES_PAUSE: Duration = Duration::from_micros(500);
/// Work between two rests, which are as long: a crowd keeps this thread busy for seconds, and the
/// system may let a thread go on for so long that orders would wait for it.
const WORK_SLICE: Duration = Duration::from_micros(250);
/// How long to sleep when there is nothing to do.
const SLEEP: Duration = Duration::from_millis(100);

/// The thread's state.
#[derive(Debug)]
pub(super) struct Turns {
    shared: Arc<Shared>,
    engine: Engine,
    ending: Ending,
    pace: Throttle,
    follower: Option<Follower>,
    /// Where the replay goes, and until when it stays on its way from there.
    course: (Sequence, Instant),
    /// When there was last something to do.
    busy: Instant,
}

/// Why there is no further turn.
enum Over {
    Ended,
    Failed(PastError),
}

impl From<Ended> for Over {
    fn from(_: Ended) -> Over {
        Over::Ended
    }
}

impl From<PastError> for Over {
    fn from(error: PastError) -> Over {
        Over::Failed(error)
    }
}

/// Where somebody is who has room for more, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    position: Sequence,
    since: Instant,
}

impl Turns {
    pub fn new(shared: Arc<Shared>, engine: Engine, ending: Ending) -> Turns {
        let (pace, now) = (pace(&ending), Instant::now());
        let course = (Sequence::ZERO, now);
        Turns { shared, engine, ending, pace, follower: None, course, busy: now }
    }

    /// Turns, until nobody can listen any more.
    pub fn run(mut self) {
        // However it ends, those who wait are told.
        let _failing = Failing(Arc::clone(&self.shared));
        give_way();
        loop {
            match self.turn() {
                Ok(()) => {}
                Err(Over::Ended) => return,
                Err(Over::Failed(error)) => {
                    tracing::error!(%error, "the journal cannot be replayed for the stream");
                    return;
                }
            }
        }
    }

    fn turn(&mut self) -> Result<(), Over> {
        self.pace.ended()?;
        let is_ready = |resumer: &Arc<Resumer>| resumer.outbox.lock().is_ready();
        let mut ready = self.shared.waiting.lock().resumers.clone();
        ready.retain(is_ready);
        if ready.is_empty() {
            if self.busy.elapsed() > KEEP {
                self.follower = None;
            }
            self.shared.wait(SLEEP, |all| all.iter().any(is_ready));
            // A rest is no work: it is not to be followed by another in proportion.
            self.pace = pace(&self.ending);
            return Ok(());
        }
        self.busy = Instant::now();
        let places: Vec<Place> = ready.iter().map(|resumer| Place::of(resumer)).collect();
        let mut follower = self.steer(&places)?;
        let mut telling = Telling::new(&self.engine, follower.sequence(), &ready);
        follower.step(self.engine.watermark(), STEP_RECORDS, &mut telling)?;
        let at = follower.sequence();
        self.follower = Some(follower);
        let (mut wakers, full) = telling.hand_over(at);
        while wakers.len() > WAKES_AT_ONCE {
            wakers.drain(..WAKES_AT_ONCE).for_each(Waker::wake);
            self.pace.wait(WAKES_PAUSE)?;
        }
        wakers.into_iter().for_each(Waker::wake);
        self.wait_for(full);
        self.pace.pause_if_due()?;
        Ok(())
    }

    /// The state to step on: the last one's, or that of a snapshot before somebody's place.
    fn steer(&mut self, places: &[Place]) -> Result<Follower, Ended> {
        let now = Instant::now();
        let given = self.follower.take();
        let at = given.as_ref().map_or(Sequence::ZERO, Follower::sequence);
        if at < self.course.0 {
            // It has not come there yet.
            self.course.1 = now.checked_add(STAY).unwrap_or(now);
        }
        let next = next(places, given.is_some().then_some(at), now, self.course.1);
        let far = next.get().saturating_sub(at.get()) > NEAR_RECORDS && next != self.course.0;
        match given {
            Some(given) if given.sequence() <= next && !far => Ok(given),
            given => {
                self.course = (next, now.checked_add(STAY).unwrap_or(now));
                self.engine.followed().follower(next, given, &mut self.pace)
            }
        }
    }

    /// Waits a little for those who have no room.
    fn wait_for(&self, full: Vec<Arc<Resumer>>) {
        let waits = |resumer: &Arc<Resumer>| {
            let outbox = resumer.outbox.lock();
            !outbox.has_room() && !outbox.stalled
        };
        let until = Instant::now().checked_add(DRAIN);
        while full.iter().any(waits) {
            let left = until.and_then(|until| until.checked_duration_since(Instant::now()));
            let Some(left) = left.filter(|left| !left.is_zero()) else { break };
            self.shared.wait(left, |_| !full.iter().any(waits));
            if self.ending.has_come() {
                return;
            }
        }
        for resumer in full {
            let mut outbox = resumer.outbox.lock();
            outbox.stalled = !outbox.has_room();
        }
    }
}

fn pace(ending: &Ending) -> Throttle {
    Throttle::background(ending.clone()).resting_after(WORK_SLICE)
}

/// Those who wait are told when the thread ends, even by a panic.
struct Failing(Arc<Shared>);

impl Drop for Failing {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting.lock();
        waiting.failed = true;
        for resumer in waiting.resumers.drain(..) {
            resumer.outbox.lock().failed = true;
            if let Some(waker) = resumer.bell.ring() {
                waker.wake();
            }
        }
    }
}

impl Place {
    fn of(resumer: &Resumer) -> Place {
        let outbox = resumer.outbox.lock();
        Place { position: outbox.position, since: outbox.since }
    }
}

/// The place to which the replay goes next: on its way to the nearest, unless somebody has waited
/// too long, and it has stayed on its way long enough.
fn next(places: &[Place], at: Option<Sequence>, now: Instant, stay: Instant) -> Sequence {
    let lowest = |places: &mut dyn Iterator<Item = &Place>| places.map(|it| it.position).min();
    let longest = places.iter().min_by_key(|place| (place.since, place.position));
    let longest = longest
        .filter(|place| now >= stay && now.saturating_duration_since(place.since) > PATIENCE);
    let ahead = || {
        let at = at?;
        lowest(&mut places.iter().filter(|place| place.position >= at))
    };
    let next = longest.map(|place| place.position).or_else(ahead);
    next.or_else(|| lowest(&mut places.iter())).unwrap_or_default()
}

#[cfg(test)]
#[path = "../../../../tests/unit/http/stream/resume/turns.rs"]
mod tests;
