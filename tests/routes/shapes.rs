//! The shapes of the answers (interface 2 and 4, semantics 4, 6, 7 and 8).

use super::shape::Shape::{
    self, Bool, Decimal, Hash, Integer, Moment, Number, OneOf, Text, Url, Uuid,
};
use super::shape::{list, nullable, object, wider, with_more};

const OUTCOME: Shape = OneOf(&["yes", "no"]);
const SIDE: Shape = OneOf(&["BUY", "SELL"]);
/// An order's price, and a settlement price.
const PRICE: Shape = Decimal(2, 2);
const QUANTITY: Shape = Decimal(0, 6);
const MONEY: Shape = Decimal(2, 8);
const FEE_RATE: Shape = Decimal(4, 4);
const AVERAGE: Shape = Decimal(2, 6);
/// Odds and probabilities.
const RATIO: Shape = Number(4);
/// Money as a JSON number.
const AMOUNT: Shape = Number(8);
const ORDER_STATUS: Shape = OneOf(&["OPEN", "PARTIALLY_FILLED", "FILLED", "CANCELLED"]);
const MARKET_STATUS: Shape =
    OneOf(&["DRAFT", "ACTIVE", "SUSPENDED", "CLOSED", "RESOLVED", "DISPUTED", "SETTLED", "VOIDED"]);

pub fn problem(code: &str) -> Shape {
    let shape = object([
        ("type", Text),
        ("title", Text),
        ("status", Integer),
        ("detail", Text),
        ("code", Text),
        ("requestId", Text),
    ]);
    let error = object([("field", Text), ("code", Text), ("detail", Text)]);
    match code {
        "INVALID_REQUEST" => wider(shape, [("errors", list(error))]),
        "ORDER_NOT_OPEN" => wider(shape, [("order", order())]),
        "STARTING" => wider(shape, [("replay", object([("applied", Integer), ("head", Integer)]))]),
        _ => shape,
    }
}

/// A page of things called `name`.
pub fn page(name: &'static str, shape: Shape) -> Shape {
    object([(name, list(shape)), ("total", Integer), ("limit", Integer), ("offset", Integer)])
}

pub fn localized() -> Shape {
    object([("pt", Text), ("en", Text), ("es", Text)])
}

pub fn category() -> Shape {
    object([("id", Uuid), ("name", Text), ("slug", Text)])
}

fn outcome() -> Shape {
    object([("id", OUTCOME), ("text", localized())])
}

fn outcome_with_probability() -> Shape {
    wider(outcome(), [("probability", RATIO)])
}

pub fn market() -> Shape {
    object([
        ("id", Uuid),
        ("questions", localized()),
        ("outcomes", list(wider(outcome_with_probability(), [("odd", RATIO)]))),
        ("descriptions", localized()),
        ("status", MARKET_STATUS),
        ("logo", Url),
        ("categories", list(category())),
    ])
}

/// A market on its own: the members of the list, those set by the operator, and its result.
pub fn market_detail() -> Shape {
    let shape = wider(
        market(),
        [
            ("slug", nullable(Text)),
            ("categoryIds", list(Uuid)),
            ("eventId", nullable(Uuid)),
            ("deadline", Moment),
            ("highlighted", Bool),
            ("disputeWindowSeconds", Integer),
            ("makerFee", FEE_RATE),
            ("takerFee", FEE_RATE),
            ("winningOutcomeId", nullable(OUTCOME)),
            ("settlementPrice", nullable(PRICE)),
        ],
    );
    wider(shape, [("createdAt", Moment), ("updatedAt", Moment), ("publishedAt", nullable(Moment))])
}

pub fn event() -> Shape {
    let market = object([
        ("id", Uuid),
        ("questions", localized()),
        ("outcomes", list(outcome_with_probability())),
        ("status", MARKET_STATUS),
    ]);
    object([
        ("id", Uuid),
        ("titles", localized()),
        ("subTitles", localized()),
        ("descriptions", localized()),
        ("images", list(Url)),
        ("highlighted", Bool),
        ("markets", list(market)),
        ("createdAt", Moment),
        ("updatedAt", Moment),
    ])
}

