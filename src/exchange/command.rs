//! What can be asked of the exchange, and a record: what was asked, in its place.

use super::catalogue::{
    CategoryDraft, EventDraft, EventRevision, MarketDraft, MarketRevision, Outcome,
};
use super::ids::{EventNo, KeyNo, MarketNo, MarketSet, OrderNo, Token, UserNo};
use super::rules::Rules;
use super::units::{Lots, Money, Sequence, SettlementPrice, Tick, TimeMs};

/// Whether an order's owner buys or sells the outcome it names. `SELL` needs no holdings: it bets
/// that the outcome will not happen (interface 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Betting that the outcome happens.
    Buy,
    /// Betting that it does not.
    Sell,
}

impl Side {
    /// The interface's name of the side.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Buy => "BUY",
            Side::Sell => "SELL",
        }
    }
}

/// Which way an order bets, and so its side of the market's one book (semantics 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// On yes: buy yes, or sell no. Rests among the bids.
    Up,
    /// On no: sell yes, or buy no. Rests among the asks.
    Down,
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

/// An order's price in the words of its owner. The book knows it as a direction and a yes-tick;
/// the words are kept for the owner's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wording {
    /// The outcome named.
    pub outcome: Outcome,
    /// Bought or sold.
    pub side: Side,
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

/// How long an order stands (interface 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeInForce {
    /// `GTC`: what is left rests until cancelled, or until the time given.
    GoodTillCancelled {
        /// First moment at which the order no longer stands.
        expires_at: Option<TimeMs>,
    },
    /// `IOC`: what is left is cancelled.
    ImmediateOrCancel,
    /// `FOK`: whole at once or not at all.
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

    /// First moment at which the order no longer stands, if one was given.
    pub const fn expires_at(self) -> Option<TimeMs> {
        match self {
            TimeInForce::GoodTillCancelled { expires_at } => expires_at,
            TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => None,
        }
    }
}

/// What happens when an order meets its owner's own resting order (semantics 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SelfTradePrevention {
    /// Matching stops and the rest of the incoming order is cancelled. The default.
    CancelTaker,
    /// The resting order is cancelled and matching goes on.
    CancelMaker,
    /// Both.
    CancelBoth,
}

/// A condition that refuses an order which would do otherwise.
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
    /// Whether it may only rest.
    pub const fn post_only(self) -> bool {
        matches!(self, Condition::PostOnly | Condition::PostOnlyReduceOnly)
    }

    /// Whether it may only close contracts.
    pub const fn reduce_only(self) -> bool {
        matches!(self, Condition::ReduceOnly | Condition::PostOnlyReduceOnly)
    }
}

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
    /// How long it stands.
    pub time_in_force: TimeInForce,
    /// What happens on meeting the owner's own order.
    pub self_trade: SelfTradePrevention,
    /// What refuses it.
    pub condition: Condition,
    /// Refused with `ORDER_TOO_LATE` when stamped later than this.
    pub valid_until: Option<TimeMs>,
    /// The trader whose bet this copies; shown on the position it opens.
    pub copy_from: Option<UserNo>,
    /// The owner's own name for it: placed again under this name, it is not placed twice. Not in
    /// place: most orders have none, and all would carry its room.
    pub client_order_id: Option<Box<Token>>,
}

impl PlaceOrder {
    /// An order with no conditions and no name that stands until it is cancelled.
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
        }
    }
}

/// No contracts of an event's markets, to be exchanged for what they are worth together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    /// Owner.
    pub user: UserNo,
    /// A mutually exclusive event.
    pub event: EventNo,
    /// Those of its markets of which no contracts are given.
    pub markets: MarketSet,
    /// Contracts given of each; more than zero.
    pub quantity: Lots,
}

/// What may be asked: by one user, or by anybody. Later ones allow less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TradingMode {
    /// Everything.
    #[default]
    Normal,
    /// Orders may be cancelled, not placed or amended.
    CancelOnly,
    /// Orders stay as they are, but for what the clock does to them.
    ReadOnly,
}

impl TradingMode {
    /// The interface's name of the mode.
    pub const fn name(self) -> &'static str {
        match self {
            TradingMode::Normal => "normal",
            TradingMode::CancelOnly => "cancel-only",
            TradingMode::ReadOnly => "read-only",
        }
    }

    /// The mode of this name.
    pub fn named(name: &str) -> Option<TradingMode> {
        let all = [TradingMode::Normal, TradingMode::CancelOnly, TradingMode::ReadOnly];
        all.into_iter().find(|mode| mode.name() == name)
    }
}

/// What an API key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads for its user.
    Reader,
    /// Trades and reads for its user.
    Trader,
    /// Also runs the venue.
    Operator,
}

impl Role {
    /// The interface's name of the role.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Trader => "trader",
            Role::Operator => "operator",
        }
    }
}

/// SHA-256 of an API key; the key itself is never journaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(pub [u8; 32]);

