//! The archive in a bucket: the product's own archiver over a store that is a map. On the way to it
//! requests and answers are lost, come late or meet a server that refuses.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::archiver::{ArchiveBoard, Archiver};
use engine::background::{End, Stepped, ending};
use engine::clock::Clock;
use engine::shelf::{Shelf, ShelfNames};
use exchange::units::Sequence;
use journal::Durable;
use journal::archive::{ArchiveError, blocks_in, segment_name};
use journal::block::{Block, Head};
use journal::disk;
use journal::disk::mounted::ROOT;
use journal::portable::PortableFile;
use journal::reader::JournalReader;
use parking_lot::{Mutex, MutexGuard};
use s3::{BucketArchive, Made, Objects};

use crate::chance::Chance;
use crate::disk::Disk;

/// What it is called in messages.
const URL: &str = "s3://archive";
/// Simulated time between two looks whether all objects are there: hours of it seldom pass.
const LISTED_EVERY: Duration = Duration::from_secs(1);
/// Requests refused by a store that is away, at most.
const AWAY_MAX: u64 = 20;

/// All that a bucket may meet.
pub const MARKS: [&str; 11] =
    [LOST, UNHEARD, LATE, REFUSED, AWAY, CUT, TAKEN_OVER, STRANGER, DELETED, DAMAGED, BACK];
const LOST: &str = "bucket: a request was lost";
const UNHEARD: &str = "bucket: an answer was lost";
const LATE: &str = "bucket: an object came late";
const REFUSED: &str = "bucket: a request was refused";
const AWAY: &str = "bucket: the store was away";
const CUT: &str = "bucket: the power went during a request";
const TAKEN_OVER: &str = "bucket: an object was there already";
/// Another's object was not taken over.
pub const STRANGER: &str = "bucket: another's object was refused";
/// A deleted object was named.
pub const DELETED: &str = "bucket: a deleted object was named";
/// A damaged object was named at a start.
pub const DAMAGED: &str = "bucket: a damaged object was named";
/// A healthy store has all again.
pub const BACK: &str = "bucket: it was whole again";

/// Objects by their names.
pub type All = BTreeMap<String, Bytes>;

#[derive(Debug)]
struct State {
    objects: All,
    /// Objects on their way whose senders do not wait any more.
    late: Vec<(String, Bytes)>,
    chance: Chance,
    /// One request in so many goes wrong; none if zero.
    fails: u64,
    /// Requests that are still refused.
    away: u64,
    marks: Vec<&'static str>,
}

/// A store, and the machine that asks it. Clones share it.
#[derive(Debug, Clone)]
pub struct Bucket {
    state: Arc<Mutex<State>>,
    disk: Arc<Disk>,
    /// Whether the machine may lose its power while it waits for an answer.
    cuts: bool,
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    Lost,
    /// It is done, and nobody hears of it.
    Unheard,
    /// It is done later.
    Late,
}

impl Bucket {
    /// An empty one.
    pub fn new(disk: Arc<Disk>, cuts: bool) -> Bucket {
        let (objects, late, marks) = (BTreeMap::new(), Vec::new(), Vec::new());
        let state = State { objects, late, chance: Chance::of(0), fails: 0, away: 0, marks };
        Bucket { state: Arc::new(Mutex::new(state)), disk, cuts }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// From where what happens by chance is drawn from now on.
    pub fn draw_from(&self, chance: Chance) {
        self.state().chance = chance;
    }

    /// One request in so many goes wrong from now on; with zero the store is there, too.
    pub fn set_fails(&self, fails: u64) {
        let mut state = self.state();
        (state.fails, state.away) = (fails, if fails == 0 { 0 } else { state.away });
    }

    /// What was met since the last time.
    pub fn marks(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state().marks)
    }

    /// What is on its way comes.
    pub fn settle(&self) {
        let mut state = self.state();
        while state.arrive() {}
    }

    /// What is in it.
    pub fn objects(&self) -> All {
        self.state().objects.clone()
    }

    /// Somebody else changes what is in it.
    pub fn set(&self, objects: All) {
        self.state().objects = objects;
    }

    /// An archiver of this journal, as the server has one.
    ///
    /// # Errors
    /// What a start is refused with.
    pub fn archiver(
        &self,
        journal: &JournalReader,
        clock: Arc<Clock>,
    ) -> Result<BucketArchiver, ArchiveError> {
        let archive = BucketArchive::open(URL, Box::new(self.clone()), journal.clone())?;
        let board = Arc::new(ArchiveBoard::new(archive.head().sequence, journal.clone()));
        let (end, ending) = ending();
        let shelf = Box::new(Listed(archive));
        let archiver = Archiver::new(shelf, journal.clone(), Arc::clone(&board), ending, clock);
        Ok(BucketArchiver { archiver, board, _end: end })
    }

    /// A request reaches the store, or not.
    fn ask(&self) -> io::Result<(MutexGuard<'_, State>, Fate)> {
        let mut state = self.state();
        if !self.disk.is_on() {
            return Err(unanswered());
        }
        if state.chance.one_in(2) {
            state.arrive();
        }
        if state.away > 0 {
            state.away -= 1;
            return Err(state.refusal());
        }
        let fails = state.fails;
        if !state.chance.one_in(fails) {
            return Ok((state, Fate::Answered));
        }
        let fate = match state.chance.below(8) {
            0 => Fate::Lost,
            1 => return Err(state.refusal()),
            2 => {
                state.away = state.chance.within(1, AWAY_MAX);
                state.marks.push(AWAY);
                return Err(state.refusal());
            }
            3..=4 => Fate::Late,
            5 if self.cuts => {
                self.disk.cut();
                state.marks.push(CUT);
                state.chance.of_all(&[Fate::Lost, Fate::Unheard, Fate::Late], Fate::Lost)
            }
            _ => Fate::Unheard,
        };
        Ok((state, fate))
    }

