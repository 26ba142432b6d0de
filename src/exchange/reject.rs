//! The refusals, with their stable codes, in order of precedence.

/// Why a command was refused. A refused command changed nothing. Where several apply, the one
/// listed first is given, with one exception: `DEADLINE_NOT_IN_FUTURE` comes after
/// `INVALID_TRANSITION` where a closed market is reopened, or fees are changed too. Existing
/// journals rely on it. Codes are never renamed; a retired one stays in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reject {
    /// A command before the venue was opened.
    #[error("the venue is not open")]
    VenueNotOpen,
    /// A second opening.
    #[error("the venue cannot be opened like this")]
    VenueAlreadyOpen,
    /// The caller used this idempotency key for something else within the last day.
    #[error("this idempotency key was used for another request")]
    IdempotencyKeyReused,
    /// The user gave this client order id to another order, which is open or not a day old.
    #[error("this client order id belongs to another order")]
    ClientOrderIdReused,
    /// The user has as many remembered client order ids and idempotency keys as allowed.
    #[error("too many client order ids and idempotency keys in one day")]
    TooManyNames,
    /// What the owner saw of the order is no longer so.
    #[error("it is no longer as it was when it was read")]
    PreconditionFailed,
    /// No such user.
    #[error("no such user")]
    UserNotFound,
    /// The operator has set this user, or the whole venue, to read-only.
    #[error("trading is stopped: orders can be neither placed nor cancelled")]
    TradingReadOnly,
    /// The operator has set this user, or the whole venue, to cancel-only.
    #[error("trading is stopped: orders can only be cancelled")]
    TradingCancelOnly,
    /// The user's heartbeat has run out.
    #[error("the heartbeat has run out: send one before the next order")]
    HeartbeatExpired,
    /// No such key, or another user's.
    #[error("the user has no such key")]
    KeyNotFound,
    /// This or another user already has the key in force. A revoked key may be given again.
    #[error("this key is already in use")]
    KeyTaken,
    /// No such category.
    #[error("no such category")]
    CategoryNotFound,
    /// The slug belongs to another category.
    #[error("another category has this slug")]
    SlugTaken,
    /// No such event.
    #[error("no such event")]
    EventNotFound,
    /// No such market, or one not yet published.
    #[error("no such market")]
    MarketNotFound,
    /// A deadline that is not after the time of the command.
    #[error("the deadline is not in the future")]
    DeadlineNotInFuture,
    /// The market's status does not allow this.
    #[error("the market's status does not allow this")]
    InvalidTransition,
    /// A mutually exclusive event that has as many markets as allowed, or in which contracts were
    /// already converted.
    #[error("the event takes no more markets")]
    EventComplete,
    /// The announced yes-prices of a mutually exclusive event would sum to more than 1.00.
    #[error("the announced prices of yes of the event's markets would sum to more than 1.00")]
    EventAlreadyWon,
    /// No such order, or another user's.
    #[error("no such order")]
    OrderNotFound,
    /// The order does not rest on a book (any more).
    #[error("the order is no longer open")]
    OrderNotOpen,
    /// The market takes no orders: not ACTIVE, or its deadline has passed.
    #[error("the market takes no orders now")]
    MarketNotActive,
    /// The event's markets do not exclude each other.
    #[error("the markets of this event are not mutually exclusive")]
    EventNotExclusive,
    /// A market of the event is a draft or its outcome was announced, or the event has only one
    /// market.
    #[error("contracts of this event cannot be converted now")]
    EventNotConvertible,
    /// The record's time is after the order's `validUntil`, or not before its `expiresAt`.
    #[error("the order came after its validUntil, or its expiresAt is not to come")]
    OrderTooLate,
    /// An amended quantity that leaves nothing to fill.
    #[error("the order has already filled that much")]
    QuantityFilled,
    /// The user, or the venue, has as many open orders as allowed.
    #[error("too many open orders")]
    OpenOrderLimit,
    /// The user's free contracts do not back the whole order.
    #[error("a reduce-only order may not exceed the free contracts it closes")]
    ReduceOnlyExceeded,
    /// The user has fewer free no contracts than the conversion takes.
    #[error("not enough free no contracts")]
    InsufficientContracts,
    /// Not enough available money.
    #[error("not enough available money")]
    InsufficientFunds,
    /// The operator asked for more fees than there are.
    #[error("trading has not earned that much, or it was taken before")]
    InsufficientFees,
    /// The order would take the user past the exposure limit that the operator set.
    #[error("the order exceeds what this user may be exposed to")]
    ExposureLimit,
    /// A post-only order would have traded at once.
    #[error("a post-only order would have traded at once")]
    PostOnlyWouldCross,
    /// The deposit would take the venue past its money supply limit.
    #[error("the venue cannot hold this much money")]
    DepositLimit,
    /// The venue has no number left for a thing of this kind.
    #[error("the venue can hold no more of these")]
    VenueFull,
}

