//! What is in memory of where pages are: those put since the last sync, and room for the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Name;
use super::free_space::FreeSpace;
use super::places::Place;

/// Where pages are, by name.
pub(super) type Places = BTreeMap<Name, Place>;

/// Where what was put lately is, and what may be written over.
#[derive(Debug)]
pub(super) struct UnsyncedIndex {
    /// Bytes of the file.
    end: u64,
    new: Places,
    /// On their way to sled.
    syncing: Arc<Places>,
    rooms: FreeSpace,
    /// Whether a sync failed: where sled leads then is not known, so no room is free any more.
    failed: bool,
}

impl UnsyncedIndex {
    /// Nothing yet, with a file of so many bytes.
    pub(super) fn of(end: u64) -> UnsyncedIndex {
        let (new, syncing, rooms) = (Places::new(), Arc::default(), FreeSpace::default());
        UnsyncedIndex { end, new, syncing, rooms, failed: false }
    }

    /// Where a page was put lately.
    pub(super) fn place(&self, name: &Name) -> Option<Place> {
        self.new.get(name).or_else(|| self.syncing.get(name)).copied()
    }

    /// Whether the file has that many bytes.
    pub(super) const fn reaches(&self, end: u64) -> bool {
        end <= self.end
    }

    /// How many places are only here.
    pub(super) fn count(&self) -> usize {
        self.new.len()
    }

    /// Room for a page, if any is free.
    pub(super) fn room(&mut self, length: u32) -> Option<u64> {
        self.rooms.take(u64::from(length))
    }

    /// So many bytes at the file's end; gives where they begin.
    pub(super) const fn append(&mut self, length: u64) -> u64 {
        let offset = self.end;
        self.end = offset.saturating_add(length);
        offset
    }

    /// Notes where a page was written. sled was never led to where it was before that, if that was
    /// noted here.
    pub(super) fn put(&mut self, name: Name, place: Place) {
        if let Some(before) = self.new.insert(name, place) {
            self.free(&before);
        }
    }

    /// Frees the room of a page that nothing on disk leads to.
    pub(super) fn free(&mut self, place: &Place) {
        if !self.failed {
            self.rooms.free(place.offset, u64::from(place.length));
        }
    }

    /// Whether a sync failed.
    pub(super) const fn failed(&self) -> bool {
        self.failed
    }

    /// Gives the places that are only here, to have sled lead to them.
    pub(super) fn begin_sync(&mut self) -> Arc<Places> {
        self.syncing = Arc::new(std::mem::take(&mut self.new));
        Arc::clone(&self.syncing)
    }

    /// Forgets them: sled leads to them, and to none of those `before` them any more.
    pub(super) fn synced(&mut self, before: &[Place]) {
        self.syncing = Arc::default();
        for place in before {
            self.free(place);
        }
    }

    /// Keeps them: sled may lead to some of them.
    pub(super) fn not_synced(&mut self) {
        (self.failed, self.rooms) = (true, FreeSpace::default());
        for (name, place) in &*std::mem::take(&mut self.syncing) {
            self.new.entry(*name).or_insert(*place);
        }
    }
}
