//! Unit tests of `src/journal/pages/free_space.rs`.

use super::*;

#[test]
fn the_smallest_room_that_is_large_enough_is_taken_and_the_rest_of_it_left() {
    let mut space = FreeSpace::default();
    assert_eq!((space.take(1), space.take(0)), (None, None));
    for (offset, length) in [(100, 30), (200, 10), (300, 20)] {
        space.free(offset, length);
    }
    assert_eq!((space.take(31), space.take(10)), (None, Some(200)));
    assert_eq!((space.take(15), space.take(5)), (Some(300), Some(315)));
    assert_eq!((space.take(30), space.take(1)), (Some(100), None));
}

#[test]
fn what_no_page_uses_is_free_in_whole_grains() {
    let mut used = UsedSpace::none_of(10_000);
    used.add(0, 8);
    // The file's first page ends in the second grain; the others leave whole grains free.
    for (offset, length) in [(8, 100), (640, 64), (704, 1), (6_399, 2), (7_000, 0), (20_000, 9)] {
        used.add(offset, length);
    }
    let (mut space, end) = used.rest();
    assert_eq!(end, 6_464);
    let free: Vec<_> = space.lengths.iter().map(|(offset, length)| (*offset, *length)).collect();
    assert_eq!(free, [(128, 512), (768, 5_568)]);
    assert_eq!(space.take(512), Some(128));
    let (none, end) = UsedSpace::none_of(0).rest();
    assert_eq!((none.lengths.len(), end), (0, 0));
}

#[test]
fn rooms_that_touch_are_one() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut space = FreeSpace::default();
        for part in order {
            space.free(100 + 10 * part, 10);
        }
        space.free(131, 10);
        assert_eq!((space.take(31), space.take(30), space.take(10)), (None, Some(100), Some(131)));
        assert_eq!((space.lengths.len(), space.by_length.len()), (0, 0));
    }
}

#[test]
fn what_is_known_is_bounded_and_the_largest_rooms_are() {
    let mut space = FreeSpace::default();
    for number in 0..EXTENTS_MAX as u64 + 100 {
        space.free(number * 1000, 1 + (number + 50) % 900);
    }
    assert_eq!((space.lengths.len(), space.by_length.len()), (EXTENTS_MAX, EXTENTS_MAX));
    assert!(space.by_length.first().is_some_and(|(length, _)| *length > 1));
    assert!(space.by_length.last().is_some_and(|(length, _)| *length == 900));
}
