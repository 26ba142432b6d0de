//! Unit tests of `src/exchange/results.rs`.

use super::*;

/// Also with effects that are too large.
#[test]
fn small_effects_written_in_place_equal_appended_ones() {
    let (mut plain, mut buffer) = (Vec::new(), Buffer::default());
    for (length, fill) in (0..300).zip((0..=u8::MAX).cycle()) {
        let text = vec![fill; length];
        let write = |sink: &mut Fixed<'_, SMALL_BYTES>| {
            sink.put_array([fill; 4]);
            sink.put(&text);
            sink.put_array([fill]);
        };
        if !buffer.append_small(write) {
            assert!(length + 5 > SMALL_BYTES);
            buffer.put_array([fill; 4]);
            buffer.put(&text);
            buffer.put_array([fill]);
        }
        plain.extend(std::iter::repeat_n(fill, length + 5));
        assert_eq!((buffer.as_slice(), buffer.len()), (&plain[..], plain.len()));
    }
    buffer.clear();
    assert!(buffer.is_empty());
    assert!(buffer.append_small(|sink| sink.put_array([1, 2])));
    assert_eq!(buffer.as_slice(), [1, 2]);
}
