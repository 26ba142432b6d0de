//! `/account/limits`, and the buckets that every request of a trader draws on.

use openoutcry::api::rates::Rates;
use serde_json::{Value, json};

use super::client::{Answer, bare};
use super::shapes;
use super::venue::{NOBODY, Venue};

/// Two at once, and the next one after a minute and more: no test lives to see it.
const FEW: &str = "1:2";

fn rates(reads: &str, writes: &str, cancels: &str) -> Rates {
    let [reads, writes, cancels] = [reads, writes, cancels].map(|limit| limit.parse().unwrap());
    Rates { reads, writes, cancels }
}

fn left(answer: &Answer) -> (&str, &str) {
    assert!(!answer.header("ratelimit-reset").is_empty(), "{answer:?}");
    (answer.header("ratelimit-limit"), answer.header("ratelimit-remaining"))
}

#[test]
fn each_lane_has_its_own_bucket_and_every_answer_says_what_is_left() {
    let venue = Venue::with_rates(rates("1:1000000", "1:900000", "1:800000"));
    let ann = venue.trader("ann");
    let first = ann.get("/trading/balance");
    assert_eq!(left(&first), ("1000000", "999999"));
    let limits = ann.get("/account/limits").ok(&shapes::limits());
    assert_eq!(limits["reads"]["perSecond"], 1);
    assert_eq!(limits["reads"]["burst"], 1_000_000);
    let remaining = |lane: &str| limits[lane]["remaining"].as_u64().unwrap();
    assert!(remaining("reads") < 1_000_000, "asking draws too");
    assert_eq!((remaining("writes"), remaining("cancels")), (900_000, 800_000));
    // Refused requests draw as well, each on the lane it would have been in.
    for (method, path, status, limit) in [
        ("GET", "/nowhere", 404, 1_000_000),
        ("HEAD", "/trading/orders", 200, 1_000_000),
        ("PUT", "/trading/orders", 405, 900_000),
        ("POST", "/trading/orders", 411, 900_000),
        ("POST", "/admin/users", 403, 900_000),
        ("DELETE", "/trading/orders/x", 400, 800_000),
        ("DELETE", "/trading/orders", 200, 800_000),
    ] {
        let answer = ann.client.send(method, path, &[], None);
        assert_eq!((answer.status, left(&answer).0), (status, limit.to_string().as_str()));
        assert!(left(&answer).1.parse::<u32>().unwrap() < limit, "{answer:?}");
    }
}

#[test]
fn who_asks_too_much_is_told_how_long_to_wait_and_nothing_is_carried_out() {
    let venue = Venue::with_rates(rates("0", FEW, FEW));
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let place = || ann.place(&market, "BUY", "yes", "0.50", "1");
    // However slow the machine is, a hundred come faster than one a second.
    let refused = (0..1000).map(|_| place()).find(|answer| answer.status != 200).unwrap();
    refused.refused(429, "RATE_LIMITED");
    assert_eq!((refused.header("retry-after"), left(&refused)), ("1", ("2", "0")));
    assert!(refused.text("detail").contains("/account/limits"));
    let orders = ann.get("/trading/orders");
    assert_eq!(orders.header("ratelimit-limit"), "", "reads have no limit here");
    let open = orders.ok(&shapes::orders())["orders"].as_array().unwrap().len();
    let sequence = orders.sequence();
    let again = place();
    if again.status == 429 {
        assert_eq!(ann.get("/trading/orders").sequence(), sequence);
        assert_eq!(ann.get("/trading/orders").json["orders"].as_array().unwrap().len(), open);
    }
    // Writes used up take no cancel away, and no other key's anything.
    assert_eq!(ann.client.delete("/trading/orders").status, 200);
    assert_eq!(bob.place(&market, "BUY", "no", "0.10", "1").status, 200);
    assert_eq!(ann.get("/account/limits").json["reads"], Value::Null);
}

#[test]
fn an_operators_key_has_no_limit() {
    let venue = Venue::with_rates(rates(FEW, FEW, FEW));
    for _ in 0..20 {
        let answer = venue.operator.get("/admin/users");
        assert_eq!((answer.status, answer.header("ratelimit-limit")), (200, ""));
    }
    let limits = venue.operator.get("/account/limits").ok(&shapes::limits());
    assert_eq!(limits, json!({"reads": null, "writes": null, "cancels": null}));
}

#[test]
fn limits_are_asked_for_with_a_key_and_nothing_else() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    ann.get("/account/limits?x=1").bad(&["x"]);
    let target = "/api/v1/account/limits";
    bare(venue.operator.address, "GET", target, &[], None).refused(401, "MISSING_API_KEY");
    let wrong = [("x-api-key", NOBODY)];
    bare(venue.operator.address, "GET", target, &wrong, None).refused(401, "INVALID_API_KEY");
}
