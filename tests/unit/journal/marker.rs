//! Unit tests of `src/journal/recovery.rs`.

use super::*;

#[test]
fn a_marker_is_read_as_written_and_any_other_byte_makes_it_unreadable() {
    let refused = Marker::Refused { first: Sequence::new(7), previous: ChainHash([0xAB; 32]) };
    for marker in [Marker::Clear, refused] {
        let bytes = marker.encode();
        assert_eq!(Marker::decode(&bytes), marker);
        for bit in 0..SLOT_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Marker::decode(&flipped), Marker::Unreadable, "bit {bit}");
        }
        for length in 0..SLOT_BYTES {
            assert_eq!(Marker::decode(&bytes[..length]), Marker::Unreadable, "{length}");
        }
    }
    assert_eq!(Marker::decode(&[0; SLOT_BYTES]), Marker::Unreadable);
}
