//! Bytes in which every optional value follows a tag byte, as in the journal and the results hash.

use super::coding::{BadImage, ImageSink, ImageSource};

/// A buffer, or bytes to read.
#[derive(Debug)]
pub struct Tagged<T>(pub T);

impl ImageSink for Tagged<&mut Vec<u8>> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    #[inline]
    fn tags(&self) -> bool {
        true
    }
}

impl ImageSource for Tagged<&[u8]> {
    #[inline]
    fn fill(&mut self, into: &mut [u8]) -> Result<(), BadImage> {
        self.0.fill(into)
    }

    #[inline]
    fn left(&self) -> Option<usize> {
        Some(self.0.len())
    }

    #[inline]
    fn tags(&self) -> bool {
        true
    }
}

impl ImageSource for &[u8] {
    #[inline]
    fn fill(&mut self, into: &mut [u8]) -> Result<(), BadImage> {
        let (next, rest) = self.split_at_checked(into.len()).ok_or(BadImage::Truncated)?;
        into.copy_from_slice(next);
        *self = rest;
        Ok(())
    }

    #[inline]
    fn ahead(&self) -> Option<[u8; 8]> {
        Some(self.first_chunk().copied().unwrap_or_else(|| {
            let mut last = [0xFF; 8];
            last.iter_mut().zip(*self).for_each(|(to, from)| *to = *from);
            last
        }))
    }

    #[inline]
    fn pass(&mut self, count: usize) {
        *self = self.get(count..).unwrap_or_default();
    }

    fn left(&self) -> Option<usize> {
        Some(self.len())
    }
}

/// Fixed space for something small with tags, so that the compiler knows the offset of each field
/// and no append checks a capacity.
#[derive(Debug)]
pub struct Fixed<'a, const BYTES: usize> {
    bytes: &'a mut [u8; BYTES],
    /// More than there is space for if it does not fit.
    length: usize,
}

impl<'a, const BYTES: usize> Fixed<'a, BYTES> {
    /// Fills this space from its beginning.
    pub const fn over(bytes: &'a mut [u8; BYTES]) -> Fixed<'a, BYTES> {
        Fixed { bytes, length: 0 }
    }

    /// What was written; `None` if it did not fit.
    #[inline]
    pub fn written(&self) -> Option<&[u8]> {
        self.bytes.get(..self.length)
    }
}

impl<const BYTES: usize> ImageSink for Fixed<'_, BYTES> {
    fn put(&mut self, bytes: &[u8]) {
        let end = self.length.saturating_add(bytes.len());
        if let Some(target) = self.bytes.get_mut(self.length..end) {
            target.copy_from_slice(bytes);
        }
        self.length = end;
    }

    #[inline]
    fn put_array<const N: usize>(&mut self, bytes: [u8; N]) {
        let target = self.bytes.get_mut(self.length..).and_then(<[u8]>::first_chunk_mut::<N>);
        if let Some(target) = target {
            *target = bytes;
        }
        self.length = self.length.saturating_add(N);
    }

    #[inline]
    fn tags(&self) -> bool {
        true
    }
}
