//! The keeper: a thread that does for the log what no answer waits for. It seals full segments,
//! gives the copy what it lacks, and has the next segment ready before it is needed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use super::block::{Head, RawBlock};
use super::copy::{Copy, CopyFolder, chained};
use super::disk::{self, File};
use super::log::{Log, SEGMENT_BYTES, segment, segment_bytes};
use super::segment::{Packed, Run, pack, place, unpack};
use super::store::{BlockSource, Step, StoreError};
use exchange::units::Sequence;

/// The next segment, until it has its name.
const SPARE_FILE: &str = "spare";
/// Zeros written at a time, and synced: the log's own syncs wait for what the disk has to write.
const ZEROS_BYTES: usize = 256 << 10;

/// Segments that the copy is given while the journal is being closed.
const FED_AT_THE_END: usize = 4;

/// What there is to do.
#[derive(Debug)]
enum Work {
    /// Have the next segment ready.
    Spare,
    /// Seal what is full, and give it to the copy.
    Seal,
}

/// The keeper's thread; ends with its work when it is dropped.
#[derive(Debug)]
pub(super) struct Keeper {
    work: Option<Sender<Work>>,
    by: By,
    log: Arc<Log>,
    /// Whether the journal is being closed.
    ending: Arc<AtomicBool>,
}

/// Who does the work.
#[derive(Debug)]
enum By {
    /// A thread, or nobody if there could be none.
    Thread(Option<JoinHandle<()>>),
    /// Whoever asks for the next piece, on a simulated disk.
    Steps(Receiver<Work>, Arc<CopyFolder>),
}

impl Keeper {
    /// Begins with what an earlier process left to do. Without a thread the segments stay open in
    /// form, which only costs room.
    pub(super) fn start(log: &Arc<Log>, copy: &Arc<CopyFolder>) -> Keeper {
        let (sender, work) = channel();
        let ending = Arc::new(AtomicBool::new(false));
        let (ours, copy, ends) = (Arc::clone(log), Arc::clone(copy), Arc::clone(&ending));
        let by = if disk::simulated() {
            By::Steps(work, copy)
        } else {
            let run = move || {
                while let Ok(work) = work.recv() {
                    done(&ours, &copy, &ends, &work);
                }
            };
            By::Thread(Builder::new().name("keeper".to_owned()).spawn(run).ok())
        };
        let keeper = Keeper { work: Some(sender), by, log: Arc::clone(log), ending };
        if !log.closed().is_empty() {
            keeper.seal();
        }
        keeper
    }

    /// The open segment will soon be full.
    pub(super) fn prepare(&self) {
        self.ask(Work::Spare);
    }

    /// A segment is full.
    pub(super) fn seal(&self) {
        self.ask(Work::Seal);
    }

    fn ask(&self, work: Work) {
        // If the thread is gone, the next start does it.
        if let Some(sender) = &self.work {
            drop(sender.send(work));
        }
    }

    /// Makes the next segment, which begins with a record, of the spare if that is ready.
    pub(super) fn next_segment(&self, first: Sequence) -> io::Result<File> {
        let (spare, path) = (spare_of(&self.log), segment(self.log.folder(), first));
        if disk::exists(&spare) {
            disk::rename(&spare, &path)?;
            File::open(self.log.folder())?.sync_all()?;
            return File::options().read(true).write(true).open(&path);
        }
        empty_segment(&path)
    }

    /// Ends the thread, once it has done what it was asked for, a long feeding of the copy apart.
    pub(super) fn end(&mut self) {
        self.ending.store(true, Ordering::Release);
        drop(self.work.take());
        while self.step() {}
        if let By::Thread(thread) = &mut self.by {
            // A panic was printed where it happened; the next start does what is left.
            drop(thread.take().map(JoinHandle::join));
        }
    }

