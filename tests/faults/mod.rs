//! Stores that fail on request, and a disk that loses what was not synced.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses a part; a test may unwrap

use std::sync::{Arc, Mutex, MutexGuard};

use exchange::units::Sequence;
use journal::memory::MemoryStore;
use journal::recovery::Marker;
use journal::store::{BlockSource, BlockStore, Step, StoreError, Stored};

/// A step that fails, and whether it takes effect nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub step: Step,
    pub arrives: bool,
}

/// A wrapper around a store; the steps listed in `faults` fail.
pub struct Faulty<S> {
    pub store: S,
    pub faults: Arc<Mutex<Vec<Fault>>>,
}

impl<S> Faulty<S> {
    pub fn new(store: S) -> (Faulty<S>, Arc<Mutex<Vec<Fault>>>) {
        let faults = Arc::new(Mutex::new(Vec::new()));
        (Faulty { store, faults: Arc::clone(&faults) }, faults)
    }

    fn run(
        &mut self,
        step: Step,
        call: impl FnOnce(&mut S) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let fault = self.faults.lock().unwrap().iter().find(|f| f.step == step).copied();
        match fault {
            None => call(&mut self.store),
            Some(fault) => {
                if fault.arrives {
                    call(&mut self.store)?;
                }
                Err(StoreError::new(step, "made to fail"))
            }
        }
    }
}

impl<S: BlockStore> BlockStore for Faulty<S> {
    fn put(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError> {
        self.run(Step::Put, |store| store.put(first, bytes))
    }
    fn sync(&mut self) -> Result<(), StoreError> {
        self.run(Step::Sync, S::sync)
    }
    fn remove_from(&mut self, first: Sequence) -> Result<(), StoreError> {
        self.run(Step::Remove, |store| store.remove_from(first))
    }
    fn marker(&self) -> Result<Marker, StoreError> {
        self.store.marker()
    }
    fn mark(&mut self, marker: Marker) -> Result<(), StoreError> {
        self.run(Step::Mark, |store| store.mark(marker))
    }
    fn source(&self) -> Arc<dyn BlockSource> {
        self.store.source()
    }
}

struct Images {
    live: MemoryStore,
    durable: MemoryStore,
}

/// A disk with a live and a durable image; clones share both.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<Images>>);

impl Disk {
    pub fn new() -> Disk {
        let (live, durable) = (MemoryStore::new(), MemoryStore::new());
        Disk(Arc::new(Mutex::new(Images { live, durable })))
    }

    /// Simulates a power cut: everything not synced is lost.
    pub fn lose_power(&self) {
        let mut images = self.images();
        images.live = images.durable.clone();
    }

    /// Simulates a marker whose sync failed: it is seen, and never gets to the disk.
    pub fn mark_unsynced(&self, marker: Marker) {
        self.images().live.mark(marker).unwrap();
    }

    /// Simulates the operating system writing everything out on its own.
    pub fn write_out(&self) {
        let mut images = self.images();
        images.durable = images.live.clone();
    }

    fn images(&self) -> MutexGuard<'_, Images> {
        self.0.lock().unwrap()
    }
}

impl BlockSource for Disk {
    fn at_or_before(&self, key: Sequence) -> Result<Option<Stored>, StoreError> {
        self.images().live.source().at_or_before(key)
    }
    fn at_or_after(&self, key: Sequence) -> Result<Option<Stored>, StoreError> {
        self.images().live.source().at_or_after(key)
    }
}

impl BlockStore for Disk {
    fn put(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError> {
        self.images().live.put(first, bytes)
    }
    fn sync(&mut self) -> Result<(), StoreError> {
        let mut images = self.images();
        let marker = images.durable.marker()?;
        images.durable = images.live.clone();
        images.durable.mark(marker)
    }
    fn remove_from(&mut self, first: Sequence) -> Result<(), StoreError> {
        self.images().live.remove_from(first)
    }
    fn marker(&self) -> Result<Marker, StoreError> {
        self.images().live.marker()
    }
    fn mark(&mut self, marker: Marker) -> Result<(), StoreError> {
        let mut images = self.images();
        images.live.mark(marker)?;
        images.durable.mark(marker)
    }
    fn source(&self) -> Arc<dyn BlockSource> {
        Arc::new(self.clone())
    }
}
