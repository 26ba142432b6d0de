//! The log: a folder of segments, each named after its first record. The last is open: whole blocks
//! and then zeros. The others are full and do not change, but for their form, once they are sealed.
//! Blocks are read from here and from nowhere else.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::block::{Block, Head, RawBlock};
use super::copy::{self, CopyFolder, Neighbours};
use super::disk::{self, File};
use super::member::GZIP_MAGIC;
use super::repairs::Repairs;
use super::segment::{self, Packed, Rest, Run, places, unpack};
use super::store::{BlockSource, OpenError, Step, StoreError, Stored};
use exchange::units::Sequence;

/// Bytes of an open segment: some 200,000 orders. It is all there from the beginning, as zeros, so
/// that an append changes no length; a start reads it whole, and a server keeps it in memory.
pub const SEGMENT_BYTES: usize = 8 << 20;
/// Suffix of a segment's name, after its first record.
const SUFFIX: &str = "blocks";
/// Digits of that record in the name.
const NAME_DIGITS: usize = 20;
/// Runs of blocks kept unpacked for those who read on.
const RECENT_MAX: usize = 4;
const _: () = assert!(SEGMENT_BYTES.is_multiple_of(4096));

/// Bytes of an open segment on this disk.
pub(super) fn segment_bytes() -> usize {
    disk::segment_bytes(SEGMENT_BYTES)
}

/// A segment that takes no more blocks.
#[derive(Debug)]
struct Closed {
    first: Sequence,
    /// Where its members stand, once it was read in its sealed form.
    places: Mutex<Option<Arc<Places>>>,
}

/// Members, each with its first record.
type Places = Vec<(Sequence, Range<usize>)>;

impl Closed {
    const fn at(first: Sequence) -> Closed {
        Closed { first, places: Mutex::new(None) }
    }

    fn places(&self) -> MutexGuard<'_, Option<Arc<Places>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The open segment.
#[derive(Debug)]
struct Tail {
    first: Sequence,
    run: Run,
}

#[derive(Debug)]
struct State {
    closed: Vec<Arc<Closed>>,
    tail: Tail,
}

/// The segments of a log, for its writer and for readers on other threads.
#[derive(Debug)]
pub(super) struct Log {
    folder: PathBuf,
    /// What damaged segments are mended from; a reader that must not write has none.
    copy: Option<Arc<CopyFolder>>,
    repairs: Arc<Repairs>,
    /// `None` once it is closed.
    state: RwLock<Option<State>>,
    /// The runs read last, by segment.
    recent: Mutex<VecDeque<(Sequence, Arc<Run>)>>,
    /// Whoever mends; readers may find the same damage at once.
    mending: Mutex<()>,
}

/// The path of the segment that begins with a record.
pub(super) fn segment(folder: &Path, first: Sequence) -> PathBuf {
    folder.join(format!("{:0NAME_DIGITS$}.{SUFFIX}", first.get()))
}

/// The segments in a folder, by their first records.
pub(super) fn segments(folder: &Path) -> io::Result<Vec<Sequence>> {
    let mut found = Vec::new();
    for entry in disk::read_dir(folder)? {
        let path = entry?.path();
        let digits = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let named = path.extension().is_some_and(|suffix| suffix == SUFFIX);
        if let Ok(first) = digits.parse()
            && named
            && digits.len() == NAME_DIGITS
        {
            found.push(Sequence::new(first));
        }
    }
    found.sort();
    Ok(found)
}

impl Log {
    /// Reads a folder's segments: the last one whole, and of the others the names. Also says what
    /// stands after the last block.
    pub(super) fn open(
        folder: &Path,
        copy: Option<Arc<CopyFolder>>,
        repairs: Arc<Repairs>,
    ) -> Result<(Log, Rest), OpenError> {
        let listed = segments(folder).map_err(|error| reading(folder, &error))?;
        let first = Head::START.sequence.next();
        let (Some(begin), Some(last)) = (listed.first(), listed.last()) else {
            return Err(OpenError::Lost(segment(folder, first)));
        };
        if *begin != first {
            return Err(OpenError::Lost(segment(folder, first)));
        }
        let path = segment(folder, *last);
        let bytes = disk::read(&path).map_err(|error| reading(&path, &error))?;
        let closed = |first: &Sequence| Arc::new(Closed::at(*first));
        let mut state = State {
            closed: listed.iter().map(closed).collect(),
            tail: Tail { first: *last, run: Run::read(Vec::new(), *last).0 },
        };
        let rest = if bytes.starts_with(&GZIP_MAGIC) {
            // Its successor was there before it was sealed, and is on disk.
            let members = places(&bytes, *last).and_then(|places| {
                let (first, place) = places.last().cloned().unwrap_or((*last, 0..0));
                unpack(bytes.get(place).unwrap_or_default(), first)
            });
            let run = members.map_err(|what| damaged(&path, &what))?;
            state.tail = Tail { first: run.next(), run: Run::read(Vec::new(), run.next()).0 };
            let again = segments(folder).map_err(|error| reading(folder, &error))?;
            if again.last() == Some(last) {
                return Err(OpenError::Lost(segment(folder, run.next())));
            }
            Rest::Nothing
        } else {
            if bytes.len() != segment_bytes() {
                let bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                return Err(OpenError::Truncated { path, bytes });
            }
            let (run, rest) = Run::read(bytes, *last);
            let rest = segment::rest(&rest, run.bytes().len());
            state.closed.pop();
            state.tail.run = run;
            rest
        };
        let (state, recent, mending) =
            (RwLock::new(Some(state)), Mutex::default(), Mutex::default());
        Ok((Log { folder: folder.to_owned(), copy, repairs, state, recent, mending }, rest))
    }