    /// Does the next piece of work, unless a thread does; whether there was one.
    pub(super) fn step(&self) -> bool {
        let By::Steps(waiting, copy) = &self.by else { return false };
        let next = waiting.try_recv();
        next.is_ok_and(|work| {
            done(&self.log, copy, &self.ending, &work);
            true
        })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

/// Makes an open segment without blocks.
pub(super) fn empty_segment(path: &Path) -> io::Result<File> {
    // Not a constant, which the program would carry.
    let zeros = vec![0; ZEROS_BYTES.min(segment_bytes())];
    place(path, std::iter::repeat_n(zeros.as_slice(), segment_bytes() / zeros.len()))
}

const _: () = assert!(SEGMENT_BYTES.is_multiple_of(ZEROS_BYTES));

fn spare_of(log: &Log) -> PathBuf {
    log.folder().join(SPARE_FILE)
}

fn done(log: &Log, copy: &CopyFolder, ending: &AtomicBool, work: &Work) {
    let done = match work {
        Work::Spare => spare(log).map_err(|error| StoreError::of(Step::Put, &error, &error)),
        Work::Seal => seal(log).and_then(|()| feed_or_remake(log, copy, ending)),
    };
    if let Err(error) = done {
        log.repairs().trouble(format!("the log was not tidied up, and will be: {error}"));
    }
}

fn spare(log: &Log) -> io::Result<()> {
    let path = spare_of(log);
    if disk::exists(&path) { Ok(()) } else { empty_segment(&path).map(drop) }
}

/// Seals the full segments that are in their open form: the newest ones.
fn seal(log: &Log) -> Result<(), StoreError> {
    let closed = log.closed();
    let mut open = Vec::new();
    for first in closed.iter().rev() {
        if log.is_sealed(*first)? {
            break;
        }
        open.push(*first);
    }
    for first in open.into_iter().rev() {
        let path = segment(log.folder(), first);
        let failed = |error: io::Error| StoreError::of(Step::Put, &error, &error);
        let (run, _) = Run::read(disk::read(&path).map_err(failed)?, first);
        let next = closed.iter().find(|closed| **closed > first).copied();
        if run.next() != next.unwrap_or(log.tail().0) {
            return Err(StoreError::damage(Step::Read, format_args!("{}", path.display())));
        }
        let members = pack(&run).map_err(failed)?;
        // What replaces the blocks is what they were.
        let begin = run.blocks().next().map(|(_, block)| RawBlock::new(block.to_vec()).decode());
        let after = begin.and_then(Result::ok).map_or(Head::START, |begin| begin.built_after());
        chained(&members, after)?;
        place(&path, members.iter().map(|(_, member)| member.as_slice())).map_err(failed)?;
    }
    Ok(())
}

/// Gives the copy what it lacks; a copy that fails or contradicts the log is made anew.
fn feed_or_remake(log: &Log, copy: &CopyFolder, ending: &AtomicBool) -> Result<(), StoreError> {
    let last = log.closed().last().copied();
    if last.is_none() || copy.exists() && copy.fed() == last {
        return Ok(());
    }
    if !copy.exists() {
        copy.forget()?;
    }
    // A fault of the log is not the copy's: it is mended from what that has.
    let noted = copy.fed();
    for first in log.closed().into_iter().filter(|first| noted.is_none_or(|fed| fed <= *first)) {
        if ending.load(Ordering::Acquire) {
            break;
        }
        log.check(first)?;
    }
    let give = || {
        let given = copy.with(|open| feed(log, open, ending)).and_then(|fed| copy.note_fed(fed));
        // What a failed sync lost is still to be seen, and the next one says nothing: it would be
        // noted as fed.
        let unsynced =
            |error: &StoreError| error.damaged && matches!(error.step, Step::Put | Step::Flush);
        if given.as_ref().is_err_and(|error| !error.by_system || unsynced(error)) {
            copy.set_aside().map_err(|error| StoreError::of(Step::Remove, &error, &error))?;
        }
        given
    };
    match give() {
        Err(failed) if !failed.by_system => {
            let path = copy.path().display();
            let what = format!("{path}, the log's copy, was moved aside and made anew: {failed}");
            log.repairs().note(what);
            give()
        }
        given => given,
    }
}

/// Gives the copy the sealed members after its last; returns the last segment of which it has all.
fn feed(log: &Log, copy: &Copy, ending: &AtomicBool) -> Result<Option<Sequence>, StoreError> {
    let closed = log.closed();
    let mut from = Sequence::ZERO;
    if let Some((first, member)) = copy.last()? {
        let after = closed.partition_point(|closed| *closed <= first);
        let holding = after.checked_sub(1).and_then(|index| closed.get(index));
        let ours = holding.map(|holding| log.members(*holding, first)).transpose()?.flatten();
        let same = |ours: &Vec<Packed>| ours.first().is_some_and(|ours| *ours == (first, member));
        if !ours.as_ref().is_some_and(same) {
            let what = format_args!("its last blocks, of record {first}, are not the log's");
            return Err(StoreError::damage(Step::Read, what));
        }
        from = first.next();
    }
    let holding = closed.partition_point(|closed| *closed <= from).saturating_sub(1);
    let mut fed = None;
    for (count, first) in closed.iter().skip(holding).enumerate() {
        let enough = count >= FED_AT_THE_END && ending.load(Ordering::Acquire);
        let Some(members) = log.members(*first, from)?.filter(|_| !enough) else { break };
        for (first, member) in &members {
            copy.put(*first, member)?;
        }
        copy.flush()?;
        fed = Some(*first);
    }
    Ok(fed)
}

/// Gives the log what only the copy has: full segments in the place of an open one that lacks them.
/// Returns whether there were any.
pub(super) fn take_back(log: &Log, copy: &CopyFolder) -> Result<bool, StoreError> {
    if !copy.exists() {
        return Ok(false);
    }
    let (first, _) = log.tail();
    // Not opened in vain: sled takes room each time.
    if copy.fed().is_some_and(|fed| fed < first) {
        return Ok(false);
    }
    let members = copy.with(|copy| copy.range(first, Sequence::new(u64::MAX)))?;
    if members.first().is_none_or(|(begins, _)| *begins != first) {
        return Ok(false);
    }
    let before = match log.at_or_before(Sequence::new(first.get().saturating_sub(1)))? {
        Some((_, bytes)) => RawBlock::new(bytes).decode().map(|block| block.head()).ok(),
        None => None,
    };
    let end = chained(&members, before.unwrap_or(Head::START))?;
    let mut theirs = Vec::new();
    for (first, member) in &members {
        let run = unpack(member, *first).map_err(|what| StoreError::damage(Step::Read, what))?;
        theirs.extend_from_slice(run.bytes());
    }
    if !theirs.starts_with(&log.tail_blocks()) {
        return Err(StoreError::damage(Step::Read, "its blocks are not the open segment's"));
    }
    let ours = log.next();
    let failed = |error: io::Error| StoreError::of(Step::Put, &error, &error);
    // The successor first: a sealed segment always has one.
    empty_segment(&segment(log.folder(), end.sequence.next())).map_err(failed)?;
    place(&segment(log.folder(), first), members.iter().map(|(_, member)| member.as_slice()))
        .map_err(failed)?;
    log.repairs().note(format!(
        "the records from {ours} to {} were in the copy only, and were put back into the log",
        end.sequence
    ));
    Ok(true)
}
