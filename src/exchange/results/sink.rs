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
/// Room that is taken at first.
const ROOM_BYTES: usize = 1024;

/// Canonical bytes one after the other. Room for more is there beforehand, so that a small effect
/// is put together in its place: what is put together elsewhere field by field and copied at once
/// waits for its own stores, which takes longer than all else.
#[derive(Debug, Clone, Default)]
pub struct Buffer {
    /// What is after `length` means nothing.
    room: Vec<u8>,
    length: usize,
}

impl Buffer {
    /// None, with room for so many.
    pub fn with_room(bytes: usize) -> Buffer {
        Buffer { room: vec![0; bytes], length: 0 }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All of them.
    pub fn as_slice(&self) -> &[u8] {
        self.room.get(..self.length).unwrap_or_default()
    }

    /// Forgets them and keeps the room.
    pub const fn clear(&mut self) {
        self.length = 0;
    }

    /// Appends bytes that somebody else wrote.
    pub fn append(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
    }

    /// Appends what `write` puts together; false, and nothing is appended, if it is not small.
    #[inline]
    pub fn append_small(&mut self, write: impl FnOnce(&mut Small<'_>)) -> bool {
        let Some(bytes) = self.room_for(SMALL_BYTES).first_chunk_mut() else { return false };
        let mut small = Small { bytes, length: 0 };
        write(&mut small);
        let length = small.length;
        let fits = length <= SMALL_BYTES;
        if fits {
            self.length = self.length.saturating_add(length);
        }
        fits
    }

    /// Room for so many more, at least.
    #[inline]
    fn room_for(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.length.saturating_add(bytes);
        if end > self.room.len() {
            self.grow(end);
        }
        self.room.get_mut(self.length..).unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self, bytes_min: usize) {
        let twice = self.room.len().saturating_mul(2);
        self.room.resize(bytes_min.max(twice).max(ROOM_BYTES), 0);
    }
}

impl Sink for Buffer {
    #[inline]
    fn integer<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes(&bytes);
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        if let Some(room) = self.room_for(bytes.len()).get_mut(..bytes.len()) {
            room.copy_from_slice(bytes);
            self.length = self.length.saturating_add(bytes.len());
        }
    }
}

/// One small effect in its place, where the compiler knows that of each field.
#[derive(Debug)]
pub struct Small<'a> {
    bytes: &'a mut [u8; SMALL_BYTES],
    /// More than there is room for, where it does not fit.
    length: usize,
}

impl Sink for Small<'_> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer ones than there is room for included.
    #[test]
    fn what_is_put_together_in_place_is_what_is_appended() {
        let (mut plain, mut buffer) = (Vec::new(), Buffer::default());
        for (length, fill) in (0..300).zip((0..=u8::MAX).cycle()) {
            let text = vec![fill; length];
            let write = |sink: &mut Small<'_>| {
                sink.integer([fill; 4]);
                sink.bytes(&text);
                sink.integer([fill]);
            };
            if !buffer.append_small(write) {
                assert!(length + 5 > SMALL_BYTES);
                buffer.integer([fill; 4]);
                buffer.bytes(&text);
                buffer.integer([fill]);
            }
            plain.extend(std::iter::repeat_n(fill, length + 5));
            assert_eq!((buffer.as_slice(), buffer.len()), (&plain[..], plain.len()));
        }
        buffer.clear();
        assert!(buffer.is_empty());
        assert!(buffer.append_small(|sink| sink.integer([1, 2])));
        assert_eq!(buffer.as_slice(), [1, 2]);
    }
}