impl Reject {
    /// Every refusal, in order of precedence.
    pub const ALL: [Reject; 36] = [
        Reject::VenueNotOpen,
        Reject::VenueAlreadyOpen,
        Reject::IdempotencyKeyReused,
        Reject::ClientOrderIdReused,
        Reject::TooManyNames,
        Reject::PreconditionFailed,
        Reject::UserNotFound,
        Reject::TradingReadOnly,
        Reject::TradingCancelOnly,
        Reject::HeartbeatExpired,
        Reject::KeyNotFound,
        Reject::KeyTaken,
        Reject::CategoryNotFound,
        Reject::SlugTaken,
        Reject::EventNotFound,
        Reject::MarketNotFound,
        Reject::DeadlineNotInFuture,
        Reject::InvalidTransition,
        Reject::EventComplete,
        Reject::EventAlreadyWon,
        Reject::OrderNotFound,
        Reject::OrderNotOpen,
        Reject::MarketNotActive,
        Reject::EventNotExclusive,
        Reject::EventNotConvertible,
        Reject::OrderTooLate,
        Reject::QuantityFilled,
        Reject::OpenOrderLimit,
        Reject::ReduceOnlyExceeded,
        Reject::InsufficientContracts,
        Reject::InsufficientFunds,
        Reject::InsufficientFees,
        Reject::ExposureLimit,
        Reject::PostOnlyWouldCross,
        Reject::DepositLimit,
        Reject::VenueFull,
    ];

    /// The stable code (semantics 7).
    pub const fn code(self) -> &'static str {
        match self {
            Reject::VenueNotOpen => "VENUE_NOT_OPEN",
            Reject::VenueAlreadyOpen => "VENUE_ALREADY_OPEN",
            Reject::IdempotencyKeyReused => "IDEMPOTENCY_KEY_REUSED",
            Reject::PreconditionFailed => "PRECONDITION_FAILED",
            Reject::UserNotFound => "USER_NOT_FOUND",
            Reject::TradingReadOnly => "TRADING_READ_ONLY",
            Reject::TradingCancelOnly => "TRADING_CANCEL_ONLY",
            Reject::HeartbeatExpired => "HEARTBEAT_EXPIRED",
            Reject::ClientOrderIdReused => "CLIENT_ORDER_ID_REUSED",
            Reject::TooManyNames => "TOO_MANY_NAMES",
            Reject::KeyNotFound => "KEY_NOT_FOUND",
            Reject::KeyTaken => "KEY_TAKEN",
            Reject::CategoryNotFound => "CATEGORY_NOT_FOUND",
            Reject::SlugTaken => "SLUG_TAKEN",
            Reject::EventNotFound => "EVENT_NOT_FOUND",
            Reject::MarketNotFound => "MARKET_NOT_FOUND",
            Reject::DeadlineNotInFuture => "DEADLINE_NOT_IN_FUTURE",
            Reject::InvalidTransition => "INVALID_TRANSITION",
            Reject::EventComplete => "EVENT_COMPLETE",
            Reject::EventAlreadyWon => "EVENT_ALREADY_WON",
            Reject::OrderNotFound => "ORDER_NOT_FOUND",
            Reject::OrderNotOpen => "ORDER_NOT_OPEN",
            Reject::MarketNotActive => "MARKET_NOT_ACTIVE",
            Reject::EventNotExclusive => "EVENT_NOT_EXCLUSIVE",
            Reject::EventNotConvertible => "EVENT_NOT_CONVERTIBLE",
            Reject::OrderTooLate => "ORDER_TOO_LATE",
            Reject::QuantityFilled => "QUANTITY_FILLED",
            Reject::OpenOrderLimit => "OPEN_ORDER_LIMIT",
            Reject::ReduceOnlyExceeded => "REDUCE_ONLY_EXCEEDED",
            Reject::InsufficientContracts => "INSUFFICIENT_CONTRACTS",
            Reject::InsufficientFunds => "INSUFFICIENT_FUNDS",
            Reject::InsufficientFees => "INSUFFICIENT_FEES",
            Reject::ExposureLimit => "EXPOSURE_LIMIT",
            Reject::PostOnlyWouldCross => "POST_ONLY_WOULD_CROSS",
            Reject::DepositLimit => "DEPOSIT_LIMIT",
            Reject::VenueFull => "VENUE_FULL",
        }
    }
}
