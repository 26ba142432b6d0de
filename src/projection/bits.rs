//! Some of many numbered things: a bit for each that there is.

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// Some of the things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// All of so many.
    pub(super) fn all(count: usize) -> Bits {
        let mut all = Bits::none(count);
        all.0.fill(u64::MAX);
        // There are none behind the last one.
        if let Some(last) = all.0.last_mut()
            && !count.is_multiple_of(BITS)
        {
            *last = (1 << (count % BITS)) - 1;
        }
        all
    }

    /// None of so many.
    pub(super) fn none(count: usize) -> Bits {
        Bits(vec![0; count.div_ceil(BITS)])
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Whether one is among them. O(1).
    pub fn has(&self, number: usize) -> bool {
        let bits = self.0.get(number / BITS);
        bits.is_some_and(|bits| bits >> (number % BITS) & 1 == 1)
    }

    /// Adds one.
    pub(super) fn add(&mut self, number: usize) {
        if let Some(bits) = self.0.get_mut(number / BITS) {
            *bits |= 1 << (number % BITS);
        }
    }

    /// Leaves those that are among the others too.
    pub(super) fn keep_those_of(&mut self, others: &Bits) {
        for (bits, others) in self.0.iter_mut().zip(&others.0) {
            *bits &= others;
        }
    }

    /// Leaves those that are not among the others.
    pub(super) fn keep_all_but(&mut self, others: &Bits) {
        for (bits, others) in self.0.iter_mut().zip(&others.0) {
            *bits &= !others;
        }
    }

    /// Leaves those of which this is true.
    pub(super) fn keep(&mut self, is_kept: impl Fn(usize) -> bool) {
        for (first, bits) in (0..).step_by(BITS).zip(&mut self.0) {
            let mut left = *bits;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !is_kept(bit as usize | first) {
                    *bits &= !(1 << bit);
                }
            }
        }
    }

    /// All of them, the last one first.
    pub(super) fn last_first(self) -> impl Iterator<Item = usize> {
        let firsts = (0..self.0.len()).map(|word| word * BITS);
        let words = firsts.zip(self.0).rev();
        words.flat_map(|(first, mut left)| {
            std::iter::from_fn(move || {
                let bit = left.checked_ilog2()?;
                left &= !(1 << bit);
                Some(bit as usize | first)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_are_as_many_as_there_are() {
        for count in [0, 1, 63, 64, 65, 128, 200] {
            let all = Bits::all(count);
            assert_eq!((all.count(), Bits::none(count).count()), (count, 0));
            assert!(!all.has(count));
            assert!(all.last_first().eq((0..count).rev()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn they_are_kept_as_sets_are(
            these in prop::collection::btree_set(0..200_usize, 0..80),
            those in prop::collection::btree_set(0..200_usize, 0..80),
            parts in 1..5_usize,
        ) {
            let of = |set: &BTreeSet<usize>| {
                let mut bits = Bits::none(200);
                for number in set {
                    bits.add(*number);
                }
                bits
            };
            let same = |bits: Bits, set: BTreeSet<usize>| {
                bits.count() == set.len()
                    && (0..201).all(|number| bits.has(number) == set.contains(&number))
                    && bits.last_first().eq(set.into_iter().rev())
            };
            prop_assert!(same(of(&these), these.clone()));
            let mut bits = of(&these);
            bits.keep_those_of(&of(&those));
            prop_assert!(same(bits, &these & &those));
            let mut bits = of(&these);
            bits.keep_all_but(&of(&those));
            prop_assert!(same(bits, &these - &those));
            let mut bits = of(&these);
            bits.keep(|number| number % parts == 0);
            prop_assert!(same(bits, these.into_iter().filter(|n| n % parts == 0).collect()));
        }
    }
}
