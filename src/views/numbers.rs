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
#[path = "../../tests/unit/views/numbers.rs"]
mod tests;
