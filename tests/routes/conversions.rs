//! `POST /trading/events/{eventId}/convert`, and events whose markets exclude each other.

use serde_json::{Value, json};

use super::client::Answer;
use super::shapes;
use super::venue::{NOBODY, Trader, Venue, event_body, with};

/// A mutually exclusive event of public markets, and two traders of whom Ann holds no contracts of
/// the first two: 10 that cost 0.60 each, and 10 that cost 0.70.
struct Sky {
    venue: Venue,
    event: String,
    markets: Vec<String>,
    ann: Trader,
    bob: Trader,
}

impl Sky {
    fn open() -> Sky {
        let venue = Venue::open();
        let event = venue.event(&json!({"mutuallyExclusive": true}));
        let of_event = json!({"eventId": event});
        let markets: Vec<String> = (0..3).map(|_| venue.market_with(&of_event)).collect();
        let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
        venue.trade(&markets[0], &bob, &ann, "0.40", "10");
        venue.trade(&markets[1], &bob, &ann, "0.30", "10");
        Sky { venue, event, markets, ann, bob }
    }

    fn path(&self) -> String {
        format!("/trading/events/{}/convert", self.event)
    }

    fn convert(&self, by: &Trader, markets: &[&String], quantity: &str) -> Answer {
        by.client.post(&self.path(), &json!({"marketIds": markets, "quantity": quantity}))
    }

    fn two(&self) -> [&String; 2] {
        [&self.markets[0], &self.markets[1]]
    }
}

/// Outcome, contracts and cost of what a trader holds in a market.
fn holdings(trader: &Trader, market: &str) -> Vec<[String; 2]> {
    let positions = trader.get("/trading/positions").json;
    let all = positions["positions"].as_array().unwrap().iter();
    let here = all.filter(|position| position["marketId"] == *market);
    let shown = |position: &Value| {
        let text = |member: &str| position[member].as_str().unwrap().to_owned();
        [text("outcomeId"), text("quantity")]
    };
    here.map(shown).collect()
}

fn pnl(trader: &Trader) -> Value {
    trader.get("/account/pnl").ok(&shapes::pnl())
}

#[test]
fn two_bets_against_become_cash_and_a_bet_for_the_third() {
    let sky = Sky::open();
    assert_eq!(sky.ann.balance().0, "87.00");
    let made = sky.convert(&sky.ann, &sky.two(), "4");
    let shown = made.ok(&shapes::conversion());
    assert_eq!((&shown["quantity"], &shown["cash"]), (&json!("4"), &json!("4.00")));
    assert_eq!(shown["eventId"], sky.event);
    assert_eq!(shown["marketIds"], json!(sky.two()));
    assert_eq!(shown["receivedMarketIds"], json!([sky.markets[2]]));
    assert_eq!(shown["sequence"].to_string(), made.header("sequence"));
    assert_eq!(sky.ann.balance().0, "91.00");
    let no = |quantity: &str| vec![["no".to_owned(), quantity.to_owned()]];
    assert_eq!(holdings(&sky.ann, &sky.markets[0]), no("6"));
    assert_eq!(holdings(&sky.ann, &sky.markets[1]), no("6"));
    assert_eq!(holdings(&sky.ann, &sky.markets[2]), [["yes", "4"]]);
    // What was given cost 5.20, of which the cash paid back 4.00: the rest moved.
    let pnl = pnl(&sky.ann);
    assert_eq!((&pnl["realisedPnl"], &pnl["holdingsCost"]), (&json!("0.00"), &json!("9.00")));
    let ledger = sky.ann.get("/account/ledger?limit=1").json;
    let line = &ledger["lines"][0];
    assert_eq!((&line["cause"], &line["available"]), (&json!("CONVERSION"), &json!("4.00")));
    assert_eq!((&line["eventId"], &line["marketId"]), (&json!(sky.event), &Value::Null));
    // Bob's side of it all is as it was.
    assert_eq!(sky.bob.get("/account/ledger?limit=1").json["lines"][0]["eventId"], Value::Null);
    assert_eq!(holdings(&sky.bob, &sky.markets[2]), Vec::<[String; 2]>::new());
    let stats = sky.ann.get(&format!("/markets/{}/stats", sky.markets[2])).json;
    assert_eq!(stats["openInterest"], "4");
}

