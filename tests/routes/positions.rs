//! `GET /trading/positions` (interface 2.6 and 4.7, semantics 5 and 6).

use serde_json::{Value, json};

use super::paging::List;
use super::shapes;
use super::venue::{FAR, PICTURE, Trader, Venue, order, texts, with};

fn listed(trader: &Trader) -> Vec<Value> {
    let page = trader.get("/trading/positions");
    let page = page.ok(&shapes::page("positions", shapes::position()));
    page["positions"].as_array().unwrap().clone()
}

/// The trader's only position.
fn only(trader: &Trader) -> Value {
    let mut positions = listed(trader);
    assert_eq!(positions.len(), 1, "{positions:?}");
    positions.remove(0)
}

/// Outcome, stake, pay-out, odds, quantity, average price, result and resolution.
fn figures(position: &Value) -> Vec<Value> {
    [
        "outcomeId",
        "totalStake",
        "potentialPayout",
        "oddLocked",
        "quantity",
        "averagePrice",
        "realisedPnl",
        "resolution",
    ]
    .map(|member| position[member].clone())
    .to_vec()
}

fn expect(position: &Value, expected: &Value) {
    assert_eq!(Value::from(figures(position)), *expected);
}

#[test]
fn the_list_is_paged() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    for _ in 0..3 {
        venue.trade(&venue.market(), &ann, &bob, "0.60", "1");
    }
    List {
        client: &ann.client,
        path: "/trading/positions",
        name: "positions",
        shape: shapes::position(),
        standard: 20,
        max: 100,
        capped: false,
    }
    .check();
}

#[test]
fn both_parties_hold_the_outcome_they_bet_on() {
    let venue = Venue::open();
    let (ann, bob, eve) = (venue.trader("ann"), venue.trader("bob"), venue.trader("eve"));
    let market = venue.market();
    ann.place(&market, "BUY", "yes", "0.60", "1");
    assert_eq!(listed(&ann), Vec::<Value>::new(), "an order is not a position");
    bob.place(&market, "SELL", "yes", "0.60", "1");
    venue.trade(&market, &ann, &bob, "0.50", "2");
    let up = only(&ann);
    expect(&up, &json!(["yes", 1.6, 3.0, 1.875, "3", "0.533333", "0.00", null]));
    expect(&only(&bob), &json!(["no", 1.4, 3.0, 2.1429, "3", "0.466667", "0.00", null]));
    assert_eq!((&up["userId"], &up["marketId"]), (&json!(ann.id), &json!(market)));
    assert_eq!(up["copyFromTraderId"], Value::Null);
    let created = venue.operator.get(&format!("/markets/{market}")).json["createdAt"].clone();
    assert_eq!(
        up["market"],
        json!({
            "id": market, "questions": texts("question"), "status": "ACTIVE", "deadline": FAR,
            "winningOutcomeId": null, "createdAt": created, "logo": PICTURE,
            "outcomes": [{"id": "yes", "text": texts("it will")}, {"id": "no", "text": texts("not")}],
        })
    );
    assert_eq!(listed(&eve), Vec::<Value>::new());
    assert_eq!(venue.operator.get("/trading/positions").json["total"], 0);
    assert_ne!(up["id"], only(&bob)["id"]);
}

#[test]
fn selling_and_merging_reduce_a_position_and_realise_its_result() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    venue.trade(&market, &ann, &bob, "0.60", "3");
    venue.trade(&market, &bob, &ann, "0.70", "1");
    expect(&only(&ann), &json!(["yes", 1.2, 2.0, 1.6667, "2", "0.60", "0.10", null]));
    expect(&only(&bob), &json!(["no", 0.8, 2.0, 2.5, "2", "0.40", "-0.10", null]));
    // Locked contracts are still held.
    ann.place(&market, "BUY", "no", "0.01", "1.5");
    expect(&only(&ann), &json!(["yes", 1.2, 2.0, 1.6667, "2", "0.60", "0.10", null]));
    ann.client.delete("/trading/orders");
    venue.trade(&market, &bob, &ann, "0.50", "2");
    assert_eq!(listed(&ann), Vec::<Value>::new());
    assert_eq!(ann.balance(), ("99.90".to_owned(), "0.00".to_owned()));
    assert_eq!(bob.balance(), ("100.10".to_owned(), "0.00".to_owned()));
}

