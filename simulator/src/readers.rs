//! People who read: lists page by page, the state as it was, and the records as they come. Each
//! goes on from where it was while the venue trades on, and after it has ended and started again.

use std::ops::ControlFlow;

use engine::clock::Settled;
use engine::follower::{Follower, Onlooker};
use engine::past::Moment;
use engine::throttle::Throttle;
use exchange::command::Record;
use exchange::effect::Applied;
use exchange::units::Sequence;
use journal::snapshot::Kind;
use views::ReadModel;

use crate::chance::Chance;
use crate::compare::comparable;
use crate::naive::Naive;
use crate::oracle::Oracle;
use crate::venue::Venue;

mod told;
mod walk;
mod worth;

pub use told::Told;
use walk::Walk;
use worth::{Kept, Worth};

/// Lists that are read at a time.
const WALKS_MAX: usize = 4;
/// Rows of a page at the end, at least.
const MOST: usize = 500;
/// States that are remembered.
const KEPT: usize = 32;
/// Records applied again for a question, and before a listener hears the first, at most: more are
/// seldom.
const NEAR: u64 = 200;
/// One question in so many is about any moment, however far.
const FAR_ONE_IN: u64 = 40;
/// Records of a page of the journal.
const RECORDS: u64 = 20;

/// What somebody read, if it was as it must be.
type Read = Result<(), String>;

/// All that readers do.
pub const MARKS: [&str; 6] = [WALKED, ASKED, ASKED_AT, READ, HEARD, RESUMED];
const WALKED: &str = "readers: a list was read to its end";
const ASKED: &str = "readers: the state after an earlier record";
const ASKED_AT: &str = "readers: the state at an earlier time";
const READ: &str = "readers: a page of records";
const HEARD: &str = "readers: a listener heard what it came for";
const RESUMED: &str = "readers: a listener went on after a start";

/// Somebody who follows the records.
#[derive(Debug)]
struct Listener {
    /// The last record that it heard, or knew.
    heard: Sequence,
    /// How many more it wants to hear.
    left: u64,
    follower: Option<Follower>,
}

/// What a listener hears in one step.
struct Ear<'a> {
    oracle: &'a Oracle,
    kept: &'a [Kept],
    /// The last record so far.
    last: Sequence,
    /// Turns away after this one.
    until: Sequence,
    wrong: Option<String>,
}

impl Ear<'_> {
    fn check(&self, view: &ReadModel, record: &Record, applied: &Applied<'_>) -> Option<String> {
        let at = record.sequence;
        if at != self.last.next() || view.watermark() != at || applied.sequence != at {
            return Some(format!("record {at} came after {}", self.last));
        }
        if self.oracle.record(at) != Some(record) {
            return Some(format!("record {at} is {record:?}"));
        }
        let place = usize::try_from(at.get().saturating_sub(1)).unwrap_or(usize::MAX);
        let effects = comparable(applied.effects).count();
        if self.oracle.told.effects.get(place) != Some(&effects) {
            return Some(format!("record {at} has {effects} effects"));
        }
        let kept = self.kept.iter().find(|kept| kept.at == at)?;
        (Worth::of_view(view, kept) != kept.worth)
            .then(|| format!("after record {at} somebody has another worth"))
    }
}

