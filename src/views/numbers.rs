//! Sets of small numbers, one bit per possible number.

use fixedbitset::FixedBitSet;

/// A set of numbers.
pub type Numbers = FixedBitSet;

/// The set of all numbers below `count`.
pub(super) fn all(count: usize) -> Numbers {
    let mut all = Numbers::with_capacity(count);
    all.insert_range(..);
    all
}

/// The set of those `numbers` that are below `count`, in any order. Allocates once, where `collect`
/// would grow with each larger number.
pub(super) fn these(count: usize, numbers: impl Iterator<Item = usize>) -> Numbers {
    let mut these = Numbers::with_capacity(count);
    numbers.filter(|number| *number < count).for_each(|number| these.insert(number));
    these
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_is_below_their_count() {
        for count in [0, 1, 63, 64, 65, 128, 200] {
            assert!(all(count).ones().eq(0..count));
            let odd = (0..count + 70).rev().filter(|number| number % 2 == 1);
            assert!(these(count, odd).ones().eq((0..count).filter(|number| number % 2 == 1)));
        }
    }
}
