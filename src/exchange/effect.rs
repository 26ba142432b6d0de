//! What happened, past tense: the exchange's only output.
//!
//! Effects say enough that a projection needs no rule of trade: amounts are given as they stand
//! after the change, and every change of the book names its side and price.

use super::catalogue::{
    CategoryDraft, EventDraft, EventRevision, MarketDraft, MarketRevision, Outcome,
};
use super::command::{Direction, KeyHash, PlaceOrder, Role, TradingMode};
use super::ids::{CategoryNo, EventNo, KeyNo, MarketNo, MarketSet, OrderNo, TradeIndex, UserNo};
use super::lifecycle::MarketStatus;
use super::reject::Reject;
use super::rules::Rules;
use super::units::{Lots, Money, MoneySum, Sequence, SettlementPrice, Tick, TimeMs};

/// Why an order no longer stands although not all of it was filled (semantics 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CancelReason {
    /// Its owner asked.
    User,
    /// Immediate-or-cancel, and this was left.
    IocRemainder,
    /// Fill-or-kill, and not all of it could be filled.
    FokNotFillable,
    /// It met its owner's other order.
    SelfTrade,
    /// Its time was over.
    Expired,
    /// Its market closed.
    MarketClosed,
    /// Its market was voided.
    MarketVoided,
    /// Its owner gave no sign of life in time.
    HeartbeatExpired,
}

impl CancelReason {
    /// The interface's code of the reason (semantics 4).
    pub const fn code(self) -> &'static str {
        match self {
            CancelReason::User => "USER",
            CancelReason::IocRemainder => "IOC_REMAINDER",
            CancelReason::FokNotFillable => "FOK_NOT_FILLABLE",
            CancelReason::SelfTrade => "SELF_TRADE",
            CancelReason::Expired => "EXPIRED",
            CancelReason::MarketClosed => "MARKET_CLOSED",
            CancelReason::MarketVoided => "MARKET_VOIDED",
            CancelReason::HeartbeatExpired => "HEARTBEAT_EXPIRED",
        }
    }
}

/// One of the two orders of a trade, as the trade left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    /// Order.
    pub order: OrderNo,
    /// Its owner.
    pub user: UserNo,
    /// What of the order is still to be filled. Zero: the order is filled.
    pub remaining: Lots,
    /// What the owner paid for the trade besides.
    pub fee: Money,
}

/// Two orders met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trade {
    /// Which of the record's trades.
    pub index: TradeIndex,
    /// Market.
    pub market: MarketNo,
    /// The price of yes: the resting order's. The down side's own price is its complement.
    pub price: Tick,
    /// Contracts that changed hands; more than zero.
    pub quantity: Lots,
    /// Which way the incoming order bets; the resting one bets the other way.
    pub taker_direction: Direction,
    /// The incoming order.
    pub taker: Party,
    /// The resting order.
    pub maker: Party,
}

/// What a user holds of one outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holding {
    /// Contracts, free and locked.
    pub held: Lots,
    /// Of these, the contracts that back resting orders.
    pub locked: Lots,
    /// What the held contracts cost.
    pub cost: Money,
    /// The trader that the opening order copied.
    pub copy_from: Option<UserNo>,
}

