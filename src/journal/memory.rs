//! A journal in memory, for tests and benches: the same journal over a store that is a map.

use std::collections::BTreeMap;

use super::marker::{Marker, Witness};
use super::store::{BlockStore, StoreError, Stored, StoredJournal};
use crate::exchange::units::Sequence;

/// Blocks and marker in memory; never fails.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    blocks: BTreeMap<Sequence, Vec<u8>>,
    marker: Marker,
    witness: Witness,
}

impl MemoryStore {
    /// An empty store.
    pub const fn new() -> MemoryStore {
        let (marker, witness) = (Marker::Clear, Witness::NONE);
        MemoryStore { blocks: BTreeMap::new(), marker, witness }
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new()
    }
}

impl BlockStore for MemoryStore {
    fn put(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError> {
        self.blocks.insert(first, bytes.to_vec());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn remove_from(&mut self, first: Sequence) -> Result<(), StoreError> {
        self.blocks.split_off(&first);
        Ok(())
    }

    fn at_or_before(&self, key: Sequence) -> Result<Option<Stored>, StoreError> {
        Ok(self.blocks.range(..=key).next_back().map(owned))
    }

    fn at_or_after(&self, key: Sequence) -> Result<Option<Stored>, StoreError> {
        Ok(self.blocks.range(key..).next().map(owned))
    }

    fn marker(&self) -> Result<Marker, StoreError> {
        Ok(self.marker)
    }

    fn mark(&mut self, marker: Marker) -> Result<(), StoreError> {
        self.marker = marker;
        Ok(())
    }

    fn witness(&self) -> Result<Option<Witness>, StoreError> {
        Ok(Some(self.witness))
    }

    fn attest(&mut self, witness: Witness) -> Result<(), StoreError> {
        self.witness = witness;
        Ok(())
    }
}

fn owned((key, bytes): (&Sequence, &Vec<u8>)) -> Stored {
    (*key, bytes.clone())
}

/// A journal that lives as long as its value.
pub type MemoryJournal = StoredJournal<MemoryStore>;

impl MemoryJournal {
    /// An empty journal.
    pub const fn new() -> MemoryJournal {
        MemoryJournal::begin(MemoryStore::new())
    }
}

impl Default for MemoryJournal {
    fn default() -> MemoryJournal {
        MemoryJournal::new()
    }
}
