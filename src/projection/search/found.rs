//! Markets found so far: a bit for each market that there is.

use crate::exchange::ids::MarketNo;

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// Some of the markets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found(Vec<u64>);

impl Found {
    /// All of so many.
    pub(super) fn all(markets: usize) -> Found {
        let mut all = Found::none(markets);
        all.0.fill(u64::MAX);
        // There are no markets behind the last one.
        if let Some(last) = all.0.last_mut()
            && !markets.is_multiple_of(BITS)
        {
            *last = (1 << (markets % BITS)) - 1;
        }
        all
    }

    /// None of so many.
    pub(super) fn none(markets: usize) -> Found {
        Found(vec![0; markets.div_ceil(BITS)])
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Whether a market is among them. O(1).
    pub fn has(&self, market: MarketNo) -> bool {
        let bits = self.0.get(market.index() / BITS);
        bits.is_some_and(|bits| bits >> (market.index() % BITS) & 1 == 1)
    }

    /// Adds one.
    pub(super) fn add(&mut self, market: MarketNo) {
        if let Some(bits) = self.0.get_mut(market.index() / BITS) {
            *bits |= 1 << (market.index() % BITS);
        }
    }

    /// Leaves those that are among the others too.
    pub(super) fn keep_those_of(&mut self, others: &Found) {
        for (bits, others) in self.0.iter_mut().zip(&others.0) {
            *bits &= others;
        }
    }

    /// Leaves those of which this is true.
    pub(super) fn keep(&mut self, is_kept: impl Fn(MarketNo) -> bool) {
        for (first, bits) in (0_u32..).step_by(BITS).zip(&mut self.0) {
            let mut left = *bits;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !is_kept(MarketNo(first.saturating_add(bit))) {
                    *bits &= !(1 << bit);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_as_many_as_there_are() {
        for markets in [0, 1, 63, 64, 65, 128, 200] {
            let all = Found::all(markets);
            assert_eq!((all.count(), Found::none(markets).count()), (markets, 0));
            let markets = u32::try_from(markets).unwrap();
            assert!((0..markets).all(|market| all.has(MarketNo(market))));
            assert!(!all.has(MarketNo(markets)));
        }
    }
}
