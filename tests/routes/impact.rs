//! `GET /admin/markets/{marketId}/impact` and `GET /admin/venue/impact`.

use serde_json::json;

use super::shapes;
use super::venue::Venue;

#[test]
fn an_act_is_told_whom_it_would_touch() {
    let venue = Venue::open();
    let (ann, bob, eve) = (venue.trader("ann"), venue.trader("bob"), venue.trader("eve"));
    venue.trader("idle");
    let (market, other) = (venue.market(), venue.market());
    let of_market = |market: &str| {
        let path = format!("/admin/markets/{market}/impact");
        venue.operator.get(&path).ok(&shapes::market_impact())
    };
    let nothing = json!({"users": 0, "holders": 0, "yesHeld": "0", "noHeld": "0",
        "holdingsCost": "0.00", "openOrders": 0});
    assert_eq!(of_market(&market), nothing);
    venue.trade(&market, &ann, &bob, "0.60", "10");
    eve.place(&market, "BUY", "yes", "0.10", "1");
    ann.place(&market, "SELL", "yes", "0.90", "4");
    ann.place(&other, "BUY", "no", "0.20", "4");
    let touched = json!({"users": 3, "holders": 2, "yesHeld": "10", "noHeld": "10",
        "holdingsCost": "10.00", "openOrders": 2});
    assert_eq!(of_market(&market), touched);
    let of_venue = || venue.operator.get("/admin/venue/impact").ok(&shapes::venue_impact());
    // Four traders' keys and the operator's.
    assert_eq!(of_venue(), json!({"users": 3, "openOrders": 3, "tradingKeys": 5}));
    ann.get("/admin/venue/impact").refused(403, "FORBIDDEN");
    venue.act(&market, "void", &json!({})).ok(&shapes::market_detail());
    assert_eq!(of_market(&market), nothing);
    assert_eq!(of_venue(), json!({"users": 1, "openOrders": 1, "tradingKeys": 5}));
}
