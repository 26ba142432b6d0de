//! `GET /trading/balance` (semantics 8).

use serde_json::json;

use super::shapes;
use super::venue::Venue;

#[test]
fn money_is_shown_in_decimals_of_the_currency() {
    let venue = Venue::open();
    for (amount, shown) in [
        ("5", "5.00"),
        ("5.0", "5.00"),
        ("0.0123", "0.0123"),
        ("0.00000001", "0.00000001"),
        ("1000000000", "1000000000.00"),
        ("2.50", "2.50"),
    ] {
        let trader = venue.trader_with("ann", amount);
        let balance = trader.get("/trading/balance").ok(&shapes::balance());
        assert_eq!(balance, json!({"available": shown, "reserved": "0.00", "currency": "USD"}));
    }
    let nothing = venue.operator.get("/trading/balance").ok(&shapes::balance());
    assert_eq!(nothing["available"], "0.00");
    venue.operator.get("/trading/balance?userId=1").bad_as("userId", "UNKNOWN_FIELD");
}
