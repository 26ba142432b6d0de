//! The limits that shape outcomes. They are journaled as record 1, so that a journal replays
//! under the rules it was written under, whatever later versions allow.

use super::units::Money;

/// The version of the rules in this file. A change in what any command does gets a new one.
pub const RULES_VERSION: u32 = 1;

/// Orders on all books together. Slots are numbered by 32 bits, and one command may fill or
/// cancel every resting order, each trade taking an index of 26 bits in its id.
pub const VENUE_OPEN_ORDERS_MAX: u32 = 1 << 25;

/// All deposits less all withdrawals: 90 billion. No account can then hold more than the range of
/// [`Money`], whoever wins against whom.
pub const MONEY_SUPPLY_MAX: Money = Money::new(9_000_000_000_000_000_000);

/// What a venue is opened with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// [`RULES_VERSION`] of the software that opened the venue.
    pub version: u32,
    /// Code of the one currency, 3 to 8 ASCII capitals.
    pub currency: String,
    /// Open orders one user may have; the next is refused (semantics 7: 10,000).
    pub user_open_orders_max: u32,
}

impl Rules {
    /// The rules of a new venue.
    pub fn current() -> Rules {
        Rules { version: RULES_VERSION, currency: "USD".to_owned(), user_open_orders_max: 10_000 }
    }
}