impl Onlooker for Ear<'_> {
    fn see(&mut self, view: &ReadModel, record: &Record, applied: &Applied<'_>) -> ControlFlow<()> {
        self.wrong = self.wrong.take().or_else(|| self.check(view, record, applied));
        self.last = record.sequence;
        if self.last >= self.until { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// All who read.
#[derive(Debug, Default)]
pub struct Readers {
    walks: Vec<Walk>,
    kept: Vec<Kept>,
    /// The last record that the venue was asked about since its start.
    asked: Sequence,
    listener: Option<Listener>,
    marks: Vec<&'static str>,
}

impl Readers {
    /// What was done since the last time.
    pub fn marks(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.marks)
    }

    /// The venue ends; who reads goes on with the next.
    pub fn part(&mut self) {
        self.asked = Sequence::ZERO;
        if let Some(listener) = &mut self.listener {
            listener.follower = None;
        }
    }

    /// Somebody reads something.
    pub fn step(&mut self, venue: &Venue, oracle: &Oracle, chance: &mut Chance) -> Read {
        let (shown, last) = (venue.stations.engine.watermark(), oracle.twin.sequence);
        if shown.get() != last {
            return Err(format!("READ: up to record {shown} is shown, {last} is the last"));
        }
        self.keep(&oracle.twin, chance);
        // Whoever begins to follow restores a snapshot.
        let read = match chance.weighted(&[2, 2, 1, 6]) {
            0 => self.ask(venue, oracle, chance),
            1 => self.records(venue, oracle, chance),
            2 => self.listen(venue, oracle, chance),
            _ => {
                if self.walks.len() < WALKS_MAX && chance.one_in(3) {
                    self.walks.push(Walk::begin(oracle, chance));
                }
                let walk = chance.index(self.walks.len());
                self.walk(venue, oracle, walk)
            }
        };
        // Pages that could not be written are there again after the next start.
        read.or_else(|error| if venue.history.has_failed() { Ok(()) } else { Err(error) })
    }

    /// Whoever still reads a list reads it to its end.
    pub fn finish(&mut self, venue: &Venue, oracle: &Oracle) -> Read {
        while let Some(walk) = self.walks.first_mut() {
            walk.most = walk.most.max(MOST);
            self.walk(venue, oracle, 0)?;
        }
        Ok(())
    }

    fn walk(&mut self, venue: &Venue, oracle: &Oracle, place: usize) -> Read {
        let Some(walk) = self.walks.get_mut(place) else { return Ok(()) };
        if let Some(next) = walk.page(&venue.stations.engine.read(), &oracle.told)? {
            *walk = next;
        } else {
            self.walks.swap_remove(place);
            self.marks.push(WALKED);
        }
        Ok(())
    }

    fn keep(&mut self, twin: &Naive, chance: &mut Chance) {
        let markets = u32::try_from(twin.markets.len()).unwrap_or(u32::MAX);
        let (at, time, worth) = (Sequence::new(twin.sequence), twin.now, Worth::of_twin(twin));
        let kept = Kept { at, time, users: twin.users_count, markets, worth };
        if self.kept.len() < KEPT {
            self.kept.push(kept);
        } else if let Some(one) = self.kept.get_mut(chance.index(KEPT)) {
            *one = kept;
        }
    }

    /// The newest snapshot up to a record.
    fn begun(venue: &Venue, at: Sequence) -> Sequence {
        let listed = venue.snapshots.list(Kind::Views).unwrap_or_default();
        listed.into_iter().filter(|sequence| *sequence <= at).max().unwrap_or(Sequence::ZERO)
    }

    /// Somebody asks how the state was, after a record or at a time.
    fn ask(&mut self, venue: &Venue, oracle: &Oracle, chance: &mut Chance) -> Read {
        let far = chance.one_in(FAR_ONE_IN);
        let near = |kept: &&Kept| {
            let asked = if self.asked <= kept.at { self.asked } else { Sequence::ZERO };
            let begun = Readers::begun(venue, kept.at).max(asked);
            far || kept.at.get() <= begun.get().saturating_add(NEAR)
        };
        let near: Vec<&Kept> = self.kept.iter().filter(near).collect();
        let Some(kept) = near.get(chance.index(near.len())) else { return Ok(()) };
        // The clock may stand still: records of that time may be still to come.
        let past = venue.stations.sequencer.clock.settled(kept.time) == Settled::Yes;
        let until = oracle.records.partition_point(|record| record.time <= kept.time);
        let last = u64::try_from(until).unwrap_or(u64::MAX) == kept.at.get();
        // Others of that time may wait for the matcher.
        let last = last && until < oracle.records.len();
        let (moment, mark) = if past && last && chance.one_in(2) {
            (Moment::Until(kept.time), ASKED_AT)
        } else {
            (Moment::After(kept.at), ASKED)
        };
        let seen = venue.stations.engine.past().ask(moment, |rebuilt| {
            let worth = Worth::of_state(rebuilt.exchange(), kept);
            worth.map(|worth| (rebuilt.sequence(), worth))
        });
        let seen = seen.map_err(|error| format!("PAST: {error}"))??;
        if seen != (kept.at, kept.worth) {
            return Err(format!("PAST: {moment:?} is {seen:?}, not {kept:?}"));
        }
        self.asked = kept.at;
        self.marks.push(mark);
        Ok(())
    }

    /// Somebody reads records of the journal.
    fn records(&mut self, venue: &Venue, oracle: &Oracle, chance: &mut Chance) -> Read {
        let (all, count) = (oracle.records.len(), chance.within(1, RECORDS));
        let (first, count) = (chance.index(all), usize::try_from(count).unwrap_or(1));
        let from = Sequence::new(u64::try_from(first).unwrap_or(u64::MAX)).next();
        let bytes = chance.of_all(&[0, 2_000, 100_000], 0);
        let read = venue.stations.engine.past().records(from, count, bytes);
        let read = read.map_err(|error| format!("RECORDS: {error}"))?;
        // Blocks may wait for the matcher.
        let told = oracle.records.get(first..).unwrap_or_default();
        let same = told.iter().zip(&read).all(|(told, read)| told == read);
        let all_in = read.is_sorted_by(|one, next| one.sequence.next() == next.sequence);
        if read.is_empty() && all > 0 || read.len() > count || !same || !all_in {
            return Err(format!("RECORDS: {count} from {from} are {read:?}"));
        }
        self.marks.push(READ);
        Ok(())
    }

    /// Somebody follows the records, from where they left off.
    fn listen(&mut self, venue: &Venue, oracle: &Oracle, chance: &mut Chance) -> Read {
        let head = Sequence::new(oracle.twin.sequence);
        let resumed = self.listener.as_ref().is_some_and(|one| one.follower.is_none());
        let mut listener = self.listener.take().unwrap_or_else(|| {
            let begun = Readers::begun(venue, head).get();
            let heard = Sequence::new(begun.saturating_add(chance.below(NEAR))).min(head);
            Listener { heard, left: chance.within(1, NEAR), follower: None }
        });
        let far = listener.heard.get() > Readers::begun(venue, listener.heard).get() + NEAR;
        if listener.follower.is_none() && far && !chance.one_in(FAR_ONE_IN) {
            // It has lost interest.
            return Ok(());
        }
        let followed = venue.stations.engine.followed();
        let follower = match listener.follower.take() {
            Some(follower) if !chance.one_in(4) => follower,
            given => {
                let made = followed.follower(listener.heard, given, &mut Throttle::full());
                made.map_err(|error| format!("FOLLOW: {error}"))?
            }
        };
        self.follow(listener, follower, oracle, (resumed, chance.within(1, 100)))
    }

    fn follow(
        &mut self,
        mut listener: Listener,
        mut follower: Follower,
        oracle: &Oracle,
        (resumed, most): (bool, u64),
    ) -> Read {
        let (head, kept) = (Sequence::new(oracle.twin.sequence), &*self.kept);
        let (last, wrong) = (follower.sequence(), None);
        if last > listener.heard {
            return Err(format!("FOLLOW: from record {last} on, {} was heard", listener.heard));
        }
        let until = Sequence::new(listener.heard.get().saturating_add(most)).min(head);
        let mut ear = Ear { oracle, kept, last, until, wrong };
        let stepped = follower.step(head, usize::MAX, &mut ear);
        stepped.map_err(|error| format!("FOLLOW: {error}"))?;
        if let Some(wrong) = ear.wrong {
            return Err(format!("FOLLOW: {wrong}"));
        }
        if (ear.last, follower.sequence()) != (until.max(last), until.max(last)) {
            return Err(format!("FOLLOW: it ends with record {}, not {until}", ear.last));
        }
        let heard = until.get().saturating_sub(listener.heard.get());
        listener.heard = until;
        if resumed && heard > 0 {
            self.marks.push(RESUMED);
        }
        listener.left = listener.left.saturating_sub(heard);
        if listener.left == 0 {
            self.marks.push(HEARD);
        } else {
            listener.follower = Some(follower);
            self.listener = Some(listener);
        }
        Ok(())
    }
}
