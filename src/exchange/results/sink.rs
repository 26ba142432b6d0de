//! The buffers that the canonical bytes of effects are written to.

/// Receives canonical bytes.
pub trait Sink {
    /// Appends an integer's bytes.
    fn integer<const N: usize>(&mut self, bytes: [u8; N]);
    /// Appends bytes of any length.
    fn bytes(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn integer<const N: usize>(&mut self, bytes: [u8; N]) {
        self.extend_from_slice(&bytes);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

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
        self.bytes(bytes);
    }

    /// Appends what `write` writes; returns false and appends nothing if that is too large.
    #[inline]
    pub fn append_small(&mut self, write: impl FnOnce(&mut Small<'_>)) -> bool {
        let Some(bytes) = self.spare(SMALL_BYTES).first_chunk_mut() else { return false };
        let mut small = Small { bytes, length: 0 };
        write(&mut small);
        let length = small.length;
        let fits = length <= SMALL_BYTES;
        if fits {
            self.length = self.length.saturating_add(length);
        }
        fits
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

impl Sink for Buffer {
    #[inline]
    fn integer<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes(&bytes);
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        if let Some(target) = self.spare(bytes.len()).get_mut(..bytes.len()) {
            target.copy_from_slice(bytes);
            self.length = self.length.saturating_add(bytes.len());
        }
    }
}

/// The fixed-size space of one small effect, so that the compiler knows the offset of each field.
#[derive(Debug)]
pub struct Small<'a> {
    bytes: &'a mut [u8; SMALL_BYTES],
    /// Above [`SMALL_BYTES`] if the effect does not fit.
    length: usize,
}

impl Sink for Small<'_> {
    #[inline]
    fn integer<const N: usize>(&mut self, bytes: [u8; N]) {
        let target = self.bytes.get_mut(self.length..).and_then(<[u8]>::first_chunk_mut::<N>);
        if let Some(target) = target {
            *target = bytes;
        }
        self.length = self.length.saturating_add(N);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let end = self.length.saturating_add(bytes.len());
        if let Some(target) = self.bytes.get_mut(self.length..end) {
            target.copy_from_slice(bytes);
        }
        self.length = end;
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/exchange/results/sink.rs"]
mod tests;
