//! `GET /trading/orders?active=true` is kept in print: it shows every change at once, to its owner.

use serde_json::{Value, json};

use super::venue::{Trader, Venue, order, with};

/// What a trader's open orders are, asked twice as it is mostly asked, so that the second answer
/// may be one that was kept, and once in a way of which nothing is kept.
fn shown(trader: &Trader, market: &str) -> Value {
    let ask = |query: &str| trader.get(&format!("/trading/orders?active=true{query}")).json;
    let fresh = ask(&format!("&marketId={market}"));
    for _ in 0..2 {
        assert_eq!(ask(""), fresh);
    }
    assert!(!fresh["orders"].is_null(), "{fresh}");
    fresh
}

#[test]
fn every_change_is_shown_at_once_and_only_to_its_owner() {
    let venue = Venue::open();
    let market = venue.market();
    let traders = [venue.trader("ann"), venue.trader("bob")];
    let [ann, bob] = &traders;
    let mut seen = Vec::new();
    let mut look = |changed: [bool; 2]| {
        let now: Vec<Value> = traders.iter().map(|trader| shown(trader, &market)).collect();
        if let Some(before) = seen.last() {
            let before: &Vec<Value> = before;
            assert_eq!([now[0] != before[0], now[1] != before[1]], changed, "{now:?}");
        }
        seen.push(now);
    };
    look([false, false]);
    let bid = ann.place(&market, "BUY", "yes", "0.55", "8").text("orderId");
    look([true, false]);
    ann.place(&market, "BUY", "yes", "0.5", "2");
    look([true, false]);
    bob.place(&market, "BUY", "no", "0.45", "3");
    look([true, false]);
    bob.place(&market, "BUY", "no", "0.4", "5");
    look([false, true]);
    ann.client.patch(&format!("/trading/orders/{bid}"), &json!({"quantity": "6"}));
    look([true, false]);
    // Killed at once: nothing of it stands.
    bob.order(&with(order(&market, "BUY", "no", "0.01", "5"), &json!({"timeInForce": "IOC"})));
    look([false, false]);
    ann.client.delete(&format!("/trading/orders/{bid}"));
    look([true, false]);
    venue.act(&market, "close", &json!({}));
    look([true, true]);
    assert_eq!(shown(ann, &market)["orders"], json!([]));
}
