//! `GET /profiles/{userId}` and `GET /profiles/{userId}/trades`.

use serde_json::{Value, json};

use super::cursors::{CursorList, page};
use super::shapes;
use super::venue::{NOBODY, PICTURE, Venue};

#[test]
fn a_profile_tells_what_the_leaderboard_counts() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    venue.trade(&market, &ann, &bob, "0.60", "10");
    venue.settle(&market, "yes");
    let profile = bob.get(&format!("/profiles/{}", ann.id)).ok(&shapes::profile());
    let user = json!({"id": ann.id, "profileName": "ann", "profilePic": PICTURE});
    assert_eq!(profile["user"], user);
    let shown: Vec<Value> = profile["scores"].as_array().unwrap().clone();
    let score = |period| json!({"period": period, "realisedPnl": "4.00", "volume": "10"});
    // Midnight may have passed in between.
    assert_eq!(shown[1..], ["week", "month", "all"].map(score));
    let idle = venue.trader("idle");
    let profile = bob.get(&format!("/profiles/{}", idle.id)).ok(&shapes::profile());
    assert_eq!(profile["scores"][3]["volume"], "0");
    for path in ["", "/trades"] {
        ann.get(&format!("/profiles/{NOBODY}{path}")).refused(404, "USER_NOT_FOUND");
        ann.get(&format!("/profiles/x{path}")).bad_as("userId", "INVALID_VALUE");
    }
}

/// A resting order of Bob's is nobody's business; the order that met it is told by the activity.
#[test]
fn only_trades_of_incoming_orders_are_public() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let trades = |id: &str| {
        let path = format!("/profiles/{id}/trades?limit=100");
        let json = ann.get(&path).ok(&page("trades", shapes::profile_trade()));
        let shown = |trade: &Value| json!([trade["outcomeId"], trade["price"], trade["quantity"]]);
        json["trades"].as_array().unwrap().iter().map(shown).collect::<Vec<_>>()
    };
    bob.place(&market, "SELL", "yes", "0.60", "9");
    let bet = ann.place(&market, "BUY", "yes", "0.70", "2");
    // Selling yes at 0.60 bets on no at 0.40; buying no is the same.
    ann.place(&market, "BUY", "yes", "0.55", "5");
    bob.place(&market, "SELL", "yes", "0.55", "1");
    bob.place(&market, "BUY", "no", "0.45", "1");
    assert_eq!(trades(&ann.id), [json!(["yes", "0.60", "2"])]);
    assert_eq!(trades(&bob.id), [json!(["no", "0.45", "1"]), json!(["no", "0.45", "1"])]);
    let told = ann.get(&format!("/profiles/{}/trades", ann.id)).json["trades"][0].clone();
    assert_eq!((&told["id"], &told["marketId"]), (&bet.json["trades"][0]["id"], &json!(market)));
    let path = format!("/profiles/{}/trades?", ann.id);
    let shape = page("trades", shapes::profile_trade());
    let bet = || {
        bob.place(&market, "SELL", "yes", "0.90", "1");
        ann.place(&market, "BUY", "yes", "0.90", "1");
    };
    (0..2).for_each(|_| bet());
    CursorList { client: &bob.client, path: &path, name: "trades", shape, max: 100 }.check(bet);
}
