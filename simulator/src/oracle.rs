//! What must be true whatever happens: the answers are the naive twin's, what was answered is there,
//! and everything that can be made again comes out the same.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::sync::Arc;

use engine::announcer::Announcer;
use engine::pending::{Caller, Outcome};
use engine::restore::Restored;
use exchange::Exchange;
use exchange::command::{KeyedCommand, Record};
use exchange::effect::{Applied, Effect};
use exchange::results::Results;
use exchange::rules::SLICE;
use exchange::units::Sequence;
use journal::Durable;
use journal::block::{Block, Head};
use journal::directory::read_only;
use journal::portable::PortableFile;
use journal::replay::Listener;
use journal::snapshot::Kind;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use views::ReadModel;
use views::history::{History, HistoryError, PageKey, PageStorage, ROWS_PER_PAGE};

use crate::compare::{always_true, same_answer};
use crate::naive::Naive;
use crate::readers::Told;
use crate::state::same_state;
use crate::venue::{Venue, archive, data};

/// Bytes of a data directory for each byte of its journal, at most: the log, its copy, history. As
/// many more as a page of history has rows less than eight.
const DISK_TIMES: u64 = 4;
/// Bytes of a data directory however small the journal is: segments made ahead, snapshots.
const DISK_BYTES: u64 = 4 << 20;

/// Reads a directory without its venue, as an auditor does: the log, and the archive if there is
/// one, must verify and lead to this head; so the chain's hashes make them the same. What they come
/// to, [`Oracle::made_again`] compares. Returns the bytes of the log's blocks.
pub fn verified(head: &Head, archived: bool) -> Result<u64, String> {
    let words = |error: &dyn std::fmt::Display| format!("VERIFY: {error}");
    let (log, _) = read_only(&data()).map_err(|error| words(&error))?;
    let log = log.read(Sequence::new(1)).map(|block| block.map_err(|error| words(&error)));
    let journaled = leads_to(head, log)?;
    if archived {
        let blocks = PortableFile::open(&archive()).map_err(|error| words(&error))?;
        leads_to(head, blocks.map(|block| block.map_err(|error| words(&error))))?;
    }
    Ok(journaled)
}

fn leads_to(
    head: &Head,
    blocks: impl Iterator<Item = Result<Durable<Block>, String>>,
) -> Result<u64, String> {
    let (mut last, mut bytes) = (Head::START, 0_u64);
    for block in blocks {
        let block = block?;
        bytes = bytes.saturating_add(u64::try_from(block.bytes().len()).unwrap_or(u64::MAX));
        last = block.head();
    }
    let same = (last.sequence, last.hash) == (head.sequence, head.hash);
    if same { Ok(bytes) } else { Err(format!("VERIFY: it ends with {}", last.sequence)) }
}

/// Checks that a data directory of so many bytes, with a journal of so many and pages of so many
/// rows, is as small as it should be.
pub fn bounded(used: u64, journaled: u64, rows: u64) -> Result<(), String> {
    let times = DISK_TIMES.saturating_add(8_u64.saturating_sub(rows));
    let most = journaled.saturating_mul(times).saturating_add(DISK_BYTES);
    if used <= most {
        return Ok(());
    }
    Err(format!("DISK: {used} bytes for {journaled} of blocks, more than {most}"))
}

/// Hears every record as it is folded.
#[derive(Debug, Default)]
pub struct Tap(Mutex<Vec<(Record, Vec<Effect>)>>);

impl Tap {
    /// Forgets what was heard.
    pub fn forget(&self) {
        self.0.lock().clear();
    }
}

impl Announcer for Tap {
    fn wanted(&self) -> bool {
        true
    }

    fn see(&self, _: &ReadModel, record: &Record, applied: &Applied<'_>) {
        self.0.lock().push((record.clone(), applied.effects.to_vec()));
    }

    fn end_block(&self, _: &ReadModel, _: Results) {}

    fn publish(&self, _: Sequence) {}
}

