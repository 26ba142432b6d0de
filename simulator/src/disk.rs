//! The simulated disk. It keeps what was synced; of everything else a loss of power keeps what
//! chance says: all, nothing, the beginning, or sectors here and there. The power may go in the
//! middle of any operation; from then on each one fails, and what it would have done is not done.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path};

use journal::disk::mounted::{Metadata, ROOT};
use parking_lot::{Mutex, MutexGuard};

use crate::chance::Chance;

mod hands;
mod mounted;
mod power;

pub use mounted::Mounted;

/// Bytes of a segment: some hundred commands, so that a run fills many.
const SEGMENT_BYTES: usize = 64 << 10;
/// Of operations soon after one that failed, one in so many fails too.
const FAILING_ONE_IN: u64 = 3;
/// The system's numbers of errors.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// What is written to a file and not synced.
#[derive(Debug, Clone)]
enum Unsynced {
    Bytes { at: usize, bytes: Vec<u8> },
    Length(usize),
}

impl Unsynced {
    fn reach(self, file: &mut Vec<u8>) {
        match self {
            Unsynced::Bytes { at, bytes } => put(file, at, &bytes),
            Unsynced::Length(length) => file.resize(length, 0),
        }
    }
}

/// What is named in a folder and not synced.
#[derive(Debug, Clone)]
enum Renamed {
    Name(String, usize),
    Moved(String, String),
    Gone(String),
}

impl Renamed {
    fn happen(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Renamed::Name(name, node) => drop(names.insert(name.clone(), *node)),
            Renamed::Moved(from, to) => {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
            }
            Renamed::Gone(name) => drop(names.remove(name)),
        }
    }
}

/// A file or a folder, as programs see it and as the disk has it.
#[derive(Debug, Clone)]
enum Node {
    File {
        live: Vec<u8>,
        synced: Vec<u8>,
        unsynced: Vec<Unsynced>,
        /// Whether a failed sync left more to see than is on the disk.
        forgot: bool,
        links: u64,
        locked: bool,
    },
    Folder {
        live: BTreeMap<String, usize>,
        synced: BTreeMap<String, usize>,
        unsynced: Vec<Renamed>,
        locked: bool,
    },
}

/// How often what goes wrong; zero is never.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// One write in so many fails.
    pub write_fails: u64,
    /// One sync in so many fails; what was to be synced is forgotten, or parts of it, and the next
    /// one says nothing.
    pub sync_fails: u64,
    /// One read in so many returns less than it could.
    pub short_reads: u64,
    /// In how many operations after one that failed others may fail soon, at most.
    pub in_a_row: u64,
    /// Whether a failure stays until the machine starts again.
    pub for_good: bool,
}

/// How many of each operation were done, and what went wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Operations that change something.
    pub changes: u64,
    /// Syncs.
    pub syncs: u64,
    /// Failures that were made.
    pub failures: u64,
    /// Writes refused since there is no room.
    pub full: u64,
}

#[derive(Debug)]
struct State {
    nodes: Vec<Node>,
    chance: Chance,
    faults: Faults,
    counts: Counts,
    on: bool,
    /// At which change the power goes.
    cut_at: Option<u64>,
    /// Whether a failure for good has come.
    broken: bool,
    /// Of how many operations more, of those that may fail, one in [`FAILING_ONE_IN`] does.
    failing: u64,
    /// Where, if it is one file.
    ailing: Option<usize>,
    /// Whether there is no room for more.
    full: bool,
    /// How often the machine has started: handles from before are void.
    boots: u64,
    /// The newest operations, for a failure's report.
    trace: Option<Vec<String>>,
}

/// What is on a disk.
#[derive(Debug)]
pub struct Image(Vec<Node>);

/// A simulated disk.
#[derive(Debug)]
pub struct Disk(Mutex<State>);

fn failed(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

fn names(path: &Path) -> impl DoubleEndedIterator<Item = String> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    parts.collect::<Vec<_>>().into_iter()
}

fn put(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    let end = at.saturating_add(new.len());
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    if let Some(place) = bytes.get_mut(at..end) {
        place.copy_from_slice(new);
    }
}

fn folder() -> Node {
    let (live, synced) = (BTreeMap::new(), BTreeMap::new());
    Node::Folder { live, synced, unsynced: Vec::new(), locked: false }
}

