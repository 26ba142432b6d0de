//! The limits that decide what commands do. They are journaled as record 1, so that a journal
//! replays under the rules it was written under, whatever later versions allow.

use super::table::part;
use super::units::Money;

/// The version of the rules in this file. A change in what any command does gets a new one, and
/// journals from [`RULES_VERSION_OLDEST`] on replay under the one that they were written under.
pub const RULES_VERSION: u32 = 2;

/// The oldest rules that this program still applies.
pub const RULES_VERSION_OLDEST: u32 = 1;

/// The most open orders, on all books together, that any rules may allow. Slots are numbered by 32
/// bits, and one command may fill or cancel every resting order, while the trade index in an id has
/// 26 bits.
pub const VENUE_OPEN_ORDERS_CEILING: u32 = 1 << 25;

/// The most money in a venue that any rules may allow: 90 billion. It keeps every account within
/// the range of [`Money`], even if one user wins everything.
pub const MONEY_SUPPLY_CEILING: Money = Money::new(9_000_000_000_000_000_000);

// Fixed by versions 1 and 2 of the rules: another value is another version.

/// Most markets of a mutually exclusive event: a conversion touches each of them, and the work of
/// one record must be bounded.
pub const EXCLUSIVE_MARKETS_MAX: usize = 256;

/// Fills of one order whose rounding up the reserve for fees covers: 0.0001 of the currency at most
/// (`fees.rs`).
pub const ROUND_UPS_COVERED: u64 = 10_000;

/// Names, client order ids and idempotency keys, of all users, up to which a user may have more
/// than [`USER_NAMES_SHARE`]: some 1 GB of memory (`benches/neighbours.py`).
pub const VENUE_NAMES_MAX: u64 = 10_000_000;

/// Proposals that wait for another operator: the next is refused.
pub const PROPOSALS_MAX: usize = 1000;

/// Seconds after which a proposal is over: a day.
pub const PROPOSAL_SECONDS: u32 = 86_400;

/// Transfers of one user that wait for an answer.
pub const USER_TRANSFERS_MAX: usize = 10;

/// Names that a user may have however many there are: one for each order that may be open.
pub const USER_NAMES_SHARE: u32 = 10_000;

/// Under version 1, names from which on a venue has many, and those that one user may have then.
const VENUE_NAMES_MANY_V1: u64 = 4_000_000;
const USER_NAMES_OF_MANY_MAX_V1: u32 = 100_000;

/// Groups of one user that have a heartbeat; the next is refused. One for each of the keys that a
/// user makes.
pub const GROUP_HEARTBEATS_MAX: usize = 32;

/// Most bytes of a slug.
pub const SLUG_BYTES_MAX: usize = 80;

/// Most bytes of the reason that an operator gives for an act.
pub const REASON_BYTES_MAX: usize = 2000;
/// Most bytes of the address of an operator's evidence.
pub const EVIDENCE_BYTES_MAX: usize = 2048;

/// Sessions of one user: the next sign-in ends the one that would end first.
pub const SESSIONS_MAX: usize = 16;
/// Recovery codes of one user.
pub const RECOVERY_CODES_MAX: usize = 10;

/// Orders cancelled and positions paid by one record at most where ends are sliced: about what
/// others may wait for (`benches/neighbours.py`). What one user asks for of the user's own is not
/// counted.
pub const SLICE: u32 = 256;

part! {
    /// What a venue is opened with.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Rules {
        /// [`RULES_VERSION`] of the software that opened the venue.
        pub version: u32 = "rules_version",
        /// Code of the one currency, 3 to 8 ASCII capitals.
        pub currency: String,
        /// Open orders one user may have; the next is refused (semantics 7: 10,000).
        pub user_open_orders_max: u32,
        /// Open orders on all books together; the next is refused. At most
        /// [`VENUE_OPEN_ORDERS_CEILING`].
        pub venue_open_orders_max: u32,
        /// The largest sum of all deposits less all withdrawals; a deposit beyond it is refused.
        /// More than zero, at most [`MONEY_SUPPLY_CEILING`].
        pub money_supply_max: Money,
        /// The shortest time that a client order id or an idempotency key is remembered, in seconds
        /// of the records' time (semantics 8: a day).
        pub repeat_window_seconds: u32,
        /// Client order ids and idempotency keys of one user that are remembered at once, where
        /// each part of a key counts as one; the next is refused until old ones expire.
        pub user_names_max: u32,
    }
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

    /// Names that a user may have where there are `all`. From version 2 on they are as many as
    /// there is room for others, so that the users who have most are refused first.
    pub fn names_max(&self, all: u64) -> u32 {
        if self.version < 2 {
            let many = all >= VENUE_NAMES_MANY_V1;
            let max = if many { USER_NAMES_OF_MANY_MAX_V1 } else { u32::MAX };
            return self.user_names_max.min(max);
        }
        let room = u32::try_from(VENUE_NAMES_MAX.saturating_sub(all)).unwrap_or(u32::MAX);
        self.user_names_max.min(room.max(USER_NAMES_SHARE))
    }

    /// Whether this program can apply them: a version it knows, no limit beyond its ceiling.
    pub fn known(&self) -> bool {
        (RULES_VERSION_OLDEST..=RULES_VERSION).contains(&self.version)
            && self.within_ceilings().is_ok()
    }

    /// Whether an end with much to do, and whatever else comes due, is done in slices (since
    /// version 2). Before, one record did all of it.
    pub const fn ends_in_slices(&self) -> bool {
        self.version >= 2
    }

    /// Whether an amended order keeps the contracts that back it and that it can still use, and an
    /// amend that changes nothing does nothing. Under version 1 an amend freed all of them first,
    /// so that they met the owner's opposite contracts and merged.
    pub const fn amends_keep_contracts(&self) -> bool {
        self.version >= 2
    }

    /// Whether the limits with bounds are within them.
    ///
    /// # Errors
    /// The name of the first limit that is not.
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
