//! The limits that shape outcomes. They are journaled as record 1, so that a journal replays
//! under the rules it was written under, whatever later versions allow.

use super::units::Money;

/// The version of the rules in this file. A change in what any command does gets a new one.
pub const RULES_VERSION: u32 = 1;

/// No rules may allow more orders on all books together. Slots are numbered by 32 bits, and one
/// command may fill or cancel every resting order, each trade taking an index of 26 bits in its
/// id.
pub const VENUE_OPEN_ORDERS_CEILING: u32 = 1 << 25;

/// No rules may allow more money in a venue: 90 billion. No account can then hold more than the
/// range of [`Money`], whoever wins against whom.
pub const MONEY_SUPPLY_CEILING: Money = Money::new(9_000_000_000_000_000_000);

/// Most markets of a mutually exclusive event, in this version of the rules: a conversion touches
/// each of them, and a record must not do without bound.
pub const EXCLUSIVE_MARKETS_MAX: usize = 256;

/// What a venue is opened with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// [`RULES_VERSION`] of the software that opened the venue.
    pub version: u32,
    /// Code of the one currency, 3 to 8 ASCII capitals.
    pub currency: String,
    /// Open orders one user may have; the next is refused (semantics 7: 10,000).
    pub user_open_orders_max: u32,
    /// Orders that may stand on all books together; the next is refused. At most
    /// [`VENUE_OPEN_ORDERS_CEILING`].
    pub venue_open_orders_max: u32,
    /// What all deposits less all withdrawals may come to; a deposit beyond is refused. More
    /// than zero, at most [`MONEY_SUPPLY_CEILING`].
    pub money_supply_max: Money,
    /// For how long at least a client order id or an idempotency key is remembered, in seconds of
    /// the records' time (semantics 8: a day).
    pub repeat_window_seconds: u32,
    /// Client order ids and idempotency keys of one user that are remembered at once, each part of
    /// a key for one; the next is refused until some are so old that they no longer count.
    pub user_names_max: u32,
}

impl Rules {
    /// The rules of a new venue.
    pub fn current() -> Rules {
        Rules {
            version: RULES_VERSION,
            currency: "USD".to_owned(),
            user_open_orders_max: 10_000,
            venue_open_orders_max: VENUE_OPEN_ORDERS_CEILING,
            money_supply_max: MONEY_SUPPLY_CEILING,
            repeat_window_seconds: 24 * 60 * 60,
            // Eleven new ones a second, day and night.
            user_names_max: 1_000_000,
        }
    }

    /// Whether this program can keep them: a version it knows, no limit beyond its ceiling.
    pub fn known(&self) -> bool {
        self.version == RULES_VERSION && self.within_ceilings().is_ok()
    }

    /// Whether every limit is one that a venue can have.
    ///
    /// # Errors
    /// The name of the first that is not.
    pub fn within_ceilings(&self) -> Result<(), &'static str> {
        if self.venue_open_orders_max > VENUE_OPEN_ORDERS_CEILING {
            return Err("venue_open_orders_max");
        }
        if self.money_supply_max <= Money::ZERO || self.money_supply_max > MONEY_SUPPLY_CEILING {
            return Err("money_supply_max");
        }
        Ok(())
    }
}