/// Compares the pages that are made again with those of a venue; keeps the first that differs.
#[derive(Debug)]
struct Compared(History, Mutex<Option<PageKey>>);

impl PageStorage for Compared {
    fn put(&self, key: PageKey, bytes: Vec<u8>) {
        let mut other = self.1.lock();
        if other.is_none() && !self.0.has(key, &bytes) {
            *other = Some(key);
        }
    }

    fn get(&self, _: PageKey) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }

    fn failed(&self, _: &HistoryError) {}

    fn keeps(&self) -> bool {
        false
    }
}

/// Folds every record of a replay.
struct Folds<'a>(&'a mut ReadModel);

impl Listener for Folds<'_> {
    type Stop = std::convert::Infallible;

    fn after(
        &mut self,
        _: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Self::Stop> {
        let (sequence, time) = (record.sequence, record.time);
        self.0.fold(&Applied { sequence, time, effects });
        Ok(())
    }
}

/// What somebody heard of a command.
#[derive(Debug)]
pub enum Heard {
    /// It was applied as this record.
    Applied(Sequence),
    /// It was refused, and nothing was accepted.
    Refused,
    /// Nobody knows.
    Unknown,
}

/// What people were told and have not looked at: the number of a request, the place of the command
/// in it, and what became of it.
pub type Letters = Arc<Mutex<Vec<(u64, usize, Heard)>>>;

/// A caller.
pub struct Person {
    /// The number of the request.
    pub request: u64,
    /// Where it hears.
    pub heard: Letters,
}

impl Caller for Person {
    fn hear(
        &self,
        positions: std::ops::Range<usize>,
        outcome: Outcome,
    ) -> Option<std::task::Waker> {
        use engine::pending::Refusal;

        let mut heard = self.heard.lock();
        for (place, position) in positions.enumerate() {
            let told = match &outcome {
                Outcome::Applied(block, first) => {
                    let record = block.record(first.saturating_add(place));
                    record.map_or(Heard::Unknown, |applied| Heard::Applied(applied.sequence))
                }
                Outcome::Refused(Refusal::OutcomeUnknown(_)) | Outcome::Lost => Heard::Unknown,
                Outcome::Refused(_) => Heard::Refused,
            };
            heard.push((self.request, position, told));
        }
        None
    }
}

/// The twin, and what is known of the journal.
pub struct Oracle {
    /// The twin after the last record that was applied.
    pub twin: Naive,
    /// Every record so far.
    pub records: Vec<Record>,
    /// What they came to.
    pub told: Told,
    /// What the venue hears.
    pub tap: Arc<Tap>,
    /// Where the journal certainly ends.
    pub known: Head,
    /// Whether one more block may be there.
    pub doubt: bool,
    /// What was refused since the start, and must never be there.
    pub refused: Vec<KeyedCommand>,
}

impl Oracle {
    /// Before the first record.
    pub fn new() -> Oracle {
        let mut twin = Naive::new();
        twin.slice = usize::try_from(SLICE).ok();
        let (records, told, tap) = (Vec::new(), Told::default(), Arc::default());
        let (known, doubt, refused) = (Head::START, false, Vec::new());
        Oracle { twin, records, told, tap, known, doubt, refused }
    }

    /// Compares what was applied since with the twin's answers; returns how many records.
    pub fn compare(&mut self, mut see: impl FnMut(&Record, &[Effect])) -> Result<u64, String> {
        let applied = std::mem::take(&mut *self.tap.0.lock());
        let count = u64::try_from(applied.len()).unwrap_or(u64::MAX);
        for (record, effects) in applied {
            let expected = self.follow(&record)?;
            same_answer(&effects, &self.twin, &expected)
                .map_err(|difference| format!("ANSWER: {record:?}\n{difference}"))?;
            see(&record, &effects);
            self.records.push(record);
        }
        Ok(count)
    }

