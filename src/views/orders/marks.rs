//! An order's outcome, side and kind of time in force, packed in four bits.

use exchange::catalogue::Outcome;
use exchange::command::{Side, TimeInForce, Wording};
use exchange::units::TimeMs;

const NO: u8 = 1;
const SELLS: u8 = 1 << 1;
const EXPIRES: u8 = 1 << 2;
const AT_ONCE: u8 = 2 << 2;
const WHOLE: u8 = 3 << 2;

/// An order's wording and kind of time in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    /// The bits used here; the others are free for the caller.
    pub(super) const BITS: u8 = NO | SELLS | WHOLE;

    pub(super) const fn of(wording: Wording, time_in_force: TimeInForce) -> Marks {
        let outcome = match wording.outcome {
            Outcome::Yes => 0,
            Outcome::No => NO,
        };
        let side = match wording.side {
            Side::Buy => 0,
            Side::Sell => SELLS,
        };
        let stands = match time_in_force {
            TimeInForce::GoodTillCancelled { expires_at: None } => 0,
            TimeInForce::GoodTillCancelled { expires_at: Some(_) } => EXPIRES,
            TimeInForce::ImmediateOrCancel => AT_ONCE,
            TimeInForce::FillOrKill => WHOLE,
        };
        Marks(outcome | side | stands)
    }

    /// From a byte that holds [`bits`](Marks::bits); other bits are ignored.
    pub(super) const fn from_bits(bits: u8) -> Marks {
        Marks(bits & Marks::BITS)
    }

    pub(super) const fn bits(self) -> u8 {
        self.0
    }

    pub(super) const fn wording(self) -> Wording {
        Wording {
            outcome: if self.0 & NO == 0 { Outcome::Yes } else { Outcome::No },
            side: if self.0 & SELLS == 0 { Side::Buy } else { Side::Sell },
        }
    }

    /// Whether the order has an expiry time, which is stored elsewhere.
    pub(super) const fn expires(self) -> bool {
        self.0 & WHOLE == EXPIRES
    }

    /// The time in force, with this expiry time if it has one.
    pub(super) const fn time_in_force(self, expires_at: Option<TimeMs>) -> TimeInForce {
        match self.0 & WHOLE {
            0 => TimeInForce::GoodTillCancelled { expires_at: None },
            EXPIRES => TimeInForce::GoodTillCancelled { expires_at },
            AT_ONCE => TimeInForce::ImmediateOrCancel,
            _ => TimeInForce::FillOrKill,
        }
    }
}
