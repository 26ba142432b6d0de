//! Unit tests of `src/views/table.rs`.

use super::*;

#[test]
fn sets_hold_what_is_below_their_count() {
    for count in [0, 1, 63, 64, 65, 128, 200] {
        assert!(set_of_all(count).ones().eq(0..count));
        let odd = (0..count + 70).rev().filter(|number| number % 2 == 1);
        assert!(set_of(count, odd).ones().eq((0..count).filter(|number| number % 2 == 1)));
    }
}