#[test]
fn the_latest_change_comes_first() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let [a, b, c] = [(); 3].map(|()| venue.market());
    for market in [&a, &b, &c, &a] {
        venue.trade(market, &ann, &bob, "0.60", "1");
    }
    let order = |trader: &Trader| -> Vec<String> {
        let text = |position: &Value| position["marketId"].as_str().unwrap().to_owned();
        listed(trader).iter().map(text).collect()
    };
    assert_eq!(order(&ann), [a.as_str(), &c, &b]);
    venue.settle(&b, "yes");
    assert_eq!(order(&bob), [b, a, c]);
    let moments: Vec<Value> = listed(&bob).iter().map(|p| p["updatedAt"].clone()).collect();
    assert!(moments.windows(2).all(|pair| pair[0].as_str() >= pair[1].as_str()), "{moments:?}");
}

#[test]
fn a_settled_position_keeps_its_figures_and_shows_its_result() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    venue.trade(&market, &ann, &bob, "0.60", "2.5");
    ann.place(&market, "BUY", "yes", "0.30", "1");
    venue.settle(&market, "yes");
    let (won, lost) = (only(&ann), only(&bob));
    expect(&won, &json!(["yes", 1.5, 2.5, 1.6667, "2.5", "0.60", "1.00", "WON"]));
    expect(&lost, &json!(["no", 1.0, 2.5, 2.5, "2.5", "0.40", "-1.00", "LOST"]));
    for position in [won, lost] {
        assert_eq!(position["market"]["winningOutcomeId"], "yes");
        assert_eq!(position["market"]["status"], "SETTLED");
    }
    assert_eq!(ann.balance(), ("101.00".to_owned(), "0.00".to_owned()));
    assert_eq!(bob.balance(), ("99.00".to_owned(), "0.00".to_owned()));
}

#[test]
fn an_announced_market_has_not_paid_yet() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market_with(&json!({"disputeWindowSeconds": 3600}));
    venue.trade(&market, &ann, &bob, "0.60", "1");
    venue.act(&market, "resolve", &json!({"winningOutcomeId": "no"}));
    let position = only(&ann);
    expect(&position, &json!(["yes", 0.6, 1.0, 1.6667, "1", "0.60", "0.00", null]));
    assert_eq!(position["market"]["status"], "RESOLVED");
    assert_eq!(ann.balance(), ("99.40".to_owned(), "0.00".to_owned()));
}

#[test]
fn a_voided_position_is_paid_at_the_stated_price() {
    let venue = Venue::open();
    for (body, ann_has, bob_has, ann_made, bob_made) in [
        (json!({"price": "0.25"}), "98.25", "101.75", "-1.75", "1.75"),
        (json!({}), "99.50", "100.50", "-0.50", "0.50"),
        (json!({"price": "1"}), "102.00", "98.00", "2.00", "-2.00"),
        (json!({"price": "0.00"}), "97.00", "103.00", "-3.00", "3.00"),
    ] {
        let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
        let market = venue.market();
        venue.trade(&market, &ann, &bob, "0.60", "5");
        venue.act(&market, "void", &body).ok(&shapes::market_detail());
        let (up, down) = (only(&ann), only(&bob));
        expect(&up, &json!(["yes", 3.0, 5.0, 1.6667, "5", "0.60", ann_made, "VOID"]));
        expect(&down, &json!(["no", 2.0, 5.0, 2.5, "5", "0.40", bob_made, "VOID"]));
        assert_eq!(up["market"]["winningOutcomeId"], Value::Null);
        assert_eq!((ann.balance().0, bob.balance().0), (ann_has.to_owned(), bob_has.to_owned()));
    }
}