    /// A request that changes nothing: whether it or its answer is lost is the same.
    fn look<T>(&self, look: impl FnOnce(&All) -> T) -> io::Result<T> {
        let (mut state, fate) = self.ask()?;
        if fate == Fate::Answered {
            return Ok(look(&state.objects));
        }
        state.marks.push(LOST);
        Err(unanswered())
    }
}

impl State {
    /// The first of what is on its way comes; whether there was something.
    fn arrive(&mut self) -> bool {
        if self.late.is_empty() {
            return false;
        }
        let (name, bytes) = self.late.remove(0);
        if self.made(&name, bytes) == Made::New {
            self.marks.push(LATE);
        }
        true
    }

    fn made(&mut self, name: &str, bytes: Bytes) -> Made {
        if self.objects.contains_key(name) {
            return Made::Exists;
        }
        self.objects.insert(name.to_owned(), bytes);
        Made::New
    }

    fn refusal(&mut self) -> io::Error {
        self.marks.push(REFUSED);
        io::Error::other("the store answered 503 Service Unavailable")
    }
}

fn unanswered() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer")
}

impl Objects for Bucket {
    fn list(&mut self) -> io::Result<Vec<String>> {
        self.look(|objects| objects.keys().cloned().collect())
    }

    fn read(&mut self, name: &str) -> io::Result<Bytes> {
        let found = self.look(|objects| objects.get(name).cloned())?;
        found.ok_or_else(|| io::Error::other("the store answered 404 Not Found"))
    }

    fn make(&mut self, name: &str, bytes: Bytes) -> io::Result<Made> {
        let (mut state, fate) = self.ask()?;
        match fate {
            Fate::Answered => {
                let made = state.made(name, bytes);
                if made == Made::Exists {
                    state.marks.push(TAKEN_OVER);
                }
                return Ok(made);
            }
            Fate::Lost => state.marks.push(LOST),
            Fate::Unheard => {
                state.made(name, bytes);
                state.marks.push(UNHEARD);
            }
            Fate::Late => state.late.push((name.to_owned(), bytes)),
        }
        Err(unanswered())
    }
}

/// The archive, which looks more often whether all is there.
#[derive(Debug)]
struct Listed(BucketArchive);

impl Shelf for Listed {
    fn head(&self) -> &Head {
        self.0.head()
    }

    fn check(&mut self, all: bool) -> Result<(), ArchiveError> {
        self.0.check(all)
    }

    fn append(&mut self, blocks: &[Durable<Block>]) -> io::Result<()> {
        self.0.append(blocks)
    }

    fn every(&self) -> Duration {
        self.0.every()
    }

    fn check_all_every(&self) -> Duration {
        LISTED_EVERY
    }

    fn bears_loss(&self) -> bool {
        self.0.bears_loss()
    }

    fn names(&self) -> &'static ShelfNames {
        self.0.names()
    }
}

/// An archiver, and what it says of itself.
pub struct BucketArchiver {
    archiver: Archiver,
    /// Its progress.
    pub board: Arc<ArchiveBoard>,
    _end: End,
}

impl BucketArchiver {
    /// Copies what is new; whether that went well.
    pub fn step(&mut self) -> bool {
        self.archiver.step();
        !self.board.is_failing()
    }
}

/// Compares objects with the journal: each has the name of its first record, and together they are
/// the journal up to the record that is returned, with how many there are. So many were compared
/// before, up to that record.
///
/// # Errors
/// What differs.
pub fn same(
    objects: &All,
    journal: &JournalReader,
    (before, mut last): (usize, Sequence),
) -> Result<(usize, Sequence), String> {
    let mut journaled = journal.read(last.next());
    for (name, bytes) in objects.iter().skip(before) {
        if *name != segment_name(last.next()) {
            return Err(format!("BUCKET: record {} is next, and an object {name}", last.next()));
        }
        let blocks = blocks_in(bytes, Path::new(name)).map_err(|error| format!("BUCKET: {error}"));
        for block in blocks? {
            let ours = journaled.next().and_then(Result::ok);
            if ours.is_none_or(|ours| ours.hash() != block.hash()) {
                return Err(format!("BUCKET: the block of record {} is another", block.first()));
            }
            last = block.last();
        }
    }
    Ok((objects.len(), last))
}

/// Whether two objects are both sound and hold the same blocks.
pub fn same_blocks(one: &Bytes, other: &Bytes) -> bool {
    let blocks = |bytes: &Bytes| blocks_in(bytes, Path::new(URL)).ok();
    blocks(one).zip(blocks(other)).is_some_and(|(one, other)| one == other)
}

/// Copies the objects into a folder, as an operator does, and reads it as an auditor does: up to
/// which record it verifies, and why not further.
pub fn audited(objects: &All) -> (Sequence, Option<String>) {
    let folder = Path::new(ROOT).join("fetched");
    let copied = || {
        if disk::exists(&folder) {
            disk::remove_dir_all(&folder)?;
        }
        disk::create_dir_all(&folder)?;
        objects.iter().try_for_each(|(name, bytes)| disk::write(folder.join(name), bytes))?;
        PortableFile::open(&folder)
    };
    let mut last = Sequence::ZERO;
    let blocks = match copied() {
        Ok(blocks) => blocks,
        Err(error) => return (last, Some(error.to_string())),
    };
    for block in blocks {
        match block {
            Ok(block) => last = block.last(),
            Err(error) => return (last, Some(error.to_string())),
        }
    }
    (last, None)
}