    fn follow(&mut self, record: &Record) -> Result<Vec<Effect>, String> {
        let next = self.twin.sequence.saturating_add(1);
        if record.sequence.get() != next {
            return Err(format!("ORDER: record {} came, {next} is next", record.sequence));
        }
        if self.records.last().is_some_and(|last| last.time > record.time) {
            return Err(format!("TIME: record {next} is earlier than the one before"));
        }
        let effects = self.twin.apply(record);
        self.told.see(record.sequence, &effects);
        Ok(effects)
    }

    /// A record by its number.
    pub fn record(&self, sequence: Sequence) -> Option<&Record> {
        let place = sequence.get().checked_sub(1)?;
        self.records.get(usize::try_from(place).ok()?)
    }

    /// Checks that a command that was answered is that record.
    pub fn answered(&self, asked: &KeyedCommand, sequence: Sequence) -> Result<(), String> {
        let index = usize::try_from(sequence.get().saturating_sub(1)).unwrap_or(usize::MAX);
        let record = self.records.get(index);
        let same = |record: &Record| record.command == asked.command && record.once == asked.once;
        if record.is_some_and(same) {
            return Ok(());
        }
        Err(format!("ANSWERED: {asked:?} was answered as record {sequence}, which is {record:?}"))
    }

    /// Compares a venue that has just started with what must be there.
    pub fn recovered(&mut self, venue: &Venue) -> Result<(), String> {
        self.tap.forget();
        let (head, known) = (venue.head(), self.known);
        if head.sequence < known.sequence {
            let (head, known) = (head.sequence, known.sequence);
            return Err(format!("LOST: the journal ends with record {head}, {known} was durable"));
        }
        if head.sequence > known.sequence && !self.doubt {
            let (head, known) = (head.sequence, known.sequence);
            return Err(format!("BACK: record {head} is there, {known} was the last"));
        }
        if head.sequence == known.sequence && head.hash != known.hash {
            return Err(format!("CHANGED: the block that ends with record {}", head.sequence));
        }
        let mut blocks = 0_u64;
        let from = Sequence::new(self.twin.sequence.min(known.sequence.get())).next();
        if from <= head.sequence {
            for block in venue.reader().read(from) {
                let block = block.map_err(|error| format!("JOURNAL: {error}"))?;
                if block.last() > known.sequence {
                    blocks = blocks.saturating_add(1);
                }
                let follows = block.first() == known.sequence.next();
                if follows && block.previous() != known.hash {
                    return Err(format!("CHANGED: the block that ends with {}", known.sequence));
                }
                for record in block.records() {
                    if record.sequence.get() > self.twin.sequence {
                        let is = |asked: &KeyedCommand| {
                            (&asked.command, &asked.once) == (&record.command, &record.once)
                        };
                        if record.sequence > known.sequence && self.refused.iter().any(is) {
                            return Err(format!("BACK: it was refused, and is there: {record:?}"));
                        }
                        self.follow(record)?;
                        self.records.push(record.clone());
                    }
                }
            }
        }
        if blocks > 1 {
            return Err(format!("BACK: {blocks} blocks are there that were never durable"));
        }
        (self.known, self.doubt) = (head, false);
        self.refused.clear();
        self.state(venue)
    }

    /// Compares the whole state, and checks the invariants.
    pub fn state(&self, venue: &Venue) -> Result<(), String> {
        let exchange = venue.stations.matcher.replayer.exchange();
        if exchange.sequence().get() != self.twin.sequence {
            let (ours, twins) = (exchange.sequence(), self.twin.sequence);
            return Err(format!("STATE: it is as of record {ours}, not {twins}"));
        }
        always_true(&self.twin).map_err(|what| format!("TWIN: {what}"))?;
        exchange.check().map_err(|broken| format!("BROKEN: {broken}"))?;
        let due = self.twin.dues().first().map(|(at, _)| *at);
        if exchange.next_due() != due {
            return Err(format!("DUE: {:?}, the twin says {due:?}", exchange.next_due()));
        }
        let read = venue.stations.engine.read();
        same_state(exchange, &read, &self.twin).map_err(|difference| format!("STATE: {difference}"))
    }