#[test]
fn a_copied_position_names_the_copied_trader() {
    let venue = Venue::open();
    let (ann, bob, eve) = (venue.trader("ann"), venue.trader("bob"), venue.trader("eve"));
    let (market, other) = (venue.market(), venue.market());
    venue.trade(&other, &venue.trader("dan"), &eve, "0.50", "1");
    let copy =
        with(order(&market, "BUY", "yes", "0.60", "1"), &json!({"copyFromTraderId": eve.id}));
    ann.order(&copy).ok(&shapes::placed());
    bob.place(&market, "SELL", "yes", "0.60", "1");
    assert_eq!(only(&ann)["copyFromTraderId"], *eve.id);
    assert_eq!(only(&bob)["copyFromTraderId"], Value::Null);
}

#[test]
fn amounts_are_written_as_numbers() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    venue.trade(&market, &ann, &bob, "0.01", "0.000001");
    let written = ann.get("/trading/positions").written();
    for figure in
        ["\"totalStake\":0.00000001,", "\"potentialPayout\":0.000001,", "\"oddLocked\":100,"]
    {
        assert!(written.contains(figure), "{figure} in {written}");
    }
    assert_eq!(ann.balance().0, "99.99999999");
}

#[test]
fn closed_positions_are_listed_where_they_are_asked_for() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let [sold, merged, held, ended] = [(); 4].map(|()| venue.market());
    venue.trade(&ended, &ann, &bob, "0.60", "1");
    venue.trade(&ended, &bob, &ann, "0.50", "1");
    venue.trade(&held, &ann, &bob, "0.60", "1");
    venue.trade(&sold, &ann, &bob, "0.60", "10");
    venue.trade(&sold, &bob, &ann, "0.70", "10");
    // Ann's no contract completes a pair with her yes contract.
    venue.trade(&merged, &ann, &bob, "0.30", "2");
    ann.place(&merged, "BUY", "no", "0.80", "2");
    bob.place(&merged, "SELL", "no", "0.80", "2");
    venue.settle(&ended, "yes");
    let list = |trader: &Trader, query: &str| {
        let page = trader.get(&format!("/trading/positions?includeClosed=true{query}"));
        let page = page.ok(&shapes::page("positions", shapes::position()));
        let rows = page["positions"].as_array().unwrap().iter();
        let names = ["marketId", "outcomeId", "quantity", "realisedPnl", "resolution"];
        let rows: Vec<_> = rows.map(|row| json!(names.map(|name| row[name].clone()))).collect();
        (rows, page["total"].clone())
    };
    let (rows, total) = list(&ann, "");
    let all = [
        json!([held, "yes", "1", "0.00", null]),
        json!([merged, "yes", "0", "-0.20", null]),
        json!([sold, "yes", "0", "1.00", null]),
        json!([ended, "yes", "0", "-0.10", "WON"]),
    ];
    assert_eq!((rows, total), (all.to_vec(), json!(4)));
    for offset in 0..=5 {
        for limit in 1..=4 {
            let (rows, total) = list(&ann, &format!("&limit={limit}&offset={offset}"));
            let expected: Vec<_> = all.iter().skip(offset).take(limit).cloned().collect();
            assert_eq!((rows, total), (expected, json!(4)), "{offset} {limit}");
        }
    }
    assert_eq!(list(&bob, "&offset=3").0, [json!([ended, "no", "0", "0.10", "LOST"])]);
    // Whoever does not ask sees what is held, or was to the end; and a position that is opened
    // again is closed no more.
    assert_eq!(only(&ann)["marketId"], held.as_str());
    assert_eq!(ann.get("/trading/positions?includeClosed=false").json["total"], 1);
    venue.trade(&sold, &ann, &bob, "0.60", "1");
    assert_eq!(list(&ann, "").0[0], json!([sold, "yes", "1", "1.00", null]));
    assert_eq!(list(&ann, "").1, 4);
    ann.get("/trading/positions?includeClosed=1").bad_as("includeClosed", "INVALID_VALUE");
}
