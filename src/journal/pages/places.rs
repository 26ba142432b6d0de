//! Locations of pages in the page file, as stored in the index: sixteen of adjacent numbers per
//! entry.

use super::{NAME_BYTES, Name};
use crate::store::{Step, StoreError};

/// Locations per index entry.
const GROUP: usize = 16;
/// The same as a page number's type.
const GROUP_PAGES: u64 = GROUP as u64;
/// Bytes of a name before its number.
const OWNER_BYTES: usize = NAME_BYTES - size_of::<u64>();
/// Encoded bytes of a slot and its location.
const ENTRY_BYTES: usize = 17;

/// A page's location and checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) sum: u32,
}

/// An index entry: the locations of pages with adjacent numbers, by slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Group([Option<Location>; GROUP]);

/// The key of a page's index entry, and its slot there.
pub(super) fn group_and_slot(name: &Name) -> (Name, usize) {
    let (owner, number) = name.split_at(OWNER_BYTES);
    let number = number.try_into().map_or(0, u64::from_be_bytes);
    let mut key = [0; NAME_BYTES];
    for (to, from) in key.iter_mut().zip(owner.iter().chain(&(number / GROUP_PAGES).to_be_bytes()))
    {
        *to = *from;
    }
    (key, usize::try_from(number % GROUP_PAGES).unwrap_or(0))
}

fn checksum(name: &Name, page: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(name);
    hasher.update(page);
    hasher.finalize()
}

impl Location {
    /// The location of a page at offset 0.
    pub(super) fn new(name: &Name, page: &[u8]) -> Result<Location, StoreError> {
        let length = u32::try_from(page.len());
        let length = length.map_err(|_| StoreError::new(Step::Put, "the page is too long"))?;
        Ok(Location { offset: 0, length, sum: checksum(name, page) })
    }

    /// Where the page ends.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.length))
    }

    /// Whether these bytes are the page that was put, as far as the checksum tells.
    pub(super) fn may_have(&self, name: &Name, page: &[u8]) -> bool {
        self.length as usize == page.len() && self.sum == checksum(name, page)
    }
}

impl Group {
    pub(super) fn get(&self, slot: usize) -> Option<Location> {
        self.0.get(slot).copied().flatten()
    }

    pub(super) fn set(&mut self, slot: usize, location: Location) {
        if let Some(there) = self.0.get_mut(slot) {
            *there = Some(location);
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * ENTRY_BYTES);
        for (slot, location) in (0..).zip(&self.0) {
            if let Some(Location { offset, length, sum }) = location {
                bytes.push(slot);
                bytes.extend_from_slice(&offset.to_le_bytes());
                bytes.extend_from_slice(&length.to_le_bytes());
                bytes.extend_from_slice(&sum.to_le_bytes());
            }
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Group, StoreError> {
        let damaged = || StoreError::new(Step::Read, "the index of the pages is damaged");
        let mut group = Group::default();
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        if !rest.is_empty() {
            return Err(damaged());
        }
        for [slot, entry @ ..] in entries {
            let there = group.0.get_mut(usize::from(*slot)).ok_or_else(damaged)?;
            let (offset, rest) = entry.split_first_chunk().ok_or_else(damaged)?;
            let (length, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
            let sum = rest.first_chunk().ok_or_else(damaged)?;
            *there = Some(Location {
                offset: u64::from_le_bytes(*offset),
                length: u32::from_le_bytes(*length),
                sum: u32::from_le_bytes(*sum),
            });
        }
        Ok(group)
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/journal/pages/places.rs"]
mod tests;