    /// Makes everything again from the journal, and compares: state, results, views, pages and
    /// snapshots. Returns a digest of it.
    pub fn made_again(&self, venue: &Venue) -> Result<u64, String> {
        let live = &venue.stations.matcher.replayer;
        let pages = venue.history.history();
        let rows = u32::try_from(pages.rows_per_page()).ok().and_then(NonZeroU32::new);
        let compared = Arc::new(Compared(pages, Mutex::default()));
        let target = History::on(Arc::<Compared>::clone(&compared));
        let target = target.paged(rows.unwrap_or(ROWS_PER_PAGE));
        let Restored { mut replayer, mut read_model } = Restored::nothing(&target);
        let words = |error: &dyn std::fmt::Display| format!("AGAIN: {error}");
        let listed = venue.snapshots.list(Kind::State).map_err(|error| words(&error))?;
        let mut ends = BTreeSet::new();
        for block in venue.reader().read(Sequence::new(1)) {
            let block = block.map_err(|error| words(&error))?;
            ends.insert(block.last());
            let mut folds = Folds(&mut read_model);
            let applied = replayer.apply(&block, &mut Vec::new(), &mut folds);
            applied.map_err(|stop| format!("AGAIN: {stop:?}"))?;
            let last = block.last();
            if listed.contains(&last)
                && let Ok(read) = venue.snapshots.read(Kind::State, last)
            {
                let (point, digest) = (read.header().point, replayer.exchange().digest());
                if digest != Ok(point.state) || replayer.results().hash != point.results {
                    return Err(format!("SNAPSHOT: that of record {last} is another state"));
                }
            }
        }
        if let Some(odd) = listed.iter().find(|sequence| !ends.contains(sequence)) {
            return Err(format!("SNAPSHOT: no block ends with record {odd}, but one is of it"));
        }
        let ours = replayer.exchange();
        if ours.digest() != live.exchange().digest() || replayer.results() != live.results() {
            return Err("AGAIN: the state is another one".to_owned());
        }
        let (mut again, mut shown) = (Vec::new(), Vec::new());
        read_model.write_image(&mut again).map_err(|error| words(&error))?;
        let read = venue.stations.engine.read();
        read.write_image(&mut shown).map_err(|error| words(&error))?;
        if again != shown {
            return Err("VIEWS: folded anew they are others".to_owned());
        }
        if let (false, Some(key)) = (venue.history.has_failed(), *compared.1.lock()) {
            return Err(format!("PAGES: {key:?} is not there as it is made anew"));
        }
        let digest = Sha256::digest(&again);
        Ok(digest.first_chunk().copied().map(u64::from_le_bytes).unwrap_or_default())
    }

    /// Compares the archive with the journal.
    pub fn archived(&self, venue: &Venue) -> Result<(), String> {
        let words = |error: &dyn std::fmt::Display| format!("ARCHIVE: {error}");
        let mut journal = venue.reader().read(Sequence::new(1));
        let mut last = Sequence::ZERO;
        for block in PortableFile::open(&archive()).map_err(|error| words(&error))? {
            let block = block.map_err(|error| words(&error))?;
            let ours = journal.next().and_then(Result::ok);
            if ours.is_none_or(|ours| ours.hash() != block.hash()) {
                return Err(format!("ARCHIVE: the block of record {} is another", block.first()));
            }
            last = block.last();
        }
        if last == venue.head().sequence { Ok(()) } else { Err(format!("ARCHIVE: ends at {last}")) }
    }

    /// The newest records, for a report.
    pub fn newest(&self, count: usize) -> String {
        let mut text = String::new();
        for record in self.records.iter().skip(self.records.len().saturating_sub(count)) {
            let _ = writeln!(text, "  {} {:?}", record.sequence, record.command);
        }
        text
    }
}
