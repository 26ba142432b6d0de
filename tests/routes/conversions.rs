//! `POST /trading/events/{eventId}/convert`, and events whose markets exclude each other.

use serde_json::{Value, json};

use super::client::Answer;
use super::shapes;
use super::venue::{NOBODY, Trader, Venue, event_body, with};

/// A mutually exclusive event with public markets, and two traders; Ann holds no contracts of the
/// first two: 10 that cost 0.60 each, and 10 that cost 0.70.
struct ExclusiveEvent {
    venue: Venue,
    event: String,
    markets: Vec<String>,
    ann: Trader,
    bob: Trader,
}

impl ExclusiveEvent {
    fn open() -> ExclusiveEvent {
        let venue = Venue::open();
        let event = venue.event(&json!({"mutuallyExclusive": true}));
        let of_event = json!({"eventId": event});
        let markets: Vec<String> = (0..3).map(|_| venue.market_with(&of_event)).collect();
        let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
        venue.trade(&markets[0], &bob, &ann, "0.40", "10");
        venue.trade(&markets[1], &bob, &ann, "0.30", "10");
        ExclusiveEvent { venue, event, markets, ann, bob }
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

/// Outcome, contracts and cost of a trader's holdings in a market.
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
fn two_no_contracts_convert_to_cash_and_a_yes_contract() {
    let scene = ExclusiveEvent::open();
    assert_eq!(scene.ann.balance().0, "87.00");
    let made = scene.convert(&scene.ann, &scene.two(), "4");
    let shown = made.ok(&shapes::conversion());
    assert_eq!((&shown["quantity"], &shown["cash"]), (&json!("4"), &json!("4.00")));
    assert_eq!(shown["eventId"], scene.event);
    assert_eq!(shown["marketIds"], json!(scene.two()));
    assert_eq!(shown["receivedMarketIds"], json!([scene.markets[2]]));
    assert_eq!(shown["sequence"].to_string(), made.header("sequence"));
    assert_eq!(scene.ann.balance().0, "91.00");
    let no = |quantity: &str| vec![["no".to_owned(), quantity.to_owned()]];
    assert_eq!(holdings(&scene.ann, &scene.markets[0]), no("6"));
    assert_eq!(holdings(&scene.ann, &scene.markets[1]), no("6"));
    assert_eq!(holdings(&scene.ann, &scene.markets[2]), [["yes", "4"]]);
    // The converted contracts cost 5.20, of which 4.00 came back as cash: the rest moved to the yes
    // contracts.
    let pnl = pnl(&scene.ann);
    assert_eq!((&pnl["realisedPnl"], &pnl["holdingsCost"]), (&json!("0.00"), &json!("9.00")));
    let ledger = scene.ann.get("/account/ledger?limit=1").json;
    let line = &ledger["lines"][0];
    assert_eq!((&line["cause"], &line["available"]), (&json!("CONVERSION"), &json!("4.00")));
    assert_eq!((&line["eventId"], &line["marketId"]), (&json!(scene.event), &Value::Null));
    // Bob's side is unchanged.
    assert_eq!(scene.bob.get("/account/ledger?limit=1").json["lines"][0]["eventId"], Value::Null);
    assert_eq!(holdings(&scene.bob, &scene.markets[2]), Vec::<[String; 2]>::new());
    let stats = scene.ann.get(&format!("/markets/{}/stats", scene.markets[2])).json;
    assert_eq!(stats["openInterest"], "4");
}

#[test]
fn the_remainder_of_converted_sets_goes_to_the_operator() {
    for (winner, left) in [(Some(0), "0.00"), (Some(2), "0.00"), (None, "4.00")] {
        let scene = ExclusiveEvent::open();
        scene.convert(&scene.ann, &scene.two(), "4").ok(&shapes::conversion());
        for (number, market) in scene.markets.iter().enumerate() {
            scene.venue.settle(market, if winner == Some(number) { "yes" } else { "no" });
        }
        assert_eq!(scene.venue.operator.get("/admin/fees").json["collected"], left);
        let of_ann = match winner {
            Some(0) => "97.00",
            Some(_) => "107.00",
            None => "103.00",
        };
        assert_eq!(scene.ann.balance().0, of_ann, "{winner:?}");
        let pnl = pnl(&scene.ann);
        assert_eq!((&pnl["equity"], &pnl["holdingsCost"]), (&json!(of_ann), &json!("0.00")));
    }
}

#[test]
fn a_repeated_conversion_executes_once_with_the_same_answer() {
    let scene = ExclusiveEvent::open();
    let body = json!({"marketIds": scene.two(), "quantity": "4"});
    let send = |body: &Value| {
        let key = [("idempotency-key", "once-1")];
        scene.ann.client.send("POST", &scene.path(), &key, Some(body.to_string().as_bytes()))
    };
    let first = send(&body);
    let shown = first.ok(&shapes::conversion());
    scene.venue.settle(&scene.markets[0], "no");
    let again = send(&body);
    assert_eq!(again.ok(&shapes::conversion()), shown);
    assert_eq!(again.header("idempotent-replay"), "true");
    assert_eq!(holdings(&scene.ann, &scene.markets[2]), [["yes", "4"]]);
    let other = json!({"marketIds": scene.two(), "quantity": "3"});
    send(&other).refused(409, "IDEMPOTENCY_KEY_REUSED");
}

#[test]
fn an_impossible_conversion_changes_nothing() {
    let scene = ExclusiveEvent::open();
    let before = scene.ann.balance();
    scene.convert(&scene.ann, &scene.two(), "10.000001").refused(422, "INSUFFICIENT_CONTRACTS");
    // Bob holds yes contracts only: nobody can convert another user's contracts.
    scene.convert(&scene.bob, &scene.two(), "1").refused(422, "INSUFFICIENT_CONTRACTS");
    // Contracts that back an order cannot be converted.
    let ask = scene.ann.place(&scene.markets[0], "SELL", "no", "0.99", "10").text("orderId");
    scene.convert(&scene.ann, &scene.two(), "1").refused(422, "INSUFFICIENT_CONTRACTS");
    scene.ann.client.delete(&format!("/trading/orders/{ask}"));
    let elsewhere = scene.venue.market();
    scene.convert(&scene.ann, &[&elsewhere], "1").refused(404, "MARKET_NOT_FOUND");
    let nobody = NOBODY.to_owned();
    scene.convert(&scene.ann, &[&nobody], "1").refused(404, "MARKET_NOT_FOUND");
    let body = json!({"marketIds": scene.two(), "quantity": "1"});
    let path = format!("/trading/events/{NOBODY}/convert");
    scene.ann.client.post(&path, &body).refused(404, "EVENT_NOT_FOUND");
    let hidden = scene.venue.event(&json!({"mutuallyExclusive": true}));
    let path = format!("/trading/events/{hidden}/convert");
    scene.ann.client.post(&path, &body).refused(404, "EVENT_NOT_FOUND");
    // A hidden event answers as an unknown one, whatever else is wrong.
    let unknown = json!({"marketIds": [NOBODY], "quantity": "1"});
    scene.ann.client.post(&path, &unknown).refused(404, "EVENT_NOT_FOUND");
    let plain = scene.venue.event(&json!({}));
    let of_plain = scene.venue.market_with(&json!({"eventId": plain}));
    let path = format!("/trading/events/{plain}/convert");
    let of_plain = json!({"marketIds": [of_plain], "quantity": "1"});
    scene.ann.client.post(&path, &of_plain).refused(422, "EVENT_NOT_EXCLUSIVE");
    let draft = scene.venue.draft(&json!({"eventId": scene.event}));
    scene.convert(&scene.ann, &scene.two(), "1").refused(422, "EVENT_NOT_CONVERTIBLE");
    scene.convert(&scene.ann, &[&draft], "1").refused(404, "MARKET_NOT_FOUND");
    assert_eq!(scene.ann.balance(), before);
    assert_eq!(holdings(&scene.ann, &scene.markets[0]), [["no", "10"]]);
}

#[test]
fn a_stopped_trader_converts_nothing() {
    let scene = ExclusiveEvent::open();
    let modes = [("cancel-only", "TRADING_CANCEL_ONLY"), ("read-only", "TRADING_READ_ONLY")];
    for (mode, code) in modes {
        let path = format!("/admin/users/{}/mode", scene.ann.id);
        scene.venue.operator.post(&path, &json!({"mode": mode}));
        scene.convert(&scene.ann, &scene.two(), "1").refused(422, code);
    }
}

#[test]
fn every_bad_field_is_named() {
    let scene = ExclusiveEvent::open();
    let post = |body: &Value| scene.ann.client.post(&scene.path(), body);
    let whole = json!({"marketIds": scene.two(), "quantity": "1"});
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
    scene.ann.client.post(path, &whole).bad_as("eventId", "INVALID_VALUE");
}

#[test]
fn no_market_joins_an_event_after_a_conversion() {
    let scene = ExclusiveEvent::open();
    let body = with(super::venue::market_body(), &json!({"eventId": scene.event}));
    scene.convert(&scene.ann, &scene.two(), "1").ok(&shapes::conversion());
    scene.venue.operator.post("/admin/markets", &body).refused(409, "EVENT_COMPLETE");
    scene.venue.draft(&json!({}));
}

#[test]
fn at_most_one_market_wins() {
    let scene = ExclusiveEvent::open();
    let resolve = json!({"winningOutcomeId": "yes"});
    scene.venue.settle(&scene.markets[0], "yes");
    scene.venue.act(&scene.markets[1], "resolve", &resolve).refused(409, "EVENT_ALREADY_WON");
    let void = |price: &str| scene.venue.act(&scene.markets[1], "void", &json!({"price": price}));
    void("0.01").refused(409, "EVENT_ALREADY_WON");
    let detail = void("0.01").text("detail");
    assert!(detail.contains("would sum to more than 1.00"), "{detail}");
    void("0.00").ok(&shapes::market_detail());
    scene.venue.settle(&scene.markets[2], "no");
    let two = scene.convert(&scene.ann, &scene.two(), "1");
    two.refused(422, "EVENT_NOT_CONVERTIBLE");
}

/// At the usual 0.50, no other market of the event could resolve yes.
#[test]
fn the_price_of_a_voided_market_must_be_given() {
    let scene = ExclusiveEvent::open();
    let path = format!("/admin/markets/{}/void", scene.markets[0]);
    let before = scene.venue.operator.get("/admin/audit/head").sequence();
    for body in [None, Some(&b"{}"[..])] {
        let refused = scene.venue.operator.send("POST", &path, &[], body);
        refused.bad_as("price", "REQUIRED");
        let detail = refused.json["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.starts_with("must be given in a mutually exclusive event"), "{detail}");
        assert_eq!(refused.sequence(), before, "nothing is journaled");
    }
    let missing = format!("/admin/markets/{NOBODY}/void");
    scene.venue.operator.post(&missing, &json!({})).refused(404, "MARKET_NOT_FOUND");
    let priced = scene.venue.act(&scene.markets[0], "void", &json!({"price": "0.00"}));
    priced.ok(&shapes::market_detail());
    scene.venue.settle(&scene.markets[1], "yes");
    // In other events and without one, it is 0.50 unless given.
    let event = scene.venue.event(&json!({}));
    for about in [json!({"eventId": event}), json!({})] {
        let market = scene.venue.market_with(&about);
        let voided = scene.venue.act(&market, "void", &json!({})).ok(&shapes::market_detail());
        assert_eq!(voided["settlementPrice"], "0.50");
    }
}

#[test]
fn an_event_shows_the_summed_prices_of_its_markets() {
    let scene = ExclusiveEvent::open();
    let show = || scene.ann.get(&format!("/events/{}", scene.event)).ok(&shapes::event_detail());
    assert_eq!(show()["mutuallyExclusive"], true);
    assert_eq!(show()["field"], json!({"bestBid": null, "bestAsk": null}));
    for (market, bid, ask) in [(0, "0.35", "0.45"), (1, "0.25", "0.35"), (2, "0.20", "0.28")] {
        scene.bob.place(&scene.markets[market], "BUY", "yes", bid, "1");
        scene.ann.place(&scene.markets[market], "BUY", "no", complement(ask), "1");
    }
    assert_eq!(show()["field"], json!({"bestBid": "0.80", "bestAsk": "1.08"}));
    // A market that takes no orders offers nothing; one that has paid counts at its price.
    scene.venue.act(&scene.markets[0], "suspend", &json!({}));
    assert_eq!(show()["field"], json!({"bestBid": null, "bestAsk": null}));
    scene.venue.settle(&scene.markets[0], "no");
    assert_eq!(show()["field"], json!({"bestBid": "0.45", "bestAsk": "0.63"}));
    let plain = scene.venue.event(&json!({}));
    let plain = scene.venue.operator.get(&format!("/events/{plain}"));
    let plain = plain.ok(&shapes::event_detail());
    assert_eq!((&plain["mutuallyExclusive"], &plain["field"]), (&json!(false), &Value::Null));
    // The flag is set at the event's creation, and only then.
    let path = format!("/admin/events/{}", scene.event);
    let change = scene
        .venue
        .operator
        .patch(&path, &json!({"highlighted": true, "mutuallyExclusive": false}));
    change.bad_as("mutuallyExclusive", "UNKNOWN_FIELD");
    let wrong = with(event_body(), &json!({"mutuallyExclusive": "yes"}));
    scene.venue.operator.post("/admin/events", &wrong).bad_as("mutuallyExclusive", "WRONG_TYPE");
}

/// The price of no when yes is offered at this price.
fn complement(ask: &str) -> &'static str {
    match ask {
        "0.45" => "0.55",
        "0.35" => "0.65",
        _ => "0.72",
    }
}
