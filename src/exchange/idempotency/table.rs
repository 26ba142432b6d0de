//! The names that may still count, in the order of their expiry checks. Clients give millions of
//! them, so one takes 56 bytes, and some eight in the index.

use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use smallvec::{SmallVec, smallvec};

use crate::ids::UserNo;
use crate::invariant::Broken;
use crate::units::{Sequence, TimeMs};

/// Slots of a chunk: memory grows and shrinks by this many.
const CHUNK: usize = 1024;
/// Initial capacity of a chunk.
const FIRST_CAPACITY: usize = 16;
/// Parts of the index, by a name's first byte: one grows at a time, so that none takes long.
const INDEX_PARTS: usize = 256;
/// The owner of a reused name's earlier slot in a table that was read.
const NOBODY: UserNo = UserNo(u32::MAX);

/// The first half of a SHA-256: collisions cannot be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    pub(super) fn of(hash: Sha256) -> Fingerprint {
        let bytes: [u8; 32] = hash.finalize().into();
        Fingerprint(bytes.first_chunk().copied().unwrap_or_default())
    }
}

/// What is remembered of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameEntry {
    /// The user who gave it.
    pub user: UserNo,
    /// What was requested with it.
    pub body: Fingerprint,
    /// First moment at which it is no longer valid, unless its order still rests.
    pub until: TimeMs,
    /// The records that executed the request, by part. Only batches have several.
    pub firsts: SmallVec<[(u8, Sequence); 1]>,
    /// Whether it is a client order id.
    pub order: bool,
}

impl NameEntry {
    fn count(&self) -> u32 {
        u32::try_from(self.firsts.len()).unwrap_or(u32::MAX)
    }

    /// The record that executed the request, or its first part.
    pub fn first(&self) -> (u8, Sequence) {
        self.firsts.first().copied().unwrap_or_default()
    }
}

/// A name, as it is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub name: Fingerprint,
    body: Fingerprint,
    /// The first record with the name.
    pub first: Sequence,
    /// When it is checked for expiry: the milliseconds, which are below 2^48.
    at: [u8; 6],
    part: u8,
    kind: Kind,
    user: UserNo,
    /// The position of the user's next slot.
    next: u32,
}

const _: () = assert!(size_of::<Slot>() == 56);

/// What a slot stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Order,
    Key,
    /// A name that was given again since: the other slot is its.
    Stale,
}

impl Slot {
    pub fn at(&self) -> TimeMs {
        let mut bytes = [0; 8];
        if let Some(low) = bytes.first_chunk_mut() {
            *low = self.at;
        }
        TimeMs::new(i64::from_le_bytes(bytes)).unwrap_or(TimeMs::MAX)
    }

    fn set_at(&mut self, at: TimeMs) {
        if let Some(low) = at.get().to_le_bytes().first_chunk() {
            self.at = *low;
        }
    }

    pub fn is_stale(&self) -> bool {
        self.kind == Kind::Stale
    }
}

/// A user's names.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// How many, parts of keys included.
    names: u32,
    /// How many slots, and the positions of the first and the last.
    slots: u32,
    head: u32,
    tail: u32,
}

/// All names that may still be valid.
#[derive(Debug, Clone, Default)]
pub struct IdempotencyTable {
    /// In order of their checks; all chunks are full but the last.
    chunks: VecDeque<Vec<Slot>>,
    /// Slots of the first chunk that are gone.
    gone: usize,
    /// The position of the first slot: positions go on, modulo 2^32.
    base: u32,
    /// Positions by name; empty while there is none. Never iterated. Clients choose the names:
    /// those that collide cost a look-up a step for sixteen.
    index: Vec<HashTable<u32>>,
    /// The ends of names that are kept longer, since their orders rest.
    prolonged: BTreeMap<Fingerprint, TimeMs>,
    /// The further parts of keys.
    parts: BTreeMap<Fingerprint, Vec<(u8, Sequence)>>,
    /// Looked up, never iterated.
    users: FxHashMap<UserNo, Held>,
    /// The number of all names.
    count: u64,
}

impl IdempotencyTable {
    /// Every name has one slot that the index knows, in order of time, and the counts are right.
    pub(crate) fn check(&self) -> Result<(), Broken> {
        let sorted = self.slots().zip(self.slots().skip(1)).all(|(a, b)| a.at() <= b.at());
        let (mut held, mut all): (FxHashMap<UserNo, u32>, u64) = Default::default();
        let mut found = true;
        for (index, slot) in self.slots().enumerate().filter(|(_, slot)| !slot.is_stale()) {
            let entry = self.entry(slot);
            let names = held.entry(slot.user).or_default();
            *names = names.saturating_add(entry.count());
            all = all.saturating_add(entry.count().into());
            found &= self.find(slot.name) == Some(self.position(index));
        }
        let indexed: usize = self.index.iter().map(HashTable::len).sum();
        let live = self.slots().filter(|slot| !slot.is_stale()).count();
        let counted = held.iter().all(|(user, names)| self.names_of(*user) == *names);
        if sorted && found && counted && all == self.count && indexed == live {
            Ok(())
        } else {
            Err(Broken::Dangling)
        }
    }

