//! Unit tests of `src/http/wire/escapes.rs`.

use super::*;

#[test]
fn every_byte_that_is_escaped_is_seen_wherever_it_stands() {
    for byte in 0..=u8::MAX {
        for beside in [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
            for place in 0..19 {
                let mut text = [beside; 19];
                text[place] = byte;
                let found = escaped(byte).then_some(place);
                assert_eq!(first_escaped(&text), found, "{byte} at {place} in {beside}");
            }
        }
    }
}

#[test]
fn the_first_of_two_is_found() {
    for first in [0, 0x1f, b'"', b'\\'] {
        for (place, next) in (0..18).flat_map(|place| [(place, place + 1), (place, 18)]) {
            let mut text = [b'!'; 19];
            (text[place], text[next]) = (first, b'"');
            assert_eq!(first_escaped(&text), Some(place), "{first} at {place}");
        }
    }
}