    /// The open segment's first record, and the bytes of its blocks.
    pub(super) fn tail(&self) -> (Sequence, usize) {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let tail = state.as_ref().map(|state| (state.tail.first, state.tail.run.bytes().len()));
        tail.unwrap_or((Sequence::ZERO, 0))
    }

    /// The bytes of the open segment's blocks.
    pub(super) fn tail_blocks(&self) -> Vec<u8> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.as_ref().map(|state| state.tail.run.bytes().to_vec()).unwrap_or_default()
    }

    /// The record after the last.
    pub(super) fn next(&self) -> Sequence {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.as_ref().map_or(Sequence::ZERO, |state| state.tail.run.next())
    }

    /// Adds a block to the open segment's memory.
    pub(super) fn push(&self, first: Sequence, block: &[u8]) {
        self.on_tail(|tail| tail.run.push(first, block));
    }

    /// Drops the blocks of the open segment from a record on; returns how many bytes are left.
    pub(super) fn cut(&self, from: Sequence) -> usize {
        self.on_tail(|tail| tail.run.cut(from)).unwrap_or(0)
    }

    /// Closes the open segment: the next one begins with this record.
    pub(super) fn roll(&self, first: Sequence) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = &mut *state {
            state.closed.push(Arc::new(Closed::at(state.tail.first)));
            state.tail = Tail { first, run: Run::read(Vec::new(), first).0 };
        }
    }

    fn on_tail<T>(&self, change: impl FnOnce(&mut Tail) -> T) -> Option<T> {
        // A run is consistent between any two calls, even after a panic.
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.as_mut().map(|state| change(&mut state.tail))
    }

    /// From now on reads fail; what is in memory is given back.
    pub(super) fn close(&self) {
        drop(self.state.write().unwrap_or_else(PoisonError::into_inner).take());
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The first records of the full segments, in order.
    pub(super) fn closed(&self) -> Vec<Sequence> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let closed = state.as_ref().map(|state| &state.closed);
        closed.into_iter().flatten().map(|closed| closed.first).collect()
    }

    /// Where the segments are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes what is repaired.
    pub(super) fn repairs(&self) -> &Arc<Repairs> {
        &self.repairs
    }

    /// The full segment that holds a record, and the first record of the next segment.
    fn closed_with(&self, record: Sequence) -> Result<Option<(Arc<Closed>, Sequence)>, StoreError> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let state = state.as_ref().ok_or_else(is_closed)?;
        let after = state.closed.partition_point(|closed| closed.first <= record);
        let found = after.checked_sub(1).and_then(|index| state.closed.get(index));
        let next = state.closed.get(after).map_or(state.tail.first, |next| next.first);
        Ok(found.map(|closed| (Arc::clone(closed), next)))
    }

    fn on_run<T>(&self, found: impl FnOnce(&Tail) -> Option<T>) -> Result<Option<T>, StoreError> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let state = state.as_ref().ok_or_else(is_closed)?;
        Ok(found(&state.tail))
    }

    /// The run that holds a record, of the full segment before record `next`. A segment that cannot
    /// be read is mended first, if it can be, and so is one that ends too early: the one after it
    /// is gone.
    fn run(
        &self,
        closed: &Closed,
        record: Sequence,
        next: Sequence,
    ) -> Result<Arc<Run>, StoreError> {
        let whole = |run: Arc<Run>| {
            let what =
                || format!("it ends before record {}, and {next} begins the next", run.next());
            let lacks = run.next() <= record;
            if lacks {
                Err(damaged(&segment(&self.folder, closed.first), &what()))
            } else {
                Ok(run)
            }
        };
        self.run_as_is(closed, record).and_then(whole).or_else(|error| {
            if !error.damaged {
                return Err(error);
            }
            // Another reader may have mended it meanwhile.
            let _turn = self.mending.lock().unwrap_or_else(PoisonError::into_inner);
            self.run_as_is(closed, record).and_then(whole).or_else(|_| {
                self.mend(closed.first, error)?;
                self.run_as_is(closed, record)
            })
        })
    }

    /// Reads all of a full segment, and mends it if that fails.
    pub(super) fn check(&self, first: Sequence) -> Result<(), StoreError> {
        let Some((closed, next)) = self.closed_with(first)? else { return Ok(()) };
        // What is on the disk counts, not what is in memory.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let mut record = first;
        while record < next {
            record = self.run(&closed, record, next)?.next();
        }
        Ok(())
    }

    /// That run, read without mending anything, and kept for a while.
    fn run_as_is(&self, closed: &Closed, record: Sequence) -> Result<Arc<Run>, StoreError> {
        let known =
            |(first, run): &&(Sequence, Arc<Run>)| *first == closed.first && run.holds(record);
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, run)) = recent.iter().find(known) {
            return Ok(Arc::clone(run));
        }
        drop(recent);
        let run = Arc::new(self.read(closed, record)?);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.truncate(RECENT_MAX.saturating_sub(1));
        recent.push_front((closed.first, Arc::clone(&run)));
        Ok(run)
    }

    /// Reads that run from the segment's file, in whichever form it has now.
    fn read(&self, closed: &Closed, record: Sequence) -> Result<Run, StoreError> {
        let path = segment(&self.folder, closed.first);
        let failed = |error: io::Error| file_error(&path, &error);
        let wrong = |what: String| damaged(&path, &what);
        let mut file = File::open(&path).map_err(failed)?;
        let known = closed.places().clone();
        let places = if let Some(places) = known {
            places
        } else {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(failed)?;
            if !bytes.starts_with(&GZIP_MAGIC) {
                let (run, rest) = Run::read(bytes, closed.first);
                let whole = segment::rest(&rest, 0) == Rest::Nothing && !run.bytes().is_empty();
                let what = format!("the block of record {} is not sound", run.next());
                return if whole { Ok(run) } else { Err(wrong(what)) };
            }
            let found = Arc::new(places(&bytes, closed.first).map_err(wrong)?);
            Arc::clone(closed.places().insert(found))
        };
        let after = places.partition_point(|(first, _)| *first <= record);
        let place = places.get(after.saturating_sub(1)).cloned();
        let (first, place) = place.ok_or_else(|| wrong("it holds nothing".to_owned()))?;
        let mut member = vec![0; place.len()];
        let offset = u64::try_from(place.start).unwrap_or(u64::MAX);
        file.read_exact_at(&mut member, offset).map_err(failed)?;
        unpack(&member, first).map_err(|what| wrong(format!("at byte {offset}: {what}")))
    }

    /// Makes a full segment anew from the copy, if what that has fits between its neighbours.
    fn mend(&self, first: Sequence, why: StoreError) -> Result<(), StoreError> {
        let Some(copy) = &self.copy else { return Err(why) };
        let Some((closed, next)) = self.closed_with(first)? else { return Err(why) };
        let before = if first == Head::START.sequence.next() {
            Head::START
        } else {
            self.last_before(first)?.head()
        };
        let after = self.block_of(next).ok().flatten();
        let next = (next, after.map(|block| block.previous()));
        let path = segment(&self.folder, first);
        let mended = copy::mend(&path, &Neighbours { before, first, next }, copy);
        mended.map_err(|error| {
            let StoreError { step, what, .. } = &why;
            StoreError::damage(*step, format_args!("{what}; it cannot be mended: {error}"))
        })?;
        *closed.places() = None;
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.repairs.note(format!("{why}; it was made anew from the copy"));
        Ok(())
    }

    /// The block before a full segment. If the segment before is at fault, too, or gone, it is
    /// mended first.
    fn last_before(&self, first: Sequence) -> Result<Block, StoreError> {
        let earlier = Sequence::new(first.get().saturating_sub(1));
        let error = match self.block_of(earlier) {
            Ok(Some(block)) => return Ok(block),
            Ok(None) => damaged(&self.folder, &format!("nothing holds record {earlier}")),
            Err(error) if error.damaged => error,
            Err(error) => return Err(error),
        };
        let Some((closed, _)) = self.closed_with(earlier)? else { return Err(error) };
        let what = error.to_string();
        self.mend(closed.first, error)?;
        self.block_of(earlier)?.ok_or_else(|| damaged(&self.folder, &what))
    }

    /// The block that holds a record, read without mending anything.
    fn block_of(&self, record: Sequence) -> Result<Option<Block>, StoreError> {
        let stored = match self.on_run(|tail| tail.run.at_or_before(record))? {
            Some(stored) => Some(stored),
            None => match self.closed_with(record)? {
                Some((closed, _)) => self.run_as_is(&closed, record)?.at_or_before(record),
                None => None,
            },
        };
        let block = stored.and_then(|(_, bytes)| RawBlock::new(bytes).decode().ok());
        Ok(block.filter(|block| block.first() <= record && record <= block.last()))
    }

    /// Checks that each of the newest full segments is followed by the next one; one that is not is
    /// mended.
    pub(super) fn check_joints(&self, newest: usize) -> Result<(), StoreError> {
        let closed = self.closed();
        for first in closed.iter().skip(closed.len().saturating_sub(newest)) {
            let Some((segment_of, next)) = self.closed_with(*first)? else { continue };
            // What holds the last record may be at hand: as the block after the segment before.
            let last = self.run(&segment_of, Sequence::new(next.get().saturating_sub(1)), next)?;
            let after = self.block_of(next).ok().flatten();
            let hash = last.blocks().next_back().map(|(_, block)| super::block::hash(block));
            if last.next() != next || after.is_some_and(|after| Some(after.previous()) != hash) {
                let what = format!("it does not lead to record {next}, with which the next begins");
                self.mend(*first, damaged(&segment(&self.folder, *first), &what))?;
            }
        }
        Ok(())
    }

    /// Whether a full segment is in its sealed form.
    pub(super) fn is_sealed(&self, first: Sequence) -> Result<bool, StoreError> {
        let path = segment(&self.folder, first);
        let mut begin = [0; GZIP_MAGIC.len()];
        let read = File::open(&path).and_then(|file| file.read_exact_at(&mut begin, 0));
        read.map_err(|error| file_error(&path, &error))?;
        Ok(begin == GZIP_MAGIC)
    }

    /// The members of a full segment in its sealed form, from a record on; `None` if it is not
    /// sealed.
    pub(super) fn members(
        &self,
        first: Sequence,
        from: Sequence,
    ) -> Result<Option<Vec<Packed>>, StoreError> {
        let path = segment(&self.folder, first);
        let bytes = disk::read(&path).map_err(|error| file_error(&path, &error))?;
        if !bytes.starts_with(&GZIP_MAGIC) {
            return Ok(None);
        }
        let places = places(&bytes, first).map_err(|what| damaged(&path, &what))?;
        let wanted = places.into_iter().filter(|(first, _)| *first >= from);
        let member = |place: Range<usize>| bytes.get(place).unwrap_or_default().to_vec();
        Ok(Some(wanted.map(|(first, place)| (first, member(place))).collect()))
    }
}

