//! What the demo's people believe of a question: log-odds that wander, jump with news, and near the
//! end of a market that is decided go to what happened. In thousandths, since nothing here is a
//! float: the same seed gives the same walk on every machine.

use super::chance::Chance;
use exchange::catalogue::Outcome;
use exchange::units::{TICKS_PER_UNIT, Tick};

/// Log-odds of 0.50, 0.51 and so on to 0.99, in thousandths.
const LOG_ODDS: [i64; 50] = [
    0, 40, 80, 120, 160, 201, 241, 282, 323, 364, 405, 447, 490, 532, 575, 619, 663, 708, 754, 800,
    847, 895, 944, 994, 1046, 1099, 1153, 1208, 1266, 1325, 1386, 1450, 1516, 1586, 1658, 1735,
    1815, 1901, 1992, 2091, 2197, 2314, 2442, 2587, 2752, 2944, 3178, 3476, 3892, 4595,
];
/// The furthest that beliefs go: 0.97, so that there is room for quotes.
const FURTHEST: i64 = 3480;
/// What is believed once the outcome is as good as known: 0.99.
const KNOWN: i64 = 4700;
const HOUR_MS: i64 = 3_600_000;
/// Beliefs come back to what is true within about so long.
const RETURN_MS: i64 = 15 * 24 * HOUR_MS;
/// News comes about once in so long.
const NEWS_MS: i64 = 18 * 24 * HOUR_MS;
/// How far news moves beliefs at least, and how much further at most.
const NEWS: (i64, i64) = (250, 700);

/// A question's log-odds, in thousandths.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    /// What is believed.
    at: i64,
    /// What will turn out to be right, and only the skilled suspect.
    truth: i64,
    /// The standard deviation of an hour's change.
    shake: i64,
}

impl Walk {
    /// Begins at a price, with a truth that is as far from it as it shakes.
    pub(crate) fn from(price: Tick, shake: i64, chance: &mut Chance) -> Walk {
        let at = log_odds(price);
        Walk { at, truth: at.saturating_add(chance.bell(shake.saturating_mul(20))), shake }
    }

    /// So much time passes.
    pub(crate) fn pass(&mut self, ms: i64, chance: &mut Chance) {
        let ms = ms.clamp(0, RETURN_MS);
        // The deviation grows with the root of the time: of hundredths of hours, ten times.
        let tenths = u64::try_from(ms / (HOUR_MS / 100)).unwrap_or(0).isqrt();
        let deviation = self.shake.saturating_mul(i64::try_from(tenths).unwrap_or(0)) / 10;
        self.at = self.at.saturating_add(chance.bell(deviation));
        self.approach(self.truth, ms, RETURN_MS);
        if chance.within(NEWS_MS) < ms {
            let (least, more) = NEWS;
            let jump = least.saturating_add(chance.within(more));
            let up = (self.truth > self.at) ^ chance.percent(30);
            self.at = self.at.saturating_add(if up { jump } else { -jump });
        }
        self.at = self.at.clamp(-FURTHEST, FURTHEST);
    }

    /// So much time of what is left passes until everybody knows the outcome.
    pub(crate) fn learn(&mut self, outcome: Outcome, ms: i64, left: i64) {
        self.truth = match outcome {
            Outcome::Yes => KNOWN,
            Outcome::No => -KNOWN,
        };
        self.approach(self.truth, ms, left.max(1));
    }

    /// Goes the part `ms` of `whole` of the way to `end`.
    fn approach(&mut self, end: i64, ms: i64, whole: i64) {
        let way = end.saturating_sub(self.at).saturating_mul(ms.min(whole)) / whole;
        self.at = self.at.saturating_add(way);
    }

    /// The price at which yes would be fair.
    pub(crate) fn fair(&self) -> Tick {
        let far = LOG_ODDS.partition_point(|odds| *odds <= self.at.abs());
        let above = u8::try_from(far.saturating_sub(1)).unwrap_or(0);
        let price = Tick::new((TICKS_PER_UNIT / 2).saturating_add(above)).unwrap_or(Tick::MAX);
        if self.at < 0 { price.complement() } else { price }
    }

    /// Whether yes is worth more than most believe.
    pub(crate) const fn is_underrated(&self) -> bool {
        self.truth > self.at
    }
}

/// The log-odds of a price, in thousandths.
fn log_odds(price: Tick) -> i64 {
    let half = TICKS_PER_UNIT / 2;
    let above = usize::from(price.get().abs_diff(half));
    let odds = LOG_ODDS.get(above).copied().unwrap_or(KNOWN);
    if price.get() < half { -odds } else { odds }
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/walk.rs"]
mod tests;
