//! What an order says: which way it bets, how long it rests, and under which conditions.

use super::catalogue::Outcome;
use super::ids::{Group, KeyNo, MarketNo, Token, UserNo};
use super::table::{choice, part};
use super::units::{Lots, Tick, TimeMs};

choice! {
    /// Whether an order's owner buys or sells the outcome it names. `SELL` needs no holdings: it
    /// bets that the outcome will not happen (interface 4.5).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Side by name {
        /// Betting that the outcome happens.
        Buy = 1 "BUY",
        /// Betting that it does not.
        Sell = 2 "SELL",
    }
}

choice! {
    /// Which way an order bets, and so its side of the market's one book (semantics 4).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Direction by name {
        /// On yes: buy yes, or sell no. Rests among the bids.
        Up = 1 "bid",
        /// On no: sell yes, or buy no. Rests among the asks.
        Down = 2 "ask",
    }
}

impl Direction {
    /// The side it trades against.
    #[must_use]
    pub const fn opposite(self) -> Direction {
        match self {
            Direction::Up => Direction::Down,
            Direction::Down => Direction::Up,
        }
    }

    /// The outcome whose contracts a cash-backed fill brings.
    pub const fn gains(self) -> Outcome {
        match self {
            Direction::Up => Outcome::Yes,
            Direction::Down => Outcome::No,
        }
    }

    /// The outcome whose contracts back such an order and are handed over first.
    pub const fn closes(self) -> Outcome {
        self.gains().other()
    }

    /// What one contract costs on this side when yes trades at `yes`: `yes` up, its complement
    /// down.
    #[must_use]
    pub const fn own_price(self, yes: Tick) -> Tick {
        match self {
            Direction::Up => yes,
            Direction::Down => yes.complement(),
        }
    }
}

part! {
    /// The outcome and side that an order's owner wrote. The book uses a direction and a yes-price
    /// instead; the wording is kept to show the order as its owner wrote it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Wording {
        /// The outcome named.
        pub outcome: Outcome,
        /// Bought or sold.
        pub side: Side,
    }
}

impl Wording {
    /// Which way it bets.
    pub const fn direction(self) -> Direction {
        match (self.outcome, self.side) {
            (Outcome::Yes, Side::Buy) | (Outcome::No, Side::Sell) => Direction::Up,
            (Outcome::Yes, Side::Sell) | (Outcome::No, Side::Buy) => Direction::Down,
        }
    }

    /// A price of the named outcome as a price of yes, and back: it is its own inverse.
    #[must_use]
    pub const fn yes_price(self, price: Tick) -> Tick {
        match self.outcome {
            Outcome::Yes => price,
            Outcome::No => price.complement(),
        }
    }
}

/// How long an order rests (interface 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeInForce {
    /// `GTC`: the unfilled rest stays on the book until cancelled, or until the time given.
    GoodTillCancelled {
        /// First moment at which the order is no longer open.
        expires_at: Option<TimeMs>,
    },
    /// `IOC`: the unfilled rest is cancelled.
    ImmediateOrCancel,
    /// `FOK`: filled completely at once or cancelled.
    FillOrKill,
}

impl TimeInForce {
    /// The interface's name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            TimeInForce::GoodTillCancelled { .. } => "GTC",
            TimeInForce::ImmediateOrCancel => "IOC",
            TimeInForce::FillOrKill => "FOK",
        }
    }

    /// First moment at which the order is no longer open, if one was given.
    pub const fn expires_at(self) -> Option<TimeMs> {
        match self {
            TimeInForce::GoodTillCancelled { expires_at } => expires_at,
            TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => None,
        }
    }
}

choice! {
    /// What happens when an order meets its owner's own resting order (semantics 4).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum SelfTradePrevention by name {
        /// Matching stops and the rest of the incoming order is cancelled. The default.
        CancelTaker = 1 "CANCEL_TAKER",
        /// The resting order is cancelled and matching goes on.
        CancelMaker = 2 "CANCEL_MAKER",
        /// Both.
        CancelBoth = 3 "CANCEL_BOTH",
    }
}

/// A condition under which an order is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Condition {
    /// None.
    Unconditional,
    /// Refused if it would trade at once (`POST_ONLY_WOULD_CROSS`).
    PostOnly,
    /// Refused unless the owner's contracts back all of it (`REDUCE_ONLY_EXCEEDED`).
    ReduceOnly,
    /// Both.
    PostOnlyReduceOnly,
}

impl Condition {
    /// Whether it must not trade at once.
    pub const fn post_only(self) -> bool {
        matches!(self, Condition::PostOnly | Condition::PostOnlyReduceOnly)
    }

    /// Whether it may only close contracts.
    pub const fn reduce_only(self) -> bool {
        matches!(self, Condition::ReduceOnly | Condition::PostOnlyReduceOnly)
    }
}

part! {
    /// A limit order.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PlaceOrder {
        /// Owner.
        pub user: UserNo,
        /// Market.
        pub market: MarketNo,
        /// Outcome and side as the owner wrote them.
        pub wording: Wording,
        /// Limit as the owner wrote it, a price of the named outcome.
        pub price: Tick,
        /// Contracts wanted; more than zero.
        pub quantity: Lots,
        /// How long it rests.
        pub time_in_force: TimeInForce,
        /// What happens when it meets the owner's own order.
        pub self_trade: SelfTradePrevention,
        /// Under which condition it is refused.
        pub condition: Condition,
        /// Refused with `ORDER_TOO_LATE` when stamped later than this.
        pub valid_until: Option<TimeMs>,
        /// The trader whose bet this copies; shown on the position it opens.
        pub copy_from: Option<UserNo>,
        /// The owner's own id for it: a second order with it is not placed. Boxed because most
        /// orders have none, and 64 bytes would make every command larger.
        pub client_order_id: Option<Box<Token>>,
        ; 2
        /// The group to which the owner counts it.
        pub group: Box<Group>,
        ; 3
        /// The owner's API key that it was sent with; `None` for one without, as of a browser.
        pub key: KeyNo,
    }
}

impl PlaceOrder {
    /// A good-till-cancelled order without conditions or a client order id.
    pub const fn plain(
        user: UserNo,
        market: MarketNo,
        wording: Wording,
        price: Tick,
        quantity: Lots,
    ) -> Self {
        PlaceOrder {
            user,
            market,
            wording,
            price,
            quantity,
            time_in_force: TimeInForce::GoodTillCancelled { expires_at: None },
            self_trade: SelfTradePrevention::CancelTaker,
            condition: Condition::Unconditional,
            valid_until: None,
            copy_from: None,
            client_order_id: None,
            group: None,
            key: None,
        }
    }
}
