//! `GET /trading/books/{marketId}/depth` (interface 4.4, semantics 4).

use serde_json::{Value, json};

use super::shapes;
use super::venue::{NOBODY, Venue};

/// The book of an outcome.
fn book(venue: &Venue, market: &str, outcome: &str, more: &str) -> Value {
    let path = format!("/trading/books/{market}/depth?outcome={outcome}{more}");
    let depth = venue.operator.get(&path).ok(&shapes::depth());
    assert_eq!((&depth["marketId"], &depth["outcomeId"]), (&json!(market), &json!(outcome)));
    depth
}

/// `price quantity orders` of each level.
fn levels(side: &Value) -> Vec<String> {
    let side = side.as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    side.iter()
        .map(|l| format!("{} {} {}", text(&l["price"]), text(&l["quantity"]), l["orders"]))
        .collect()
}

fn best(depth: &Value) -> [&str; 3] {
    ["bestBid", "bestAsk", "spread"].map(|member| depth[member].as_str().unwrap())
}

#[test]
fn an_empty_side_shows_the_price_bound() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    for outcome in ["yes", "no"] {
        let depth = book(&venue, &market, outcome, "");
        assert_eq!((&depth["bids"], &depth["asks"]), (&json!([]), &json!([])));
        assert_eq!(best(&depth), ["0.00", "1.00", "1.00"]);
    }
    ann.place(&market, "BUY", "yes", "0.3", "1");
    assert_eq!(best(&book(&venue, &market, "yes", "")), ["0.30", "1.00", "0.70"]);
    assert_eq!(best(&book(&venue, &market, "no", "")), ["0.00", "0.70", "0.70"]);
}

#[test]
fn each_outcomes_book_mirrors_the_others() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    for (trader, side, outcome, price, quantity) in [
        (&ann, "BUY", "yes", "0.55", "1.5"),
        (&bob, "SELL", "no", "0.45", "2"),
        (&ann, "BUY", "yes", "0.5", "10"),
        (&bob, "BUY", "no", "0.40", "0.000001"),
        (&ann, "SELL", "yes", "0.60", "3"),
        (&bob, "SELL", "yes", "0.99", "1"),
        (&bob, "SELL", "no", "0.99", "4"),
    ] {
        let placed = trader.place(&market, side, outcome, price, quantity).ok(&shapes::placed());
        assert_eq!(placed["status"], "OPEN", "{side} {outcome} {price}");
    }
    let yes = book(&venue, &market, "yes", "");
    assert_eq!(levels(&yes["bids"]), ["0.55 3.5 2", "0.50 10 1", "0.01 4 1"]);
    assert_eq!(levels(&yes["asks"]), ["0.60 3.000001 2", "0.99 1 1"]);
    assert_eq!(best(&yes), ["0.55", "0.60", "0.05"]);
    let no = book(&venue, &market, "no", "");
    assert_eq!(levels(&no["bids"]), ["0.40 3.000001 2", "0.01 1 1"]);
    assert_eq!(levels(&no["asks"]), ["0.45 3.5 2", "0.50 10 1", "0.99 4 1"]);
    assert_eq!(best(&no), ["0.40", "0.45", "0.05"]);

    // Traded and cancelled quantity disappears from both books.
    let eve = venue.trader("eve");
    eve.place(&market, "SELL", "yes", "0.55", "3");
    let no = book(&venue, &market, "no", "");
    assert_eq!(levels(&no["asks"])[0], "0.45 0.5 1");
    ann.client.delete("/trading/orders");
    bob.client.delete("/trading/orders");
    assert_eq!(best(&book(&venue, &market, "no", "")), ["0.00", "1.00", "1.00"]);
}

#[test]
fn the_number_of_levels_is_bounded_by_the_request() {
    let venue = Venue::open();
    let ann = venue.trader_with("ann", "1000");
    let market = venue.market();
    for tick in 1..=49 {
        ann.place(&market, "BUY", "yes", &format!("0.{tick:02}"), "1").ok(&shapes::placed());
    }
    for tick in 50..=99 {
        ann.place(&market, "SELL", "yes", &format!("0.{tick:02}"), "1").ok(&shapes::placed());
    }
    let count = |more: &str| {
        let depth = book(&venue, &market, "yes", more);
        assert_eq!(best(&depth), ["0.49", "0.50", "0.01"]);
        assert_eq!(levels(&depth["bids"])[0], "0.49 1 1");
        (levels(&depth["bids"]).len(), levels(&depth["asks"]).len())
    };
    assert_eq!(count(""), (10, 10));
    assert_eq!(count("&levels=1"), (1, 1));
    assert_eq!(count("&levels=49"), (49, 49));
    assert_eq!(count("&levels=50"), (49, 50));
    let ask = |text: &str| {
        venue.operator.get(&format!("/trading/books/{market}/depth?outcome=no&levels={text}"))
    };
    for text in ["0", "51", "1000", "99999999999999999999999999"] {
        ask(text).bad_as("levels", "OUT_OF_BOUNDS");
    }
    for text in ["", "-1", "1.0", "ten", "%00"] {
        ask(text).bad_as("levels", "INVALID_VALUE");
    }
    ask("5&levels=5").bad_as("levels", "REPEATED");
}

#[test]
fn the_outcome_and_the_market_are_needed() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let ask = |market: &str, query: &str| ann.get(&format!("/trading/books/{market}/depth{query}"));
    ask(&market, "").bad_as("outcome", "REQUIRED");
    for text in ["", "YES", "maybe", "yes,no", "%79es%00"] {
        ask(&market, &format!("?outcome={text}")).bad_as("outcome", "INVALID_VALUE");
    }
    assert_eq!(ask(&market, "?outcome=%79es").status, 200);
    ask(&market, "?outcome=yes&outcome=yes").bad_as("outcome", "REPEATED");
    ask(&market, "?outcome=yes&limit=1").bad_as("limit", "UNKNOWN_FIELD");
    ask("x", "?levels=0&side=1").bad(&["marketId", "outcome", "levels", "side"]);
    ask(NOBODY, "?outcome=yes").refused(404, "MARKET_NOT_FOUND");
    ask(&venue.draft(&json!({})), "?outcome=yes").refused(404, "MARKET_NOT_FOUND");
}

#[test]
fn a_suspended_book_stays_and_a_closed_one_is_empty() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    ann.place(&market, "BUY", "yes", "0.30", "2");
    venue.act(&market, "suspend", &json!({}));
    assert_eq!(levels(&book(&venue, &market, "yes", "")["bids"]), ["0.30 2 1"]);
    venue.act(&market, "close", &json!({}));
    assert_eq!(best(&book(&venue, &market, "yes", "")), ["0.00", "1.00", "1.00"]);
    venue.settle(&market, "yes");
    assert_eq!(best(&book(&venue, &market, "yes", "")), ["0.00", "1.00", "1.00"]);
}