/// Why a record did what it did, or what it did, one thing at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The command was refused; the only effect of its record.
    Refused(Reject),
    /// The same was asked before, under the same client order id or idempotency key, and done by
    /// the record `first`; the only effect of its record.
    Repeated {
        /// The record that did it.
        first: Sequence,
    },
    /// What this record came to is the answer to every repetition of it, at least until then, and
    /// while the order that it placed stands. The last effect of its record.
    AnswerKept {
        /// First moment at which it may be forgotten.
        until: TimeMs,
    },
    /// The venue opened.
    VenueOpened(Rules),
    /// A user was created.
    UserCreated {
        /// Number of the user.
        user: UserNo,
        /// Public name.
        profile_name: String,
        /// Picture URL.
        profile_pic: String,
    },
    /// A user got an API key.
    KeyAdded {
        /// Owner.
        user: UserNo,
        /// Number of the key.
        key: KeyNo,
        /// What it may do.
        role: Role,
        /// The operator's note.
        label: String,
        /// Hash of the key.
        hash: KeyHash,
    },
    /// An API key stopped working.
    KeyRevoked {
        /// Owner.
        user: UserNo,
        /// Number of the key.
        key: KeyNo,
    },
    /// Money came in.
    Deposited {
        /// Account.
        user: UserNo,
        /// How much.
        amount: Money,
    },
    /// Money went out.
    Withdrawn {
        /// Account.
        user: UserNo,
        /// How much.
        amount: Money,
    },
    /// Fees went to an account; they had been the operator's outside all accounts.
    FeesTaken {
        /// Account.
        user: UserNo,
        /// How much.
        amount: Money,
    },
    /// An account's money, as it stands now.
    AccountChanged {
        /// Account.
        user: UserNo,
        /// Money free to use.
        available: Money,
        /// Money that backs resting orders.
        reserved: Money,
    },
    /// A user's dead man's switch was set.
    HeartbeatSet {
        /// User.
        user: UserNo,
        /// When it runs out; `None`: never.
        until: Option<TimeMs>,
    },
    /// A user's switch ran out. The orders are cancelled in the same record, and new ones are
    /// refused until it is set again.
    HeartbeatExpired {
        /// User.
        user: UserNo,
    },
    /// What anybody may ask, from now on.
    VenueModeSet {
        /// The mode.
        mode: TradingMode,
    },
    /// What a user may ask, from now on.
    UserModeSet {
        /// User.
        user: UserNo,
        /// The mode.
        mode: TradingMode,
    },
    /// What a user may be exposed to, from now on.
    ExposureLimitSet {
        /// User.
        user: UserNo,
        /// The limit; `None` is none.
        limit: Option<Money>,
    },
    /// A category was created.
    CategoryCreated {
        /// Number of the category.
        category: CategoryNo,
        /// What it is.
        draft: CategoryDraft,
    },
    /// An event was created.
    EventCreated {
        /// Number of the event.
        event: EventNo,
        /// What it is.
        draft: Box<EventDraft>,
    },
    /// A market was created, as a DRAFT.
    MarketCreated {
        /// Number of the market.
        market: MarketNo,
        /// What it is.
        draft: Box<MarketDraft>,
    },
    /// An event's texts or flags changed.
    EventRevised {
        /// Event.
        event: EventNo,
        /// What changed.
        revision: Box<EventRevision>,
    },
    /// A market's texts, flags or deadline changed.
    MarketRevised {
        /// Market.
        market: MarketNo,
        /// What changed.
        revision: Box<MarketRevision>,
    },
    /// A market went from one status to another.
    MarketMoved {
        /// Market.
        market: MarketNo,
        /// Status before.
        from: MarketStatus,
        /// Status now.
        to: MarketStatus,
        /// The deadline now.
        deadline: TimeMs,
        /// The announced outcome; `None` before the first announcement.
        winner: Option<Outcome>,
        /// What a yes contract paid; only once SETTLED or VOIDED.
        settled_at: Option<SettlementPrice>,
    },
    /// An order passed every check. What follows in the same record is what came of it; an order
    /// with nothing left after its trades is filled.
    OrderAccepted {
        /// Number of the order: the record's own sequence.
        order: OrderNo,
        /// What was asked.
        terms: PlaceOrder,
    },
    /// An order's price or quantity was changed; it stands outside the book until a later effect
    /// of the same record rests it again.
    OrderAmended {
        /// Order.
        order: OrderNo,
        /// Owner.
        user: UserNo,
        /// Market.
        market: MarketNo,
        /// Its side of the book.
        direction: Direction,
        /// The yes-price at which it stood.
        price_before: Tick,
        /// The yes-price of its limit now.
        price: Tick,
        /// What stood on the book before.
        remaining_before: Lots,
        /// Total quantity now, the filled part included.
        quantity: Lots,
        /// What is to be filled now.
        remaining: Lots,
        /// Whether it kept its place in the queue (it is then still in the book).
        kept_place: bool,
    },
    /// Two orders traded.
    TradeMade(Trade),
    /// What is left of an order went on the book.
    OrderRested {
        /// Order.
        order: OrderNo,
        /// Owner.
        user: UserNo,
        /// Market.
        market: MarketNo,
        /// Its side of the book.
        direction: Direction,
        /// The yes-price at which it stands.
        price: Tick,
        /// Contracts that stand.
        remaining: Lots,
    },
    /// What was left of an order will not be filled.
    OrderCancelled {
        /// Order.
        order: OrderNo,
        /// Owner.
        user: UserNo,
        /// Market.
        market: MarketNo,
        /// Its side of the book.
        direction: Direction,
        /// The yes-price of its limit.
        price: Tick,
        /// Contracts cancelled.
        quantity: Lots,
        /// Whether it stood on the book.
        rested: bool,
        /// Why.
        reason: CancelReason,
    },
    /// What a user holds in a market, as it stands now.
    PositionChanged {
        /// User.
        user: UserNo,
        /// Market.
        market: MarketNo,
        /// Yes contracts.
        yes: Holding,
        /// No contracts.
        no: Holding,
        /// Profit and loss realised in this market so far.
        realised: MoneySum,
    },
    /// No contracts of some of an event's markets were exchanged for cash, and for as many yes
    /// contracts of each of its other markets. What is held and owned now follows.
    Converted {
        /// User.
        user: UserNo,
        /// Event.
        event: EventNo,
        /// The markets of which no contracts were given.
        markets: MarketSet,
        /// Contracts given of each, and got of each other.
        quantity: Lots,
        /// Money got, besides what got contracts merged for.
        cash: Money,
    },
    /// The last market of an event has paid out: what is left of the sets that were converted is
    /// the venue's.
    SetsSettled {
        /// Event.
        event: EventNo,
        /// Sets that were converted.
        sets: Lots,
        /// What is left; zero where the prices of yes came to 1.00.
        surplus: Money,
    },
    /// A final market paid out a user's contracts.
    PositionSettled {
        /// User.
        user: UserNo,
        /// Market.
        market: MarketNo,
        /// Yes contracts paid.
        yes: Lots,
        /// No contracts paid.
        no: Lots,
        /// Money paid for them.
        payout: Money,
        /// Profit and loss realised in this market, the pay-out included.
        realised: MoneySum,
    },
}

/// A record's effects, with its place: what every projection folds.
#[derive(Debug, Clone, Copy)]
pub struct Applied<'a> {
    /// The record.
    pub sequence: Sequence,
    /// Its time, which is the time of all its effects.
    pub time: TimeMs,
    /// What happened, in order.
    pub effects: &'a [Effect],
}
