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
mod tests {
    use super::*;

    #[test]
    fn the_smallest_room_that_is_large_enough_is_taken_and_the_rest_of_it_left() {
        let mut space = FreeSpace::default();
        assert_eq!((space.take(1), space.take(0)), (None, None));
        for (offset, length) in [(100, 30), (200, 10), (300, 20)] {
            space.free(offset, length);
        }
        assert_eq!((space.take(31), space.take(10)), (None, Some(200)));
        assert_eq!((space.take(15), space.take(5)), (Some(300), Some(315)));
        assert_eq!((space.take(30), space.take(1)), (Some(100), None));
    }

    #[test]
    fn what_no_page_uses_is_free_in_whole_grains() {
        let mut used = UsedSpace::none_of(10_000);
        used.add(0, 8);
        // The file's first page ends in the second grain; the others leave whole grains free.
        for (offset, length) in [(8, 100), (640, 64), (704, 1), (6_399, 2), (7_000, 0), (20_000, 9)]
        {
            used.add(offset, length);
        }
        let (mut space, end) = used.rest();
        assert_eq!(end, 6_464);
        let free: Vec<_> =
            space.lengths.iter().map(|(offset, length)| (*offset, *length)).collect();
        assert_eq!(free, [(128, 512), (768, 5_568)]);
        assert_eq!(space.take(512), Some(128));
        let (none, end) = UsedSpace::none_of(0).rest();
        assert_eq!((none.lengths.len(), end), (0, 0));
    }

    #[test]
    fn rooms_that_touch_are_one() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut space = FreeSpace::default();
            for part in order {
                space.free(100 + 10 * part, 10);
            }
            space.free(131, 10);
            assert_eq!(
                (space.take(31), space.take(30), space.take(10)),
                (None, Some(100), Some(131))
            );
            assert_eq!((space.lengths.len(), space.by_length.len()), (0, 0));
        }
    }

    #[test]
    fn what_is_known_is_bounded_and_the_largest_rooms_are() {
        let mut space = FreeSpace::default();
        for number in 0..EXTENTS_MAX as u64 + 100 {
            space.free(number * 1000, 1 + (number + 50) % 900);
        }
        assert_eq!((space.lengths.len(), space.by_length.len()), (EXTENTS_MAX, EXTENTS_MAX));
        assert!(space.by_length.first().is_some_and(|(length, _)| *length > 1));
        assert!(space.by_length.last().is_some_and(|(length, _)| *length == 900));
    }
}
