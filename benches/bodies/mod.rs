//! Requests that benches send over the interface: markets, traders and orders, identical for all
//! servers.

use serde_json::{Value, json};

/// Number of markets in the list that is read: more than one page.
pub const MARKETS: usize = 24;
/// Open orders of each trader while orders and the book are read.
pub const OPEN_ORDERS: usize = 24;

/// A market.
pub fn market() -> Value {
    let texts = json!({"pt": "Vai chover?", "en": "Will it rain?", "es": "Va a llover?"});
    json!({
        "questions": texts, "descriptions": texts, "logo": "https://assets.example.org/x.png",
        "outcomes": [{"id": "yes", "text": texts}, {"id": "no", "text": texts}],
        "deadline": "2099-01-01T00:00:00.000Z",
    })
}

/// The trader with this number.
pub fn trader(number: usize) -> Value {
    let (name, picture) = (format!("trader {number}"), "https://example.org/x.png");
    json!({ "profileName": name, "profilePic": picture })
}

/// More money than a trader can use.
pub fn deposit() -> Value {
    json!({ "amount": "100000000" })
}

/// A trader's key.
pub fn key() -> Value {
    json!({ "role": "trader", "label": "bench" })
}

/// A trader's order. Three of four rest as bids at one of twenty prices; every fourth takes
/// somewhat more than was offered, so that books do not grow. Every second trader buys no, so that
/// traders do not match their own orders.
pub fn order(market: &str, trader: usize, k: usize) -> Value {
    if k % 4 != 3 {
        return resting(market, trader, k);
    }
    json!({
        "marketId": market, "outcomeId": outcome(trader), "side": "BUY", "orderType": "LIMIT",
        "price": "0.7", "quantity": "36", "timeInForce": "IOC",
    })
}

/// An order of a trader whom nobody meets: every fourth takes the three before it off the book.
pub fn alone(market: &str, k: usize) -> Value {
    if k % 4 != 3 {
        return resting(market, 0, k);
    }
    json!({
        "marketId": market, "outcomeId": outcome(1), "side": "BUY", "orderType": "LIMIT",
        "price": "0.7", "quantity": "36", "timeInForce": "IOC",
        "selfTradePrevention": "CANCEL_MAKER",
    })
}

/// A trader's resting order.
pub fn resting(market: &str, trader: usize, k: usize) -> Value {
    let price = format!("0.{}", 30 + (trader / 2 + k) % 20);
    json!({
        "marketId": market, "outcomeId": outcome(trader), "side": "BUY", "orderType": "LIMIT",
        "price": price, "quantity": "10", "timeInForce": "GTC",
    })
}

/// Several orders of a trader in one request.
pub fn batch(orders: impl Iterator<Item = Value>) -> Value {
    let operations: Vec<Value> = orders.map(|order| json!({ "place": order })).collect();
    json!({ "operations": operations })
}

/// The outcome that a trader buys.
fn outcome(trader: usize) -> &'static str {
    if trader.is_multiple_of(2) { "yes" } else { "no" }
}
