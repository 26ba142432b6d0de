//! Metrics of the engine's stages: lock-free figures that any thread may read at any time. Records
//! replayed at a start are not counted as work.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::histogram::Histogram;
use exchange::command::Command;
use exchange::effect::Effect;
use exchange::reject::Reject;
use exchange::units::Sequence;

/// The figures, one part per stage: each stage writes only its own.
#[derive(Debug, Default)]
pub struct Meter {
    /// The sequencer's.
    pub sequencer: SequencerMeter,
    /// The matcher's.
    pub matcher: MatcherMeter,
    /// Figures registered by parts outside the engine.
    pub gauges: Gauges,
}

/// The sequencer's figures. Aligned so that no two stages write to one cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct SequencerMeter {
    replay_head: AtomicU64,
    journal_head: AtomicU64,
    /// How long commands waited in the intake, in nanoseconds.
    pub intake_wait: Histogram,
    /// How long it took to make a block durable, in nanoseconds.
    pub append: Histogram,
    /// Records per block: the size of a group commit.
    pub block_records: Histogram,
}

/// The matcher's figures.
#[derive(Debug)]
#[repr(align(128))]
pub struct MatcherMeter {
    applied: AtomicU64,
    blocks_waiting: AtomicU64,
    /// How long blocks took to be applied, folded and answered, in nanoseconds.
    pub apply: Histogram,
    /// Live commands by kind and result.
    results: Vec<[AtomicU64; RESULTS]>,
}

impl Default for SequencerMeter {
    fn default() -> Self {
        SequencerMeter {
            replay_head: AtomicU64::new(0),
            journal_head: AtomicU64::new(0),
            intake_wait: Histogram::of_times(),
            append: Histogram::of_times(),
            block_records: Histogram::of_counts(),
        }
    }
}

impl Default for MatcherMeter {
    fn default() -> Self {
        let none = || std::array::from_fn(|_| AtomicU64::new(0));
        MatcherMeter {
            applied: AtomicU64::new(0),
            blocks_waiting: AtomicU64::new(0),
            apply: Histogram::of_times(),
            results: (0..last_kind()).map(|_| none()).collect(),
        }
    }
}

/// Progress of a start's replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayProgress {
    /// The last record applied.
    pub applied: Sequence,
    /// The last record of the journal; [`Sequence::ZERO`] until the journal is open.
    pub head: Sequence,
}

impl Meter {
    /// The start's progress.
    pub fn replay_progress(&self) -> ReplayProgress {
        ReplayProgress {
            applied: self.matcher.applied(),
            head: Sequence::new(self.sequencer.replay_head.load(Ordering::Relaxed)),
        }
    }
}

impl SequencerMeter {
    /// Posts the record with which the replay ends.
    pub fn post_replay_head(&self, head: Sequence) {
        self.replay_head.store(head.get(), Ordering::Relaxed);
        self.post_journal_head(head);
    }

    /// Posts the last durable record.
    pub fn post_journal_head(&self, head: Sequence) {
        self.journal_head.store(head.get(), Ordering::Relaxed);
    }

    /// The last durable record.
    pub fn journal_head(&self) -> Sequence {
        Sequence::new(self.journal_head.load(Ordering::Relaxed))
    }
}

impl MatcherMeter {
    /// Posts the last record applied.
    pub fn post_applied(&self, sequence: Sequence) {
        self.applied.store(sequence.get(), Ordering::Relaxed);
    }

    /// The last record applied.
    pub fn applied(&self) -> Sequence {
        Sequence::new(self.applied.load(Ordering::Relaxed))
    }

    /// Posts how many durable blocks wait to be applied.
    pub fn post_blocks_waiting(&self, blocks: usize) {
        self.blocks_waiting.store(u64::try_from(blocks).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How many durable blocks waited to be applied when the last one was taken.
    pub fn blocks_waiting(&self) -> u64 {
        self.blocks_waiting.load(Ordering::Relaxed)
    }

    /// Counts a command by its kind and result.
    pub fn count(&self, command: &Command, effects: &[Effect]) {
        let result = match effects {
            [Effect::Refused(reject)] => result_of(*reject),
            _ => ACCEPTED,
        };
        // Kinds are numbered from 1.
        let kind = usize::from(command.number()).saturating_sub(1);
        let counts = self.results.get(kind).and_then(|results| results.get(result));
        if let Some(count) = counts {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Live commands so far: kind, result, count. Zero counts are left out, except for `accepted`.
    pub fn commands(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        // Clock commands are the sequencer's own.
        let clock = Command::AdvanceClock.number();
        let kinds = Command::KINDS.iter().filter(move |(number, _)| *number != clock);
        let of = move |number: u16| self.results.get(usize::from(number).saturating_sub(1));
        let kinds = kinds.filter_map(move |(number, kind)| Some((kind, of(*number)?)));
        kinds.flat_map(|(kind, results)| {
            let counts = results.iter().map(|count| count.load(Ordering::Relaxed));
            let named = result_names().zip(counts).enumerate();
            let shown = named.filter(|(index, (_, count))| *index == ACCEPTED || *count > 0);
            shown.map(|(_, (result, count))| (*kind, result, count))
        })
    }
}

/// The largest number of a kind.
fn last_kind() -> u16 {
    Command::KINDS.last().map_or(0, |(number, _)| *number)
}

/// Index of `accepted` among the results; reject codes follow.
const ACCEPTED: usize = 0;
const RESULTS: usize = 1 + Reject::ALL.len();

fn result_names() -> impl Iterator<Item = &'static str> {
    std::iter::once("accepted").chain(Reject::ALL.iter().map(|reject| reject.code()))
}

fn result_of(refused: Reject) -> usize {
    let index = Reject::ALL.iter().position(|reject| *reject == refused);
    index.map_or(ACCEPTED, |index| ACCEPTED + 1 + index)
}

/// A figure that is read on demand.
pub struct Gauge {
    /// Its name: lower case and underscores, the unit last.
    pub name: &'static str,
    /// Its description, for people.
    pub help: &'static str,
    /// The code of what it warns of while it is not zero.
    warning: Option<&'static str>,
    read: Box<dyn Fn() -> i64 + Send + Sync>,
}

impl Gauge {
    /// The value now.
    pub fn read(&self) -> i64 {
        (self.read)()
    }
}

impl fmt::Debug for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gauge").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Figures of parts outside the engine, read on demand.
#[derive(Debug, Default)]
pub struct Gauges(Mutex<Vec<Gauge>>);

impl Gauges {
    /// Adds a figure. `read` must not block; names must be unique.
    pub fn add(
        &self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> i64 + Send + Sync + 'static,
    ) {
        self.0.lock().push(Gauge { name, help, warning: None, read: Box::new(read) });
    }

    /// Adds a figure that is 1 while something fails beside the venue, which goes on.
    pub fn add_warning(
        &self,
        code: &'static str,
        name: &'static str,
        help: &'static str,
        fails: impl Fn() -> bool + Send + Sync + 'static,
    ) {
        let read = Box::new(move || i64::from(fails()));
        self.0.lock().push(Gauge { name, help, warning: Some(code), read });
    }

    /// The codes of what fails now.
    pub fn warnings(&self) -> Vec<&'static str> {
        let gauges = self.0.lock();
        let failing = gauges.iter().filter(|gauge| gauge.warning.is_some() && gauge.read() != 0);
        failing.filter_map(|gauge| gauge.warning).collect()
    }

    /// Visits every figure, in the order of adding.
    pub fn each(&self, mut visit: impl FnMut(&Gauge)) {
        self.0.lock().iter().for_each(&mut visit);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/meter.rs"]
mod tests;