/// What someone asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Opens the venue under these rules; the first record of every journal, and only that.
    OpenVenue(Rules),
    /// Creates a user.
    CreateUser {
        /// Public name.
        profile_name: String,
        /// Picture URL.
        profile_pic: String,
    },
    /// Gives a user an API key.
    AddKey {
        /// Owner of the key.
        user: UserNo,
        /// What it may do.
        role: Role,
        /// The operator's note on it.
        label: String,
        /// Hash of the key.
        hash: KeyHash,
    },
    /// Takes an API key away for good.
    RevokeKey {
        /// Owner of the key.
        user: UserNo,
        /// The key.
        key: KeyNo,
    },
    /// Adds money to an account.
    Deposit {
        /// Account.
        user: UserNo,
        /// More than zero.
        amount: Money,
    },
    /// Takes available money out of an account.
    Withdraw {
        /// Account.
        user: UserNo,
        /// More than zero.
        amount: Money,
    },
    /// Moves fees that trading has earned the operator to an account, an operator's.
    TakeFees {
        /// Account.
        user: UserNo,
        /// More than zero.
        amount: Money,
    },
    /// Creates a category.
    CreateCategory(CategoryDraft),
    /// Creates an event.
    CreateEvent(Box<EventDraft>),
    /// Creates a market, as a DRAFT.
    CreateMarket(Box<MarketDraft>),
    /// Changes an event's texts or flags.
    ReviseEvent {
        /// Event.
        event: EventNo,
        /// What changes.
        revision: Box<EventRevision>,
    },
    /// Changes a market's texts, flags or deadline.
    ReviseMarket {
        /// Market.
        market: MarketNo,
        /// What changes.
        revision: Box<MarketRevision>,
    },
    /// DRAFT to ACTIVE.
    PublishMarket {
        /// Market.
        market: MarketNo,
    },
    /// ACTIVE to SUSPENDED.
    SuspendMarket {
        /// Market.
        market: MarketNo,
    },
    /// SUSPENDED, or CLOSED with a later deadline, to ACTIVE.
    ReopenMarket {
        /// Market.
        market: MarketNo,
        /// New deadline.
        deadline: Option<TimeMs>,
    },
    /// To CLOSED.
    CloseMarket {
        /// Market.
        market: MarketNo,
    },
    /// Announces the outcome.
    ResolveMarket {
        /// Market.
        market: MarketNo,
        /// The outcome that happened.
        winner: Outcome,
    },
    /// RESOLVED to DISPUTED.
    DisputeMarket {
        /// Market.
        market: MarketNo,
    },
    /// Ends a market at a stated price.
    VoidMarket {
        /// Market.
        market: MarketNo,
        /// What a yes contract pays; a no contract pays the complement.
        price: SettlementPrice,
    },
    /// Places an order.
    PlaceOrder(PlaceOrder),
    /// Changes a resting order's price, total quantity, or both.
    AmendOrder {
        /// Owner.
        user: UserNo,
        /// Order.
        order: OrderNo,
        /// New limit in the order's own wording; `None` keeps it.
        price: Option<Tick>,
        /// New total quantity, what has been filled included; `None` keeps it.
        quantity: Option<Lots>,
    },
    /// Cancels a resting order.
    CancelOrder {
        /// Owner.
        user: UserNo,
        /// Order.
        order: OrderNo,
    },
    /// Cancels all of a user's resting orders, oldest first.
    CancelOrders {
        /// Owner.
        user: UserNo,
        /// Only those of this market.
        market: Option<MarketNo>,
    },
    /// Exchanges no contracts for cash and yes contracts.
    Convert(Conversion),
    /// Lets everything happen that is due by this record's time: deadlines, the ends of dispute
    /// windows and heartbeats, expiries (semantics 3).
    AdvanceClock,
    /// A sign of life: unless another comes in time, the user's orders are cancelled.
    Heartbeat {
        /// Whose.
        user: UserNo,
        /// Seconds until then; zero: never.
        timeout_seconds: u32,
    },
    /// Says what anybody may ask.
    SetVenueMode {
        /// From now on.
        mode: TradingMode,
    },
    /// Says what one user may ask.
    SetUserMode {
        /// User.
        user: UserNo,
        /// From now on.
        mode: TradingMode,
    },
    /// Bounds what a user may lose.
    SetExposureLimit {
        /// User.
        user: UserNo,
        /// What reserved money and the cost of contracts held may come to when an order is
        /// accepted; `None` is no limit.
        limit: Option<Money>,
    },
}

/// A command with its place: what was asked, when, as which number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Position in the journal.
    pub sequence: Sequence,
    /// The sequencer's time; never earlier than the record's before.
    pub time: TimeMs,
    /// Under which key it was asked, if asking again must do nothing more.
    pub once: Option<Box<IdempotencyKey>>,
    /// What was asked.
    pub command: Command,
}

impl Record {
    /// Whether it was asked under a name or a key, so that asking again does nothing more.
    pub fn is_named(&self) -> bool {
        let order = match &self.command {
            Command::PlaceOrder(terms) => terms.client_order_id.is_some(),
            _ => false,
        };
        order || self.once.is_some()
    }
}

/// A command on its way to its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedCommand {
    /// Under which key it is asked, if asking again must do nothing more.
    pub once: Option<Box<IdempotencyKey>>,
    /// What is asked.
    pub command: Command,
}

impl From<Command> for KeyedCommand {
    fn from(command: Command) -> KeyedCommand {
        KeyedCommand { once: None, command }
    }
}

/// SHA-256 of what a request asks for, however it is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BodyHash(pub [u8; 32]);

/// A caller's key, under which the same is done once however often it is asked (semantics 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Who asks.
    pub caller: UserNo,
    /// The caller's key.
    pub key: Token,
    /// Which of the commands that the caller asked for together.
    pub part: u8,
    /// What the caller asked for, all parts together.
    pub body: BodyHash,
}
