//! A write buffer for `O_DIRECT`, used by the write-ahead log: memory, offset and length of each
//! write are aligned to whole sectors.

/// Alignment unit: covers the sector of any drive, and is a page of memory.
pub(super) const SECTOR_BYTES: usize = 4096;

/// Buffered bytes. They begin with those of the last, partly filled sector that is on disk already
/// and is written again.
#[derive(Debug)]
pub(super) struct Sectors {
    bytes: Box<[u8]>,
    /// Index in `bytes` of the first aligned address.
    aligned_from: usize,
    /// Bytes at the beginning that are on disk.
    written: usize,
    /// All buffered bytes, those on disk included.
    filled: usize,
}

impl Sectors {
    /// A buffer for `bytes` beside a partly filled sector. The system only allocates pages that are
    /// used.
    pub(super) fn new(bytes: usize) -> Sectors {
        let room = bytes.saturating_add(SECTOR_BYTES).next_multiple_of(SECTOR_BYTES);
        let bytes = vec![0; room.saturating_add(SECTOR_BYTES)].into_boxed_slice();
        // If the address cannot be aligned, the system rejects the write, and the caller falls
        // back.
        let aligned_from = bytes.as_ptr().align_offset(SECTOR_BYTES);
        Sectors {
            aligned_from: if aligned_from < SECTOR_BYTES { aligned_from } else { 0 },
            bytes,
            written: 0,
            filled: 0,
        }
    }

    /// A buffer at a misaligned address.
    #[cfg(test)]
    pub(super) fn misaligned(bytes: usize) -> Sectors {
        let sectors = Sectors::new(bytes);
        Sectors { aligned_from: sectors.aligned_from.saturating_add(1) % SECTOR_BYTES, ..sectors }
    }

    /// Bytes not written yet.
    pub(super) const fn unwritten(&self) -> usize {
        self.filled.saturating_sub(self.written)
    }

    /// Appends bytes; false, and appends nothing, if they do not fit.
    #[must_use]
    pub(super) fn put(&mut self, bytes: &[u8]) -> bool {
        let from = self.aligned_from.saturating_add(self.filled);
        let filled = self.filled.saturating_add(bytes.len());
        // The padding of the last sector must fit too.
        let whole = self.aligned_from.saturating_add(filled.next_multiple_of(SECTOR_BYTES));
        let to = from.saturating_add(bytes.len());
        match self.bytes.get_mut(..whole).and_then(|whole| whole.get_mut(from..to)) {
            None => false,
            Some(room) => {
                room.copy_from_slice(bytes);
                self.filled = filled;
                true
            }
        }
    }

    /// The whole sectors to write, padded with zeros, and how many of their first bytes are on disk
    /// already: they begin so far before the unwritten ones.
    pub(super) fn padded(&mut self) -> (usize, &[u8]) {
        let filled = self.aligned_from.saturating_add(self.filled);
        let whole = self.filled.next_multiple_of(SECTOR_BYTES);
        let end = self.aligned_from.saturating_add(whole);
        if let Some(rest) = self.bytes.get_mut(filled..end) {
            rest.fill(0);
        }
        (self.written, self.bytes.get(self.aligned_from..end).unwrap_or_default())
    }

    /// Marks all as written, keeping the bytes of a partly filled last sector.
    pub(super) fn mark_written(&mut self) {
        let tail = self.filled.checked_rem(SECTOR_BYTES).unwrap_or(0);
        let from = self.aligned_from.saturating_add(self.filled.saturating_sub(tail));
        self.bytes.copy_within(from..from.saturating_add(tail), self.aligned_from);
        (self.written, self.filled) = (tail, tail);
    }

    /// Forgets everything: the next bytes begin a sector.
    pub(super) const fn clear(&mut self) {
        (self.written, self.filled) = (0, 0);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/journal/sectors.rs"]
mod tests;
