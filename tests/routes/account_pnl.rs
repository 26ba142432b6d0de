//! `GET /account/settlements` and `GET /account/pnl`.

use serde_json::{Value, json};

use super::cursors::{CursorList, page};
use super::shapes;
use super::venue::{NOBODY, Trader, Venue};

fn settlements(trader: &Trader) -> Vec<Value> {
    let shape = page("settlements", shapes::settlement());
    let json = trader.get("/account/settlements").ok(&shape);
    json["settlements"].as_array().unwrap().clone()
}

/// Deposits, withdrawals, realised, unrealised, cost, value, available, reserved, equity.
fn figures(trader: &Trader) -> Vec<String> {
    let pnl = trader.get("/account/pnl").ok(&shapes::pnl());
    let names = [
        "deposits",
        "withdrawals",
        "realisedPnl",
        "unrealisedPnl",
        "holdingsCost",
        "holdingsValue",
        "available",
        "reserved",
        "equity",
    ];
    names.iter().map(|name| pnl[name].as_str().unwrap().to_owned()).collect()
}

#[test]
fn settlements_show_what_holders_were_paid() {
    let venue = Venue::open();
    let (ann, bob, eve) = (venue.trader("ann"), venue.trader("bob"), venue.trader("eve"));
    let (first, second) = (venue.market(), venue.market());
    venue.trade(&first, &ann, &bob, "0.60", "10");
    venue.trade(&second, &bob, &ann, "0.30", "2.5");
    venue.settle(&first, "yes");
    venue.act(&second, "void", &json!({"price": "0.40"})).ok(&shapes::market_detail());
    let shown = |row: &Value| {
        ["marketId", "outcomeId", "quantity", "payout", "realisedPnl"].map(|name| row[name].clone())
    };
    let rows: Vec<_> = settlements(&ann).iter().map(shown).collect();
    assert_eq!(json!(rows[0]), json!([second, "no", "2.5", "1.50", "-0.25"]));
    assert_eq!(json!(rows[1]), json!([first, "yes", "10", "10.00", "4.00"]));
    let rows: Vec<_> = settlements(&bob).iter().map(shown).collect();
    assert_eq!(json!(rows[0]), json!([second, "yes", "2.5", "1.00", "0.25"]));
    assert_eq!(json!(rows[1]), json!([first, "no", "10", "0.00", "-4.00"]));
    assert_eq!(settlements(&eve), Vec::<Value>::new());
}

#[test]
fn settlements_are_paged_by_cursor() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let end = || {
        let market = venue.market();
        venue.trade(&market, &ann, &bob, "0.60", "1");
        venue.settle(&market, "no");
    };
    for _ in 0..3 {
        end();
    }
    let shape = page("settlements", shapes::settlement());
    let (path, name) = ("/account/settlements?", "settlements");
    CursorList { client: &ann.client, path, name, shape, max: 1000 }.check(end);
    ann.get("/account/settlements?limit=1001").bad_as("limit", "OUT_OF_BOUNDS");
}

#[test]
fn profit_and_loss_reconcile_with_the_balance() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    venue.trade(&market, &ann, &bob, "0.60", "10");
    let withdrawals = format!("/admin/users/{}/withdrawals", ann.id);
    venue.operator.post(&withdrawals, &json!({"amount": "5"}));
    // Half of it is sold at a profit, and then the book shows 0.80.
    venue.trade(&market, &bob, &ann, "0.70", "5");
    bob.place(&market, "BUY", "yes", "0.79", "1");
    bob.place(&market, "SELL", "yes", "0.81", "1");
    // Available 100 - 5 + 0.50 - 3.00 = 92.50, cost 3.00; worth 4.00 at 0.80.
    let expected = ["100.00", "5.00", "0.50", "1.00", "3.00", "4.00", "92.50", "0.00", "96.50"];
    assert_eq!(figures(&ann), expected);
    let bob = figures(&bob);
    // The other side mirrors it, except for the reserved money.
    assert_eq!((bob[2].as_str(), bob[3].as_str()), ("-0.50", "-1.00"));
    venue.settle(&market, "yes");
    let expected = ["100.00", "5.00", "2.50", "0.00", "0.00", "0.00", "97.50", "0.00", "97.50"];
    assert_eq!(figures(&ann), expected);
    ann.get("/account/pnl?userId=1").bad_as("userId", "UNKNOWN_FIELD");
    let operator = venue.operator.get("/account/pnl").ok(&shapes::pnl());
    assert_eq!((&operator["deposits"], &operator["equity"]), (&json!("0.00"), &json!("0.00")));
}

#[test]
fn the_profit_of_a_market_stays_readable_however_it_was_left() {
    let venue = Venue::open();
    let (ann, bob, eve) = (venue.trader("ann"), venue.trader("bob"), venue.trader("eve"));
    let [left, held, other] = [(); 3].map(|()| venue.market());
    let figures = |trader: &Trader, market: &str| {
        let pnl = trader.get(&format!("/account/pnl?marketId={market}")).ok(&shapes::market_pnl());
        assert_eq!(pnl["marketId"], *market);
        let names = ["realisedPnl", "unrealisedPnl", "holdingsCost", "holdingsValue"];
        names.map(|name| pnl[name].as_str().unwrap().to_owned())
    };
    venue.trade(&left, &ann, &bob, "0.60", "10");
    venue.trade(&left, &bob, &ann, "0.70", "10");
    venue.trade(&held, &ann, &bob, "0.60", "10");
    venue.trade(&held, &bob, &ann, "0.80", "5");
    let gone = ["1.00", "0.00", "0.00", "0.00"];
    assert_eq!(figures(&ann, &left), gone);
    assert_eq!(figures(&ann, &held), ["1.00", "1.00", "3.00", "4.00"]);
    assert_eq!(figures(&eve, &held), ["0.00"; 4]);
    for market in [&other, &left, &held] {
        venue.settle(market, "yes");
    }
    assert_eq!(figures(&ann, &left), gone);
    assert_eq!(figures(&bob, &left), ["-1.00", "0.00", "0.00", "0.00"]);
    assert_eq!(figures(&ann, &held), ["3.00", "0.00", "0.00", "0.00"]);
    assert_eq!(figures(&bob, &held), ["-3.00", "0.00", "0.00", "0.00"]);
    assert_eq!(figures(&ann, &other), ["0.00"; 4]);
    assert_eq!(ann.get("/account/pnl").json["realisedPnl"], "4.00");
    let draft = venue.draft(&json!({}));
    for unknown in [draft.as_str(), NOBODY] {
        let path = format!("/account/pnl?marketId={unknown}");
        ann.get(&path).refused(404, "MARKET_NOT_FOUND");
    }
    ann.get("/account/pnl?marketId=x").bad_as("marketId", "INVALID_VALUE");
}
