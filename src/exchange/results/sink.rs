//! The buffer that the canonical bytes of effects are written to.

use crate::image::coding::ImageSink;
use crate::image::tagged::Fixed;

/// Space for any effect without texts.
const SMALL_BYTES: usize = 96;
/// Smallest allocation.
const INITIAL_BYTES: usize = 1024;

/// A growing byte buffer that keeps zeroed space behind its content, so that a small effect is
/// written in place. Building it elsewhere and copying it would wait for the stores just made,
/// which takes longer than everything else.
#[derive(Debug, Clone, Default)]
pub struct Buffer {
    /// Bytes after `length` mean nothing.
    storage: Vec<u8>,
    length: usize,
}

impl Buffer {
    /// An empty buffer with space for so many bytes.
    pub fn with_capacity(bytes: usize) -> Buffer {
        Buffer { storage: vec![0; bytes], length: 0 }
    }

    /// The number of bytes.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.storage.get(..self.length).unwrap_or_default()
    }

    /// Empties the buffer and keeps its memory.
    pub const fn clear(&mut self) {
        self.length = 0;
    }

    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        self.put(bytes);
    }

    /// Appends what `write` writes; returns false and appends nothing if that is too large.
    #[inline]
    pub fn append_small(&mut self, write: impl FnOnce(&mut Fixed<'_, SMALL_BYTES>)) -> bool {
        let Some(bytes) = self.spare(SMALL_BYTES).first_chunk_mut() else { return false };
        let mut small = Fixed::over(bytes);
        write(&mut small);
        let length = small.written().map(<[u8]>::len);
        self.length = self.length.saturating_add(length.unwrap_or(0));
        length.is_some()
    }

    /// At least `bytes` of space behind the content.
    #[inline]
    fn spare(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.length.saturating_add(bytes);
        if end > self.storage.len() {
            self.grow(end);
        }
        self.storage.get_mut(self.length..).unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self, bytes_min: usize) {
        let twice = self.storage.len().saturating_mul(2);
        self.storage.resize(bytes_min.max(twice).max(INITIAL_BYTES), 0);
    }
}

impl ImageSink for Buffer {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if let Some(target) = self.spare(bytes.len()).get_mut(..bytes.len()) {
            target.copy_from_slice(bytes);
            self.length = self.length.saturating_add(bytes.len());
        }
    }

    #[inline]
    fn tags(&self) -> bool {
        true
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/exchange/results/sink.rs"]
mod tests;
