//! Where everything that happens by chance comes from: one stream of numbers from a seed.

/// Draws numbers; the same seed draws the same ones anywhere.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// From a seed.
    pub const fn of(seed: u64) -> Chance {
        Chance(seed)
    }

    /// The next number (splitmix64).
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound; zero if there is none.
    pub const fn below(&mut self, bound: u64) -> u64 {
        match self.number().checked_rem(bound) {
            Some(number) => number,
            None => 0,
        }
    }

    /// An index of a list of this length.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u64::try_from(length).unwrap_or(u64::MAX))).unwrap_or(0)
    }

    /// A number from a range, its ends included.
    pub const fn within(&mut self, from: u64, to: u64) -> u64 {
        from.saturating_add(self.below(to.saturating_sub(from).saturating_add(1)))
    }

    /// The same of small numbers with a sign.
    pub fn signed(&mut self, from: i16, to: i16) -> i16 {
        let span = u64::try_from(i32::from(to) - i32::from(from)).unwrap_or(0);
        from.saturating_add(i16::try_from(self.below(span + 1)).unwrap_or(0))
    }

    /// The same of bytes.
    pub fn byte(&mut self, from: u8, to: u8) -> u8 {
        u8::try_from(self.within(from.into(), to.into())).unwrap_or(from)
    }

    /// Whether what happens once in so many times happens; never if that is zero.
    pub const fn one_in(&mut self, times: u64) -> bool {
        times > 0 && self.below(times) == 0
    }

    /// One of several.
    pub fn of_all<T: Copy>(&mut self, all: &[T], otherwise: T) -> T {
        let index = self.index(all.len());
        all.get(index).copied().unwrap_or(otherwise)
    }

    /// The place of one of several that have these weights.
    pub fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (place, weight) in weights.iter().enumerate() {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return place,
            }
        }
        0
    }

    /// Another stream, which this one decides.
    pub const fn split(&mut self) -> Chance {
        Chance(self.number())
    }
}