pub fn event_detail() -> Shape {
    let field = object([("bestBid", nullable(MONEY)), ("bestAsk", nullable(MONEY))]);
    wider(
        event(),
        [
            ("slug", nullable(Text)),
            ("mutuallyExclusive", Bool),
            ("categories", list(category())),
            ("categoryIds", list(Uuid)),
            ("publishedAt", nullable(Moment)),
            ("field", nullable(field)),
        ],
    )
}

pub fn conversion() -> Shape {
    object([
        ("eventId", Uuid),
        ("marketIds", list(Uuid)),
        ("receivedMarketIds", list(Uuid)),
        ("quantity", QUANTITY),
        ("cash", MONEY),
        ("sequence", Integer),
    ])
}

pub fn trade_activity() -> Shape {
    let user = object([("id", Uuid), ("profileName", Text), ("profilePic", Url)]);
    object([
        ("type", OneOf(&["TRADE"])),
        ("outcomeId", OUTCOME),
        ("stake", AMOUNT),
        ("odd", RATIO),
        ("user", user),
        ("createdAt", Moment),
        ("sequence", Integer),
    ])
}

pub fn move_activity() -> Shape {
    let names = &[
        "MARKET_PUBLISHED",
        "MARKET_SUSPENDED",
        "MARKET_REOPENED",
        "MARKET_CLOSED",
        "MARKET_RESOLVED",
        "MARKET_DISPUTED",
        "MARKET_SETTLED",
        "MARKET_VOIDED",
    ];
    object([
        ("type", OneOf(names)),
        ("statusFrom", MARKET_STATUS),
        ("statusTo", MARKET_STATUS),
        ("createdAt", Moment),
        ("sequence", Integer),
    ])
}

/// A book of the past.
pub fn past_depth() -> Shape {
    let level = object([("price", PRICE), ("quantity", QUANTITY), ("orders", Integer)]);
    object([
        ("marketId", Uuid),
        ("outcomeId", OUTCOME),
        ("bids", list(level.clone())),
        ("asks", list(level)),
        ("bestBid", PRICE),
        ("bestAsk", PRICE),
        ("spread", PRICE),
        ("timestamp", Moment),
    ])
}

pub fn depth() -> Shape {
    wider(past_depth(), [("sequence", Integer)])
}

pub fn books() -> Shape {
    object([("books", list(depth())), ("unknownMarketIds", list(Text))])
}

pub fn queued_order() -> Shape {
    let queue = object([("quantityAhead", QUANTITY), ("ordersAhead", Integer)]);
    wider(order(), [("queue", nullable(queue))])
}

