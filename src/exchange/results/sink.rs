//! Where the canonical bytes of effects go.

/// Where canonical bytes go.
pub trait Sink {
    /// Appends an integer's bytes.
    fn integer<const N: usize>(&mut self, bytes: [u8; N]);
    /// Appends a text's bytes, or a hash's.
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

/// Room for any effect without texts.
const SMALL_BYTES: usize = 96;

/// One small effect, put together where the compiler knows the place of each field, and then
/// appended at once: appending field by field costs as much as matching the order.
pub struct Small {
    bytes: [u8; SMALL_BYTES],
    length: usize,
}

impl Sink for Small {
    #[inline]
    fn integer<const N: usize>(&mut self, bytes: [u8; N]) {
        let room = self.bytes.get_mut(self.length..).and_then(<[u8]>::first_chunk_mut::<N>);
        if let Some(room) = room {
            *room = bytes;
        }
        self.length = self.length.saturating_add(N);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let end = self.length.saturating_add(bytes.len());
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(bytes);
        }
        self.length = end;
    }
}

impl Small {
    /// Nothing yet.
    #[inline]
    pub const fn new() -> Small {
        Small { bytes: [0; SMALL_BYTES], length: 0 }
    }

    /// What was appended, if there was room.
    #[inline]
    pub fn written(&self) -> Option<&[u8]> {
        self.bytes.get(..self.length)
    }
}