    /// Whether there is no name.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of all names.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of a user's names.
    pub(crate) fn names_of(&self, user: UserNo) -> u32 {
        self.users.get(&user).map_or(0, |held| held.names)
    }

    /// When the user's oldest name is checked, and usually forgotten.
    pub(super) fn oldest_until(&self, user: UserNo) -> Option<TimeMs> {
        let held = self.users.get(&user).filter(|held| held.slots > 0)?;
        self.slot(held.head).map(Slot::at)
    }

    pub(crate) fn get(&self, name: Fingerprint) -> Option<NameEntry> {
        self.slot(self.find(name)?).map(|slot| self.entry(slot))
    }

    fn entry(&self, slot: &Slot) -> NameEntry {
        let until = self.prolonged.get(&slot.name).copied().unwrap_or(slot.at());
        let mut firsts = smallvec![(slot.part, slot.first)];
        firsts.extend(self.parts.get(&slot.name).into_iter().flatten().copied());
        let Slot { user, body, .. } = *slot;
        NameEntry { user, body, until, firsts, order: slot.kind == Kind::Order }
    }

    /// All slots, with what they stand for.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&Slot, Option<NameEntry>)> {
        self.slots().map(|slot| (slot, (!slot.is_stale()).then(|| self.entry(slot))))
    }

    /// Adds a name, which is checked `at` this moment, in place of an earlier one.
    pub(crate) fn add(&mut self, at: TimeMs, name: Fingerprint, entry: &NameEntry) {
        self.count_more(entry.user, entry.count());
        if let Some(before) = self.find(name) {
            if let Some((user, names)) = self.stand_down(before) {
                self.uncount(user, names);
            }
            self.forget_extras(name);
        }
        if at != entry.until {
            self.prolonged.insert(name, entry.until);
        }
        if let Some(more) = entry.firsts.get(1..).filter(|more| !more.is_empty()) {
            self.parts.insert(name, more.to_vec());
        }
        let kind = if entry.order { Kind::Order } else { Kind::Key };
        let (NameEntry { user, body, .. }, (part, first)) = (entry, entry.first());
        let mut slot =
            Slot { name, body: *body, first, at: [0; 6], part, kind, user: *user, next: 0 };
        slot.set_at(at);
        self.push(slot);
    }

    /// Adds the slot of a name that was given again since.
    pub(super) fn add_stale(&mut self, at: TimeMs, name: Fingerprint, first: Sequence) {
        let (body, kind) = (Fingerprint::default(), Kind::Stale);
        let mut slot = Slot { name, body, first, at: [0; 6], part: 0, kind, user: NOBODY, next: 0 };
        slot.set_at(at);
        self.push(slot);
    }

    /// Adds a further part of a key.
    pub(crate) fn add_part(&mut self, name: Fingerprint, user: UserNo, first: (u8, Sequence)) {
        self.parts.entry(name).or_default().push(first);
        self.count_more(user, 1);
    }

    /// The slot that is due first, if it is by `now`; taken out. A name stays until it is removed
    /// or prolonged.
    pub(super) fn take_due(&mut self, now: TimeMs) -> Option<(Slot, Option<NameEntry>)> {
        let slot = *self.chunks.front()?.get(self.gone).filter(|slot| slot.at() <= now)?;
        let entry = (!slot.is_stale()).then(|| self.entry(&slot));
        self.gone = self.gone.saturating_add(1);
        self.base = self.base.wrapping_add(1);
        if self.gone == self.chunks.front().map_or(0, Vec::len) {
            self.chunks.pop_front();
            self.gone = 0;
        }
        if let Some(held) = self.users.get_mut(&slot.user) {
            held.slots = held.slots.saturating_sub(1);
            held.head = slot.next;
        }
        self.drop_unused(slot.user);
        Some((slot, entry))
    }

    /// Keeps a name that was taken out, until the next check.
    pub(super) fn prolong(&mut self, mut slot: Slot, until: TimeMs, next_check: TimeMs) {
        self.prolonged.insert(slot.name, until);
        slot.set_at(next_check);
        self.push(slot);
    }

    /// Forgets a name that was taken out.
    pub(super) fn remove(&mut self, slot: &Slot, entry: &NameEntry) {
        self.forget_extras(slot.name);
        // The slot is gone already, and its position is the one before the first.
        let gone = self.base.wrapping_sub(1);
        if let Some(part) = self.index.get_mut(part_of(slot.name))
            && let Ok(found) = part.find_entry(hash_of(slot.name), |position| *position == gone)
        {
            found.remove();
        }
        self.uncount(entry.user, entry.count());
    }

    /// Counts further names of a user.
    pub(super) fn count_more(&mut self, user: UserNo, names: u32) {
        let held = self.users.entry(user).or_default();
        held.names = held.names.saturating_add(names);
        self.count = self.count.saturating_add(u64::from(names));
    }

    fn uncount(&mut self, user: UserNo, names: u32) {
        if let Some(held) = self.users.get_mut(&user) {
            held.names = held.names.saturating_sub(names);
        }
        self.count = self.count.saturating_sub(u64::from(names));
        self.drop_unused(user);
    }

    fn drop_unused(&mut self, user: UserNo) {
        let unused = |held: &Held| held.names == 0 && held.slots == 0;
        if self.users.get(&user).is_some_and(unused) {
            self.users.remove(&user);
        }
    }

    fn forget_extras(&mut self, name: Fingerprint) {
        self.prolonged.remove(&name);
        self.parts.remove(&name);
    }

    /// Makes a slot stale; whose it was, and how many names.
    fn stand_down(&mut self, position: u32) -> Option<(UserNo, u32)> {
        let entry = self.slot(position).map(|slot| self.entry(slot))?;
        self.slot_mut(position)?.kind = Kind::Stale;
        Some((entry.user, entry.count()))
    }
}