impl Disk {
    /// An empty disk.
    pub fn new(chance: Chance) -> Disk {
        let root = BTreeMap::from([(ROOT.trim_start_matches('/').to_owned(), 1)]);
        let (live, synced) = (root.clone(), root);
        let root = Node::Folder { live, synced, unsynced: Vec::new(), locked: false };
        Disk(Mutex::new(State {
            nodes: vec![root, folder()],
            chance,
            faults: Faults::default(),
            counts: Counts::default(),
            on: true,
            cut_at: None,
            broken: false,
            failing: 0,
            ailing: None,
            full: false,
            boots: 0,
            trace: None,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Lets the power go in the middle of a change to come.
    pub fn cut_in(&self, changes: u64) {
        let mut state = self.state();
        state.cut_at = Some(state.counts.changes.saturating_add(changes));
    }

    /// The power goes now.
    pub fn cut(&self) {
        self.state().on = false;
    }

    /// The power stays.
    pub fn cut_never(&self) {
        self.state().cut_at = None;
    }

    /// From where what happens by chance is drawn from now on.
    pub fn draw_from(&self, chance: Chance) {
        self.state().chance = chance;
    }

    /// Whether the power is there.
    pub fn is_on(&self) -> bool {
        self.state().on
    }

    /// What goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        let mut state = self.state();
        (state.faults, state.broken, state.failing) = (faults, false, 0);
    }

    /// Whether there is room for more.
    pub fn set_full(&self, full: bool) {
        self.state().full = full;
    }

    /// What was done.
    pub fn counts(&self) -> Counts {
        self.state().counts
    }

    /// Keeps the names of the operations from now on.
    pub fn trace(&self) {
        self.state().trace = Some(Vec::new());
    }

    /// Takes those kept.
    pub fn traced(&self) -> Vec<String> {
        self.state().trace.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The machine starts again: what was not synced is lost, as chance says.
    pub fn boot(&self) {
        let mut state = self.state();
        let mut chance = state.chance.split();
        let mood = chance.below(4);
        for node in &mut state.nodes {
            power::lose(node, mood, &mut chance);
        }
        state.count_links();
        (state.on, state.cut_at, state.broken, state.failing) = (true, None, false, 0);
        state.boots = state.boots.saturating_add(1);
    }
}

/// What becomes of a change.
enum Fate {
    Done,
    /// The power goes in the middle of it.
    Cut,
}

impl State {
    fn find(&self, path: &Path) -> io::Result<usize> {
        let mut place = 0;
        for name in names(path) {
            let Some(Node::Folder { live, .. }) = self.nodes.get(place) else {
                return Err(io::ErrorKind::NotADirectory.into());
            };
            place = *live.get(&name).ok_or(io::ErrorKind::NotFound)?;
        }
        Ok(place)
    }

    fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(what());
        }
    }

    /// How many names each file has after a loss of power.
    fn count_links(&mut self) {
        let named = self.nodes.iter().filter_map(|node| match node {
            Node::Folder { live, .. } => Some(live.values().copied().collect::<Vec<_>>()),
            Node::File { .. } => None,
        });
        let named: Vec<usize> = named.flatten().collect();
        for node in &mut self.nodes {
            if let Node::File { links, .. } = node {
                *links = 0;
            }
        }
        for place in named {
            if let Some(Node::File { links, .. }) = self.nodes.get_mut(place) {
                *links = links.saturating_add(1);
            }
        }
        // Nobody has a file open any more that has no name.
        for node in &mut self.nodes {
            if let Node::File { links: 0, live, synced, .. } = node {
                (*live, *synced) = (Vec::new(), Vec::new());
            }
        }
    }

    fn unlock(&mut self) {
        for node in &mut self.nodes {
            let (Node::File { locked, .. } | Node::Folder { locked, .. }) = node;
            *locked = false;
        }
    }

    fn alive(&self) -> io::Result<()> {
        if self.on { Ok(()) } else { Err(failed(EIO)) }
    }

    fn change(&mut self) -> io::Result<Fate> {
        self.alive()?;
        self.counts.changes = self.counts.changes.saturating_add(1);
        if self.cut_at.is_some_and(|at| at <= self.counts.changes) {
            self.on = false;
            return Ok(Fate::Cut);
        }
        Ok(Fate::Done)
    }

    /// Whether something fails that does so once in so many times.
    fn fails(&mut self, one_in: u64, node: usize) -> bool {
        if one_in == 0 {
            return false;
        }
        let again = self.failing > 0 && self.ailing.is_none_or(|ailing| ailing == node);
        let often = if again { FAILING_ONE_IN } else { one_in };
        let fails = self.broken || self.chance.one_in(often);
        self.failing = self.failing.saturating_sub(again.into());
        if fails {
            self.counts.failures = self.counts.failures.saturating_add(1);
            self.broken |= self.faults.for_good;
        }
        if fails && !again {
            self.failing = self.chance.within(0, self.faults.in_a_row);
            self.ailing = self.chance.one_in(2).then_some(node);
        }
        fails
    }

    /// Changes names in a folder.
    fn name(&mut self, parent: usize, change: Renamed) -> io::Result<()> {
        let fate = self.change()?;
        let Some(Node::Folder { live, unsynced, .. }) = self.nodes.get_mut(parent) else {
            return Err(io::ErrorKind::NotADirectory.into());
        };
        change.happen(live);
        unsynced.push(change);
        if matches!(fate, Fate::Cut) { Err(failed(EIO)) } else { Ok(()) }
    }

    fn parent(&self, path: &Path) -> io::Result<(usize, String)> {
        let parent = self.find(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        let name = names(path).next_back().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((parent, name))
    }

    fn make(&mut self, path: &Path, node: Node) -> io::Result<usize> {
        let (parent, name) = self.parent(path)?;
        if self.full {
            self.counts.full = self.counts.full.saturating_add(1);
            return Err(failed(ENOSPC));
        }
        let place = self.nodes.len();
        self.nodes.push(node);
        self.name(parent, Renamed::Name(name, place))?;
        Ok(place)
    }

    fn write(&mut self, node: usize, bytes: &[u8], at: u64) -> io::Result<usize> {
        let fate = self.change()?;
        if self.fails(self.faults.write_fails, node) {
            return Err(failed(EIO));
        }
        let at = usize::try_from(at).map_err(|_| io::ErrorKind::InvalidInput)?;
        let full = self.full;
        let Some(Node::File { live, unsynced, .. }) = self.nodes.get_mut(node) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        if full && at.saturating_add(bytes.len()) > live.len() {
            self.counts.full = self.counts.full.saturating_add(1);
            return Err(failed(ENOSPC));
        }
        put(live, at, bytes);
        unsynced.push(Unsynced::Bytes { at, bytes: bytes.to_vec() });
        if matches!(fate, Fate::Cut) { Err(failed(EIO)) } else { Ok(bytes.len()) }
    }

    fn set_len(&mut self, node: usize, length: u64) -> io::Result<()> {
        let fate = self.change()?;
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
        let Some(Node::File { live, unsynced, .. }) = self.nodes.get_mut(node) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        if length != live.len() {
            live.resize(length, 0);
            unsynced.push(Unsynced::Length(length));
        }
        if matches!(fate, Fate::Cut) { Err(failed(EIO)) } else { Ok(()) }
    }

    fn sync(&mut self, node: usize) -> io::Result<()> {
        let fate = self.change()?;
        self.counts.syncs = self.counts.syncs.saturating_add(1);
        let fails = self.fails(self.faults.sync_fails, node);
        match self.nodes.get_mut(node) {
            Some(Node::File { synced, unsynced, forgot, .. }) => {
                if fails {
                    // Some of it may be on the disk; the system believes from now on that all is.
                    let one_in = self.chance.of_all(&[0, 1, 2], 0);
                    for change in unsynced.drain(..) {
                        if self.chance.one_in(one_in) {
                            change.reach(synced);
                        }
                    }
                    *forgot = true;
                }
                if !fails && matches!(fate, Fate::Done) {
                    unsynced.drain(..).for_each(|change| change.reach(synced));
                }
            }
            Some(Node::Folder { synced, unsynced, .. }) => {
                if !fails && matches!(fate, Fate::Done) {
                    unsynced.drain(..).for_each(|change| change.happen(synced));
                }
            }
            None => return Err(io::ErrorKind::NotFound.into()),
        }
        if fails || matches!(fate, Fate::Cut) { Err(failed(EIO)) } else { Ok(()) }
    }

    fn told(&self, place: usize) -> io::Result<Metadata> {
        self.alive()?;
        let identity = (1, u64::try_from(place).unwrap_or(u64::MAX));
        match self.nodes.get(place) {
            Some(Node::File { live, links, .. }) => {
                let length = u64::try_from(live.len()).unwrap_or(u64::MAX);
                Ok(Metadata { folder: false, length, identity, links: *links })
            }
            Some(Node::Folder { .. }) => {
                Ok(Metadata { folder: true, length: 0, identity, links: 1 })
            }
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/simulator/disk.rs"]
mod tests;