#[test]
fn what_the_sets_leave_is_the_operators() {
    for (winner, left) in [(Some(0), "0.00"), (Some(2), "0.00"), (None, "4.00")] {
        let sky = Sky::open();
        sky.convert(&sky.ann, &sky.two(), "4").ok(&shapes::conversion());
        for (number, market) in sky.markets.iter().enumerate() {
            sky.venue.settle(market, if winner == Some(number) { "yes" } else { "no" });
        }
        assert_eq!(sky.venue.operator.get("/admin/fees").json["collected"], left);
        let of_ann = match winner {
            Some(0) => "97.00",
            Some(_) => "107.00",
            None => "103.00",
        };
        assert_eq!(sky.ann.balance().0, of_ann, "{winner:?}");
        let pnl = pnl(&sky.ann);
        assert_eq!((&pnl["equity"], &pnl["holdingsCost"]), (&json!(of_ann), &json!("0.00")));
    }
}

#[test]
fn a_repetition_converts_once_and_answers_the_same() {
    let sky = Sky::open();
    let body = json!({"marketIds": sky.two(), "quantity": "4"});
    let send = |body: &Value| {
        let key = [("idempotency-key", "once-1")];
        sky.ann.client.send("POST", &sky.path(), &key, Some(body.to_string().as_bytes()))
    };
    let first = send(&body);
    let shown = first.ok(&shapes::conversion());
    sky.venue.settle(&sky.markets[0], "no");
    let again = send(&body);
    assert_eq!(again.ok(&shapes::conversion()), shown);
    assert_eq!(again.header("idempotent-replay"), "true");
    assert_eq!(holdings(&sky.ann, &sky.markets[2]), [["yes", "4"]]);
    let other = json!({"marketIds": sky.two(), "quantity": "3"});
    send(&other).refused(409, "IDEMPOTENCY_KEY_REUSED");
}

#[test]
fn nothing_happens_where_it_cannot() {
    let sky = Sky::open();
    let before = sky.ann.balance();
    sky.convert(&sky.ann, &sky.two(), "10.000001").refused(422, "INSUFFICIENT_CONTRACTS");
    // Bob holds yes contracts only: nobody can convert what another holds.
    sky.convert(&sky.bob, &sky.two(), "1").refused(422, "INSUFFICIENT_CONTRACTS");
    // What backs an order stays where it is.
    let ask = sky.ann.place(&sky.markets[0], "SELL", "no", "0.99", "10").text("orderId");
    sky.convert(&sky.ann, &sky.two(), "1").refused(422, "INSUFFICIENT_CONTRACTS");
    sky.ann.client.delete(&format!("/trading/orders/{ask}"));
    let elsewhere = sky.venue.market();
    sky.convert(&sky.ann, &[&elsewhere], "1").refused(404, "MARKET_NOT_FOUND");
    let nobody = NOBODY.to_owned();
    sky.convert(&sky.ann, &[&nobody], "1").refused(404, "MARKET_NOT_FOUND");
    let body = json!({"marketIds": sky.two(), "quantity": "1"});
    let path = format!("/trading/events/{NOBODY}/convert");
    sky.ann.client.post(&path, &body).refused(404, "EVENT_NOT_FOUND");
    let hidden = sky.venue.event(&json!({"mutuallyExclusive": true}));
    let path = format!("/trading/events/{hidden}/convert");
    sky.ann.client.post(&path, &body).refused(404, "EVENT_NOT_FOUND");
    // Whatever else is wrong, a hidden event answers as none.
    let unknown = json!({"marketIds": [NOBODY], "quantity": "1"});
    sky.ann.client.post(&path, &unknown).refused(404, "EVENT_NOT_FOUND");
    let plain = sky.venue.event(&json!({}));
    let of_plain = sky.venue.market_with(&json!({"eventId": plain}));
    let path = format!("/trading/events/{plain}/convert");
    let of_plain = json!({"marketIds": [of_plain], "quantity": "1"});
    sky.ann.client.post(&path, &of_plain).refused(422, "EVENT_NOT_EXCLUSIVE");
    let draft = sky.venue.draft(&json!({"eventId": sky.event}));
    sky.convert(&sky.ann, &sky.two(), "1").refused(422, "EVENT_NOT_CONVERTIBLE");
    sky.convert(&sky.ann, &[&draft], "1").refused(404, "MARKET_NOT_FOUND");
    assert_eq!(sky.ann.balance(), before);
    assert_eq!(holdings(&sky.ann, &sky.markets[0]), [["no", "10"]]);
}

#[test]
fn a_stopped_trader_converts_nothing() {
    let sky = Sky::open();
    let modes = [("cancel-only", "TRADING_CANCEL_ONLY"), ("read-only", "TRADING_READ_ONLY")];
    for (mode, code) in modes {
        let path = format!("/admin/users/{}/mode", sky.ann.id);
        sky.venue.operator.post(&path, &json!({"mode": mode}));
        sky.convert(&sky.ann, &sky.two(), "1").refused(422, code);
    }
}

