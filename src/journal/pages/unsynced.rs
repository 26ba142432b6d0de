//! The page store's state in memory: locations of pages put since the last sync, and free space.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Name;
use super::free_space::FreeSpace;
use super::places::Location;

/// Locations by name.
pub(super) type Locations = BTreeMap<Name, Location>;

/// Locations not in the index yet, and space that may be overwritten.
#[derive(Debug)]
pub(super) struct UnsyncedIndex {
    /// The file's length.
    end: u64,
    new: Locations,
    /// Being synced to the index.
    syncing: Arc<Locations>,
    free_space: FreeSpace,
    /// Whether a sync failed: what the index refers to is unknown then, so no space may be reused.
    failed: bool,
}

impl UnsyncedIndex {
    /// Empty, for a file of `end` bytes.
    pub(super) fn new(end: u64, free_space: FreeSpace) -> UnsyncedIndex {
        let (new, syncing) = (Locations::new(), Arc::default());
        UnsyncedIndex { end, new, syncing, free_space, failed: false }
    }

    /// A page's location, if it was put since the last sync.
    pub(super) fn location(&self, name: &Name) -> Option<Location> {
        self.new.get(name).or_else(|| self.syncing.get(name)).copied()
    }

    /// Whether the file is at least that long.
    pub(super) const fn reaches(&self, end: u64) -> bool {
        end <= self.end
    }

    /// Locations that no sync has taken yet.
    pub(super) fn count(&self) -> usize {
        self.new.len()
    }

    /// Takes free space for a page, if there is any.
    pub(super) fn take_free(&mut self, length: u32) -> Option<u64> {
        self.free_space.take(u64::from(length))
    }

    /// Extends the file by `length`; returns the offset.
    pub(super) const fn append(&mut self, length: u64) -> u64 {
        let offset = self.end;
        self.end = offset.saturating_add(length);
        offset
    }

    /// Records a page's location. One that it replaces here was never in the index, so its space is
    /// free.
    pub(super) fn put(&mut self, name: Name, location: Location) {
        if let Some(before) = self.new.insert(name, location) {
            self.free(&before);
        }
    }

    /// Frees the space of a page that the index on disk does not refer to.
    pub(super) fn free(&mut self, location: &Location) {
        if !self.failed {
            self.free_space.free(location.offset, u64::from(location.length));
        }
    }

    /// Whether a sync failed.
    pub(super) const fn failed(&self) -> bool {
        self.failed
    }

    /// Takes the new locations, to be added to the index.
    pub(super) fn begin_sync(&mut self) -> Arc<Locations> {
        self.syncing = Arc::new(std::mem::take(&mut self.new));
        Arc::clone(&self.syncing)
    }

    /// The index has them, and refers to none of those `before` any more.
    pub(super) fn synced(&mut self, before: &[Location]) {
        self.syncing = Arc::default();
        for location in before {
            self.free(location);
        }
    }

    /// Keeps them: the index may refer to some of them.
    pub(super) fn sync_failed(&mut self) {
        (self.failed, self.free_space) = (true, FreeSpace::default());
        for (name, location) in &*std::mem::take(&mut self.syncing) {
            self.new.entry(*name).or_insert(*location);
        }
    }
}
