//! A journal in memory, for tests and benches: the same code over a map as the store.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::recovery::Marker;
use super::store::{BlockSource, BlockStore, StoreError, Stored, StoredJournal};
use exchange::units::Sequence;

/// Blocks and marker in memory; never fails. A clone is a copy.
#[derive(Debug)]
pub struct MemoryStore {
    blocks: MemoryBlocks,
    marker: Marker,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> MemoryStore {
        MemoryStore { blocks: MemoryBlocks::default(), marker: Marker::Clear }
    }
}

impl Clone for MemoryStore {
    fn clone(&self) -> MemoryStore {
        let blocks = MemoryBlocks(Arc::new(RwLock::new(self.blocks.reading().clone())));
        MemoryStore { blocks, marker: self.marker }
    }
}

/// The blocks of a memory store, shared by it and its readers.
#[derive(Debug, Clone, Default)]
struct MemoryBlocks(Arc<RwLock<BTreeMap<Sequence, Vec<u8>>>>);

impl MemoryBlocks {
    fn reading(&self) -> RwLockReadGuard<'_, BTreeMap<Sequence, Vec<u8>>> {
        // A map is consistent between any two calls, even after a panic.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> RwLockWriteGuard<'_, BTreeMap<Sequence, Vec<u8>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlockSource for MemoryBlocks {
    fn at_or_before(&self, key: Sequence) -> Result<Option<Stored>, StoreError> {
        Ok(self.reading().range(..=key).next_back().map(owned))
    }

    fn at_or_after(&self, key: Sequence) -> Result<Option<Stored>, StoreError> {
        Ok(self.reading().range(key..).next().map(owned))
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new()
    }
}

impl BlockStore for MemoryStore {
    fn put(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError> {
        self.blocks.writing().insert(first, bytes.to_vec());
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn remove_from(&mut self, first: Sequence) -> Result<(), StoreError> {
        self.blocks.writing().split_off(&first);
        Ok(())
    }

    fn marker(&self) -> Result<Marker, StoreError> {
        Ok(self.marker)
    }

    fn mark(&mut self, marker: Marker) -> Result<(), StoreError> {
        self.marker = marker;
        Ok(())
    }

    fn source(&self) -> Arc<dyn BlockSource> {
        Arc::new(self.blocks.clone())
    }
}

fn owned((key, bytes): (&Sequence, &Vec<u8>)) -> Stored {
    (*key, bytes.clone())
}

/// A journal that is lost when dropped.
pub type MemoryJournal = StoredJournal<MemoryStore>;

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> MemoryJournal {
        MemoryJournal::begin(MemoryStore::new())
    }
}

impl Default for MemoryJournal {
    fn default() -> MemoryJournal {
        MemoryJournal::new()
    }
}