impl BlockSource for Log {
    fn at_or_before(&self, record: Sequence) -> Result<Option<Stored>, StoreError> {
        if let Some(block) = self.on_run(|tail| tail.run.at_or_before(record))? {
            return Ok(Some(block));
        }
        let Some((closed, next)) = self.closed_with(record)? else { return Ok(None) };
        // Beyond all records the last one is meant.
        let within = record.min(Sequence::new(next.get().saturating_sub(1)));
        Ok(self.run(&closed, within, next)?.at_or_before(record))
    }

    fn at_or_after(&self, record: Sequence) -> Result<Option<Stored>, StoreError> {
        let record = record.max(Head::START.sequence.next());
        let Some((closed, next)) = self.closed_with(record)? else {
            return self.on_run(|tail| tail.run.at_or_after(record));
        };
        if record < next {
            let run = self.run(&closed, record, next)?;
            if let Some(block) = run.at_or_after(record) {
                return Ok(Some(block));
            }
            // The next run of this segment, if it has one.
            if run.next() < next {
                return Ok(self.run(&closed, run.next(), next)?.at_or_after(record));
            }
        }
        match self.on_run(|tail| (tail.first == next).then(|| tail.run.at_or_after(record)))? {
            Some(block) => Ok(block),
            // It was rolled meanwhile.
            None => self.at_or_after(record.max(next)),
        }
    }
}

fn is_closed() -> StoreError {
    StoreError::new(Step::Read, "the journal is closed")
}

fn reading(path: &Path, error: &io::Error) -> StoreError {
    StoreError::of(Step::Open, format_args!("{}: {error}", path.display()), error)
}

/// The error for a segment's file. One that is gone is damage: a listed segment keeps its name.
fn file_error(path: &Path, error: &io::Error) -> StoreError {
    let failed = StoreError::of(Step::Read, format_args!("{}: {error}", path.display()), error);
    StoreError { damaged: failed.damaged || error.kind() == io::ErrorKind::NotFound, ..failed }
}

fn damaged(path: &Path, what: &str) -> StoreError {
    StoreError::damage(Step::Read, format_args!("{}: {what}", path.display()))
}
