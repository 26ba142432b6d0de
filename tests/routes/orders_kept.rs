//! `GET /trading/orders?active=true` is cached: it must show every change at once, and only to its
//! owner.

use serde_json::{Value, json};

use super::venue::{Trader, Venue, order, with};

/// A trader's open orders: asked twice in the cached form, so that the second answer may come from
/// the cache, and once in a form that is never cached; all must agree.
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
fn cached_open_orders_show_every_change_only_to_their_owner() {
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
    // Cancelled at once: nothing of it rests.
    bob.order(&with(order(&market, "BUY", "no", "0.01", "5"), &json!({"timeInForce": "IOC"})));
    look([false, false]);
    ann.client.delete(&format!("/trading/orders/{bid}"));
    look([true, false]);
    venue.act(&market, "close", &json!({}));
    look([true, true]);
    assert_eq!(shown(ann, &market)["orders"], json!([]));
}