/// Slots and their positions.
impl IdempotencyTable {
    fn len(&self) -> usize {
        let full = self.chunks.len().saturating_sub(1).saturating_mul(CHUNK);
        full.saturating_add(self.chunks.back().map_or(0, Vec::len)).saturating_sub(self.gone)
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.chunks.iter().flatten().skip(self.gone)
    }

    fn position(&self, index: usize) -> u32 {
        self.base.wrapping_add(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Where a position is: its chunk, and the place in it.
    fn place(&self, position: u32) -> Option<(usize, usize)> {
        let index = usize::try_from(position.wrapping_sub(self.base)).ok()?;
        let index = index.saturating_add(self.gone);
        Some((index / CHUNK, index % CHUNK))
    }

    fn slot(&self, position: u32) -> Option<&Slot> {
        let (chunk, place) = self.place(position)?;
        self.chunks.get(chunk)?.get(place)
    }

    fn slot_mut(&mut self, position: u32) -> Option<&mut Slot> {
        let (chunk, place) = self.place(position)?;
        self.chunks.get_mut(chunk)?.get_mut(place)
    }

    fn find(&self, name: Fingerprint) -> Option<u32> {
        let part = self.index.get(part_of(name))?;
        let same = |position: &u32| self.slot(*position).is_some_and(|slot| slot.name == name);
        part.find(hash_of(name), same).copied()
    }

    /// Appends a slot, to its user's slots too, and enters a name that is not stale in the index.
    fn push(&mut self, slot: Slot) {
        let position = self.position(self.len());
        let held = self.users.entry(slot.user).or_default();
        let tail = (held.slots > 0).then_some(held.tail);
        held.head = if held.slots > 0 { held.head } else { position };
        held.tail = position;
        held.slots = held.slots.saturating_add(1);
        if let Some(last) = tail.and_then(|tail| self.slot_mut(tail)) {
            last.next = position;
        }
        if self.chunks.back().is_none_or(|chunk| chunk.len() == CHUNK) {
            let first = self.chunks.is_empty();
            let capacity = if first { FIRST_CAPACITY } else { CHUNK };
            self.chunks.push_back(Vec::with_capacity(capacity));
        }
        if let Some(chunk) = self.chunks.back_mut() {
            if chunk.len() == chunk.capacity() {
                let more = chunk.len().clamp(FIRST_CAPACITY, CHUNK.saturating_sub(chunk.len()));
                chunk.reserve_exact(more);
            }
            chunk.push(slot);
        }
        if !slot.is_stale() {
            self.enter(slot.name, position);
        }
    }

    fn enter(&mut self, name: Fingerprint, position: u32) {
        if self.index.is_empty() {
            self.index.resize_with(INDEX_PARTS, HashTable::new);
        }
        let Some(mut part) = self.index.get_mut(part_of(name)).map(std::mem::take) else { return };
        let gone = self.base.wrapping_sub(1);
        // A name that is prolonged is known by the position that it had, just before the first.
        let same =
            |known: &u32| *known == gone || self.slot(*known).is_some_and(|slot| slot.name == name);
        let hash = |known: &u32| match self.slot(*known) {
            Some(slot) => hash_of(slot.name),
            None => hash_of(name),
        };
        match part.entry(hash_of(name), same, hash) {
            Entry::Occupied(mut known) => *known.get_mut() = position,
            Entry::Vacant(free) => drop(free.insert(position)),
        }
        if let Some(place) = self.index.get_mut(part_of(name)) {
            *place = part;
        }
    }
}

fn part_of(name: Fingerprint) -> usize {
    usize::from(name.0.first().copied().unwrap_or_default())
}

fn hash_of(name: Fingerprint) -> u64 {
    name.0.last_chunk().copied().map_or(0, u64::from_le_bytes)
}
