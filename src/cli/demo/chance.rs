//! Seeded chance: the same seed gives the same demo.

/// Contracts that real takers bought at once, at the twentieths of their distribution, from the
/// recordings in `tests/flow`.
const TAKEN: [u64; 20] =
    [1, 2, 3, 4, 5, 8, 9, 11, 14, 17, 20, 25, 32, 40, 52, 65, 90, 122, 211, 480];

/// Numbers that look random (`SplitMix64`).
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The numbers of this seed.
    pub(crate) const fn seeded(seed: u64) -> Chance {
        Chance(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if that is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.next()).wrapping_mul(u128::from(end));
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from 0 on, below `end`, for times and lengths of time.
    pub(crate) fn within(&mut self, end: i64) -> i64 {
        i64::try_from(self.below(u64::try_from(end).unwrap_or(0))).unwrap_or(0)
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, cases: u64) -> bool {
        self.below(100) < cases
    }

    /// About normal, with this standard deviation: three even ones have its variance.
    pub(crate) fn bell(&mut self, deviation: i64) -> i64 {
        let width = deviation.saturating_mul(2).saturating_add(1);
        let mut sum = 0_i64;
        for _ in 0..3 {
            sum = sum.saturating_add(self.within(width).saturating_sub(deviation));
        }
        sum
    }

    /// One of several; `None` if there are none.
    pub(crate) fn pick<'a, T>(&mut self, several: &'a [T]) -> Option<&'a T> {
        let place = self.below(u64::try_from(several.len()).unwrap_or(0));
        several.get(usize::try_from(place).unwrap_or(0))
    }

    /// Contracts that somebody takes at once, in hundredths of what is usual; at least one.
    pub(crate) fn taken(&mut self, hundredths: u64) -> u64 {
        let usual = self.pick(&TAKEN).copied().unwrap_or(1);
        (usual.saturating_mul(hundredths) / 100).max(1)
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/chance.rs"]
mod tests;
