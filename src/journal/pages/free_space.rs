//! Free space in the page file, which later pages reuse. In memory only.

use std::collections::{BTreeMap, BTreeSet};

/// Bytes whose use is told by one bit when a store is opened: a page begins and ends anywhere, so
/// that much may be left unused beside each.
const GRAIN_BYTES: u64 = 64;

/// Most extents remembered, some megabytes. Beyond that, the smallest is forgotten.
const EXTENTS_MAX: usize = 1 << 16;

/// Which parts of a page file are used: a bit for each grain, whatever the number of pages.
#[derive(Debug)]
pub(super) struct UsedSpace(Vec<u64>);

impl UsedSpace {
    /// Nothing, of a file of so many bytes.
    pub(super) fn none_of(bytes: u64) -> UsedSpace {
        let words = bytes.div_ceil(GRAIN_BYTES).div_ceil(u64::from(u64::BITS));
        UsedSpace(vec![0; usize::try_from(words).unwrap_or(0)])
    }

    /// Adds bytes that are used; those beyond the file's end count for nothing.
    pub(super) fn add(&mut self, offset: u64, length: u64) {
        let last = offset.saturating_add(length.saturating_sub(1)) / GRAIN_BYTES;
        for grain in (offset / GRAIN_BYTES..=last).take_while(|_| length > 0) {
            let Ok(word) = usize::try_from(grain / u64::from(u64::BITS)) else { return };
            let Some(word) = self.0.get_mut(word) else { return };
            *word |= 1 << (grain % u64::from(u64::BITS));
        }
    }

    /// What is free, and where the used part ends.
    pub(super) fn rest(&self) -> (FreeSpace, u64) {
        let (mut space, mut end) = (FreeSpace::default(), 0);
        let words = (0_u64..).zip(&self.0);
        let grains = words.flat_map(|(word, bits)| {
            let first = word * u64::from(u64::BITS);
            (0..u64::from(u64::BITS))
                .filter(move |bit| bits >> bit & 1 == 1)
                .map(move |b| first + b)
        });
        for begin in grains.map(|grain| grain * GRAIN_BYTES) {
            if begin > end {
                space.free(end, begin - end);
            }
            end = begin + GRAIN_BYTES;
        }
        (space, end)
    }
}

/// Free extents. Adjacent ones are merged.
#[derive(Debug, Default)]
pub(super) struct FreeSpace {
    /// Length by offset.
    lengths: BTreeMap<u64, u64>,
    /// Length and offset.
    by_length: BTreeSet<(u64, u64)>,
}

impl FreeSpace {
    /// Frees bytes that are not free yet.
    pub(super) fn free(&mut self, mut offset: u64, mut length: u64) {
        if let Some((before, bytes)) = self.lengths.range(..offset).next_back()
            && before.saturating_add(*bytes) == offset
        {
            let (before, bytes) = (*before, *bytes);
            self.remove(before, bytes);
            (offset, length) = (before, length.saturating_add(bytes));
        }
        let after = offset.saturating_add(length);
        if let Some(bytes) = self.lengths.get(&after).copied() {
            self.remove(after, bytes);
            length = length.saturating_add(bytes);
        }
        self.add(offset, length);
        if self.lengths.len() > EXTENTS_MAX
            && let Some((length, offset)) = self.by_length.first().copied()
        {
            self.remove(offset, length);
        }
    }

    /// Takes `length` bytes from the smallest extent that fits; returns their offset.
    pub(super) fn take(&mut self, length: u64) -> Option<u64> {
        let (found, offset) = self.by_length.range((length, 0)..).next().copied()?;
        self.remove(offset, found);
        self.add(offset.saturating_add(length), found.saturating_sub(length));
        Some(offset)
    }

    fn add(&mut self, offset: u64, length: u64) {
        if length > 0 {
            self.lengths.insert(offset, length);
            self.by_length.insert((length, offset));
        }
    }

    fn remove(&mut self, offset: u64, length: u64) {
        self.lengths.remove(&offset);
        self.by_length.remove(&(length, offset));
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/journal/pages/free_space.rs"]
mod tests;