/// The members that semantics 4 adds to an order.
fn beside() -> [(&'static str, Shape); 5] {
    let reasons = &[
        "USER",
        "IOC_REMAINDER",
        "FOK_NOT_FILLABLE",
        "SELF_TRADE",
        "EXPIRED",
        "MARKET_CLOSED",
        "MARKET_VOIDED",
        "HEARTBEAT_EXPIRED",
        "OPERATOR",
    ];
    [
        ("cancelledQuantity", QUANTITY),
        ("cancelReason", nullable(OneOf(reasons))),
        ("filledCost", MONEY),
        ("clientOrderId", nullable(Text)),
        ("sequence", Integer),
    ]
}

pub fn placed() -> Shape {
    let trade =
        object([("id", Text), ("price", PRICE), ("quantity", QUANTITY), ("timestamp", Moment)]);
    let shape = object([
        ("orderId", Uuid),
        ("status", ORDER_STATUS),
        ("filledQuantity", QUANTITY),
        ("remainingQuantity", QUANTITY),
        ("averageFillPrice", AVERAGE),
        ("trades", list(trade)),
    ]);
    wider(shape, beside())
}

pub fn tried() -> Shape {
    tried_as(placed())
}

/// The shape of a dry run that predicts this answer.
pub fn tried_as(answer: Shape) -> Shape {
    wider(answer, [("dryRun", Bool), ("balance", balance())])
}

/// The orders taken off the book by a mass cancel.
pub fn cancelled() -> Shape {
    let order =
        object([("orderId", Uuid), ("filledQuantity", QUANTITY), ("cancelledQuantity", QUANTITY)]);
    object([("cancelled", list(Uuid)), ("orders", list(order))])
}

pub fn order() -> Shape {
    let shape = object([
        ("id", Uuid),
        ("marketId", Uuid),
        ("outcomeId", OUTCOME),
        ("side", SIDE),
        ("orderType", OneOf(&["LIMIT"])),
        ("price", PRICE),
        ("originalQuantity", QUANTITY),
        ("remainingQuantity", QUANTITY),
        ("filledQuantity", QUANTITY),
        ("averageFillPrice", AVERAGE),
        ("status", ORDER_STATUS),
        ("timeInForce", OneOf(&["GTC", "IOC", "FOK"])),
        ("createdAt", Moment),
        ("updatedAt", Moment),
        ("expiresAt", nullable(Moment)),
        ("group", nullable(Text)),
    ]);
    wider(shape, beside())
}

pub fn orders() -> Shape {
    object([("orders", list(order()))])
}

pub fn position() -> Shape {
    let market = object([
        ("id", Uuid),
        ("questions", localized()),
        ("status", MARKET_STATUS),
        ("deadline", Moment),
        ("winningOutcomeId", nullable(OUTCOME)),
        ("createdAt", Moment),
        ("logo", Url),
        ("outcomes", list(outcome())),
    ]);
    let shape = object([
        ("id", Text),
        ("userId", Text),
        ("marketId", Uuid),
        ("outcomeId", OUTCOME),
        ("totalStake", AMOUNT),
        ("oddLocked", RATIO),
        ("potentialPayout", AMOUNT),
        ("resolution", nullable(OneOf(&["WON", "LOST", "VOID"]))),
        ("updatedAt", Moment),
        ("copyFromTraderId", nullable(Text)),
        ("market", market),
    ]);
    wider(shape, [("quantity", QUANTITY), ("averagePrice", AVERAGE), ("realisedPnl", MONEY)])
}

pub fn fill() -> Shape {
    object([
        ("id", Text),
        ("orderId", Uuid),
        ("marketId", Uuid),
        ("outcomeId", OUTCOME),
        ("side", SIDE),
        ("price", PRICE),
        ("quantity", QUANTITY),
        ("liquidity", OneOf(&["MAKER", "TAKER"])),
        ("fee", MONEY),
        ("clientOrderId", nullable(Text)),
        ("heldAfter", object([("yes", QUANTITY), ("no", QUANTITY)])),
        ("timestamp", Moment),
        ("sequence", Integer),
    ])
}

pub fn collected_fees() -> Shape {
    object([("collected", MONEY), ("taken", MONEY), ("balance", MONEY), ("currency", Text)])
}

pub fn balance() -> Shape {
    object([("available", MONEY), ("reserved", MONEY), ("currency", Text)])
}

/// A page, read by cursor, of rows called `name`.
pub fn cursor_page(name: &'static str, shape: Shape) -> Shape {
    object([(name, list(shape)), ("hasMore", Bool), ("nextCursor", nullable(Text))])
}

/// A page by cursor of a list that is also paged by offset.
pub fn either_page(name: &'static str, shape: Shape) -> Shape {
    wider(page(name, shape), [("hasMore", Bool), ("nextCursor", nullable(Text))])
}

pub fn ledger_line() -> Shape {
    let causes = &[
        "DEPOSIT",
        "WITHDRAWAL",
        "FEES_TAKEN",
        "ORDER_RESERVED",
        "ORDER_RELEASED",
        "ORDER_AMENDED",
        "TRADE",
        "MERGE",
        "FEE",
        "CONVERSION",
        "SETTLEMENT",
        "VOID",
    ];
    object([
        ("number", Integer),
        ("sequence", Integer),
        ("timestamp", Moment),
        ("cause", OneOf(causes)),
        ("orderId", nullable(Uuid)),
        ("marketId", nullable(Uuid)),
        ("eventId", nullable(Uuid)),
        ("available", MONEY),
        ("reserved", MONEY),
        ("availableAfter", MONEY),
        ("reservedAfter", MONEY),
    ])
}

pub fn settlement() -> Shape {
    object([
        ("marketId", Uuid),
        ("outcomeId", OUTCOME),
        ("quantity", QUANTITY),
        ("payout", MONEY),
        ("realisedPnl", MONEY),
        ("timestamp", Moment),
        ("sequence", Integer),
    ])
}

pub fn market_pnl() -> Shape {
    object([
        ("marketId", Uuid),
        ("realisedPnl", MONEY),
        ("unrealisedPnl", MONEY),
        ("holdingsCost", MONEY),
        ("holdingsValue", MONEY),
        ("currency", Text),
    ])
}

pub fn pnl() -> Shape {
    object([
        ("deposits", MONEY),
        ("withdrawals", MONEY),
        ("feesTaken", MONEY),
        ("realisedPnl", MONEY),
        ("unrealisedPnl", MONEY),
        ("holdingsCost", MONEY),
        ("holdingsValue", MONEY),
        ("available", MONEY),
        ("reserved", MONEY),
        ("equity", MONEY),
        ("currency", Text),
    ])
}

pub fn public_trade() -> Shape {
    object([
        ("id", Uuid),
        ("price", PRICE),
        ("quantity", QUANTITY),
        ("takerSide", SIDE),
        ("takerOutcomeId", OUTCOME),
        ("timestamp", Moment),
        ("sequence", Integer),
    ])
}

pub fn stats() -> Shape {
    object([
        ("marketId", Uuid),
        ("volume24h", QUANTITY),
        ("volume", QUANTITY),
        ("trades", Integer),
        ("openInterest", QUANTITY),
        ("holders", Integer),
        ("lastPrice", nullable(PRICE)),
        ("bestBid", PRICE),
        ("bestAsk", PRICE),
        ("timestamp", Moment),
    ])
}

pub fn candles() -> Shape {
    let candle = object([
        ("start", Moment),
        ("open", nullable(PRICE)),
        ("high", nullable(PRICE)),
        ("low", nullable(PRICE)),
        ("close", nullable(PRICE)),
        ("volume", QUANTITY),
        ("trades", Integer),
        ("openInterest", QUANTITY),
    ]);
    object([
        ("marketId", Uuid),
        ("interval", OneOf(&["1m", "5m", "1h", "1d"])),
        ("from", Moment),
        ("to", Moment),
        ("candles", list(candle)),
    ])
}

/// A market in a list with its quotes.
pub fn quoted_market() -> Shape {
    let week = object([("from", Moment), ("closes", list(nullable(PRICE)))]);
    let more = [("stats", stats()), ("priceDayAgo", nullable(PRICE)), ("week", week)];
    wider(market_detail(), more)
}

pub fn profile() -> Shape {
    let user = object([("id", Uuid), ("profileName", Text), ("profilePic", Url)]);
    let periods = OneOf(&["day", "week", "month", "all"]);
    let score = object([("period", periods), ("realisedPnl", MONEY), ("volume", QUANTITY)]);
    object([("user", user), ("createdAt", Moment), ("scores", list(score))])
}

pub fn profile_trade() -> Shape {
    object([
        ("id", Text),
        ("marketId", Uuid),
        ("questions", localized()),
        ("outcomeId", OUTCOME),
        ("price", PRICE),
        ("quantity", QUANTITY),
        ("timestamp", Moment),
        ("sequence", Integer),
    ])
}

pub fn equity_point() -> Shape {
    object([("timestamp", Moment), ("equity", MONEY), ("paidIn", MONEY), ("sequence", Integer)])
}

pub fn market_impact() -> Shape {
    object([
        ("users", Integer),
        ("holders", Integer),
        ("yesHeld", QUANTITY),
        ("noHeld", QUANTITY),
        ("holdingsCost", MONEY),
        ("openOrders", Integer),
    ])
}

pub fn venue_impact() -> Shape {
    object([("users", Integer), ("openOrders", Integer), ("tradingKeys", Integer)])
}

/// A page of the leaderboard.
pub fn leaderboard() -> Shape {
    let user = object([("id", Uuid), ("profileName", Text), ("profilePic", Url)]);
    let place =
        object([("rank", Integer), ("user", user), ("realisedPnl", MONEY), ("volume", QUANTITY)]);
    let periods = OneOf(&["day", "week", "month", "all"]);
    wider(page("places", place), [("by", OneOf(&["pnl", "volume"])), ("period", periods)])
}

pub fn user() -> Shape {
    object([
        ("id", Uuid),
        ("profileName", Text),
        ("profilePic", Url),
        ("available", MONEY),
        ("reserved", MONEY),
        ("mode", OneOf(&["normal", "cancel-only", "read-only"])),
        ("exposureLimit", nullable(MONEY)),
        ("createdAt", Moment),
    ])
}

pub fn heartbeat() -> Shape {
    object([("group", nullable(Text)), ("expiresAt", nullable(Moment)), ("expired", Bool)])
}

pub fn heartbeats() -> Shape {
    wider(heartbeat(), [("groups", list(heartbeat()))])
}

pub fn key() -> Shape {
    object([
        ("keyId", Uuid),
        ("role", OneOf(&["reader", "trader", "operator"])),
        ("label", Text),
        ("createdAt", Moment),
        ("lastUsedAt", nullable(Moment)),
        ("revokedAt", nullable(Moment)),
        ("expiresAt", nullable(Moment)),
    ])
}

pub fn new_key() -> Shape {
    wider(key(), [("key", Text)])
}

/// A key as its owner sees it.
pub fn own_key() -> Shape {
    object([
        ("keyId", Uuid),
        ("scope", OneOf(&["read", "trade", "operator"])),
        ("label", Text),
        ("createdAt", Moment),
        ("lastUsedAt", nullable(Moment)),
        ("revokedAt", nullable(Moment)),
        ("session", Bool),
        ("current", Bool),
        ("expiresAt", nullable(Moment)),
    ])
}

pub fn new_own_key() -> Shape {
    wider(own_key(), [("key", Text)])
}

/// The trading modes.
pub const MODES: &[&str] = &["normal", "cancel-only", "read-only"];

pub fn limits() -> Shape {
    let lane = object([
        ("perSecond", Integer),
        ("burst", Integer),
        ("remaining", Integer),
        ("resetSeconds", Integer),
    ]);
    let daily = object([
        ("perDay", Integer),
        ("remaining", Integer),
        ("cancelsRemaining", Integer),
        ("resetSeconds", Integer),
    ]);
    let stream = object([
        ("connections", Integer),
        ("channels", Integer),
        ("messageBytes", Integer),
        ("controlMessagesPerSecond", Integer),
        ("commandsInFlight", Integer),
        ("heartbeatSeconds", Integer),
    ]);
    let of_group =
        object([("group", Text), ("openOrders", nullable(Integer)), ("reserved", nullable(MONEY))]);
    object([
        ("reads", nullable(lane.clone())),
        ("writes", nullable(lane.clone())),
        ("cancels", nullable(lane)),
        ("records", nullable(daily)),
        (
            "exposure",
            object([("open", MONEY), ("limit", nullable(MONEY)), ("group", nullable(of_group))]),
        ),
        ("mode", Shape::OneOf(MODES)),
        ("venueMode", Shape::OneOf(MODES)),
        ("stream", stream),
    ])
}

pub fn audit_head() -> Shape {
    object([
        ("sequence", Integer),
        ("time", Moment),
        ("chainHash", Hash),
        ("resultsHash", Hash),
        ("stateDigest", Hash),
    ])
}

/// A page of records; the other members of each depend on its kind.
pub fn journal() -> Shape {
    object([
        ("from", Integer),
        ("limit", Integer),
        ("next", nullable(Integer)),
        (
            "records",
            list(with_more([
                ("sequence", Integer),
                ("time", Moment),
                ("kind", Text),
                ("result", Text),
            ])),
        ),
    ])
}