#[test]
fn every_bad_field_is_named() {
    let sky = Sky::open();
    let post = |body: &Value| sky.ann.client.post(&sky.path(), body);
    let whole = json!({"marketIds": sky.two(), "quantity": "1"});
    post(&json!({})).bad(&["marketIds", "quantity"]);
    let bad = |more: Value| post(&with(whole.clone(), &more));
    bad(json!({"marketIds": []})).bad_as("marketIds", "OUT_OF_BOUNDS");
    bad(json!({"marketIds": vec![NOBODY; 257]})).bad_as("marketIds", "OUT_OF_BOUNDS");
    bad(json!({"marketIds": "x"})).bad_as("marketIds", "WRONG_TYPE");
    bad(json!({"marketIds": ["x"]})).bad_as("marketIds[0]", "INVALID_VALUE");
    let twice = json!({"marketIds": [NOBODY, NOBODY]});
    bad(twice).bad_as("marketIds[1]", "REPEATED");
    bad(json!({"quantity": 1})).bad_as("quantity", "WRONG_TYPE");
    bad(json!({"quantity": "0"})).bad_as("quantity", "OUT_OF_BOUNDS");
    bad(json!({"price": "0.5"})).bad_as("price", "UNKNOWN_FIELD");
    let path = "/trading/events/x/convert";
    sky.ann.client.post(path, &whole).bad_as("eventId", "INVALID_VALUE");
}

#[test]
fn an_event_is_complete_once_something_is_converted() {
    let sky = Sky::open();
    let body = with(super::venue::market_body(), &json!({"eventId": sky.event}));
    sky.convert(&sky.ann, &sky.two(), "1").ok(&shapes::conversion());
    sky.venue.operator.post("/admin/markets", &body).refused(409, "EVENT_COMPLETE");
    sky.venue.draft(&json!({}));
}

#[test]
fn at_most_one_market_wins() {
    let sky = Sky::open();
    let resolve = json!({"winningOutcomeId": "yes"});
    sky.venue.settle(&sky.markets[0], "yes");
    sky.venue.act(&sky.markets[1], "resolve", &resolve).refused(409, "EVENT_ALREADY_WON");
    let void = |price: &str| sky.venue.act(&sky.markets[1], "void", &json!({"price": price}));
    void("0.01").refused(409, "EVENT_ALREADY_WON");
    sky.venue.act(&sky.markets[1], "void", &json!({})).refused(409, "EVENT_ALREADY_WON");
    void("0.00").ok(&shapes::market_detail());
    sky.venue.settle(&sky.markets[2], "no");
    let two = sky.convert(&sky.ann, &sky.two(), "1");
    two.refused(422, "EVENT_NOT_CONVERTIBLE");
}

#[test]
fn an_event_says_what_its_field_costs() {
    let sky = Sky::open();
    let show = || sky.ann.get(&format!("/events/{}", sky.event)).ok(&shapes::event_detail());
    assert_eq!(show()["mutuallyExclusive"], true);
    assert_eq!(show()["field"], json!({"bestBid": null, "bestAsk": null}));
    for (market, bid, ask) in [(0, "0.35", "0.45"), (1, "0.25", "0.35"), (2, "0.20", "0.28")] {
        sky.bob.place(&sky.markets[market], "BUY", "yes", bid, "1");
        sky.ann.place(&sky.markets[market], "BUY", "no", complement(ask), "1");
    }
    assert_eq!(show()["field"], json!({"bestBid": "0.80", "bestAsk": "1.08"}));
    // A market that takes no orders has none to offer; one that has paid counts with that.
    sky.venue.act(&sky.markets[0], "suspend", &json!({}));
    assert_eq!(show()["field"], json!({"bestBid": null, "bestAsk": null}));
    sky.venue.settle(&sky.markets[0], "no");
    assert_eq!(show()["field"], json!({"bestBid": "0.45", "bestAsk": "0.63"}));
    let plain = sky.venue.event(&json!({}));
    let plain = sky.venue.operator.get(&format!("/events/{plain}"));
    let plain = plain.ok(&shapes::event_detail());
    assert_eq!((&plain["mutuallyExclusive"], &plain["field"]), (&json!(false), &Value::Null));
    // The flag is set when the event is made, and only then.
    let path = format!("/admin/events/{}", sky.event);
    let change =
        sky.venue.operator.patch(&path, &json!({"highlighted": true, "mutuallyExclusive": false}));
    change.bad_as("mutuallyExclusive", "UNKNOWN_FIELD");
    let wrong = with(event_body(), &json!({"mutuallyExclusive": "yes"}));
    sky.venue.operator.post("/admin/events", &wrong).bad_as("mutuallyExclusive", "WRONG_TYPE");
}

/// The price of no at which yes is asked for so much.
fn complement(ask: &str) -> &'static str {
    match ask {
        "0.45" => "0.55",
        "0.35" => "0.65",
        _ => "0.72",
    }
}
