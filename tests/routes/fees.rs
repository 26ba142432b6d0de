//! Trading fees: of markets, in fills, ledger lines, and profit and loss; and their collection.

use serde_json::{Value, json};

use super::cursors::page;
use super::shapes;
use super::venue::{FAR, Trader, Venue};

const TAKE: &str = "/admin/fees/withdrawals";

/// A market with a maker fee of 2 % and a taker fee of 7 % of price x (1 - price) x quantity.
fn costly(venue: &Venue) -> String {
    venue.market_with(&json!({"makerFee": "0.02", "takerFee": "0.0700"}))
}

fn units(text: &str) -> i128 {
    let (whole, part) = text.split_once('.').unwrap();
    format!("{whole}{part:0<8}").parse().unwrap()
}

fn fees(trader: &Trader) -> Vec<String> {
    let fills = trader.get("/trading/fills").ok(&shapes::page("fills", shapes::fill()));
    let fee = |fill: &Value| fill["fee"].as_str().unwrap().to_owned();
    fills["fills"].as_array().unwrap().iter().map(fee).collect()
}

fn lines(trader: &Trader) -> Vec<Value> {
    let ledger = trader.get("/account/ledger").ok(&page("lines", shapes::ledger_line()));
    ledger["lines"].as_array().unwrap().clone()
}

fn collected(venue: &Venue) -> String {
    venue.operator.get("/admin/fees").ok(&shapes::collected_fees());
    venue.operator.get("/admin/fees").text("collected")
}

#[test]
fn each_side_pays_its_own_rate() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = costly(&venue);
    assert_eq!(collected(&venue), "0.00");
    // Reserved: 6.00, and 0.07 x 0.50 x 0.50 x 10 with 0.0001 for rounding.
    ann.place(&market, "BUY", "yes", "0.60", "10");
    assert_eq!(ann.balance(), ("93.8249".to_owned(), "6.1751".to_owned()));
    bob.place(&market, "SELL", "yes", "0.60", "10");
    assert_eq!((fees(&ann), fees(&bob)), (vec!["0.048".to_owned()], vec!["0.168".to_owned()]));
    assert_eq!(ann.balance(), ("93.952".to_owned(), "0.00".to_owned()));
    assert_eq!(bob.balance(), ("95.832".to_owned(), "0.00".to_owned()));
    assert_eq!(collected(&venue), "0.216");
    let shown = |line: &Value| ["cause", "available", "reserved"].map(|name| line[name].clone());
    let shown: Vec<_> = lines(&ann).iter().map(shown).collect();
    assert_eq!(json!(shown[0]), json!(["FEE", "-0.048", "0.00"]));
    assert_eq!(json!(shown[1]), json!(["TRADE", "0.1751", "-6.1751"]));
}

#[test]
fn the_rates_are_shown_and_fixed_by_publication() {
    let venue = Venue::open();
    let draft = venue.draft(&json!({"takerFee": "0.07"}));
    let path = format!("/admin/markets/{draft}");
    let patch = |body: &Value| venue.operator.patch(&path, body);
    let revised = patch(&json!({"makerFee": "1"})).ok(&shapes::market_detail());
    assert_eq!((&revised["makerFee"], &revised["takerFee"]), (&json!("1.0000"), &json!("0.0700")));
    patch(&json!({"takerFee": "0.07001"})).bad_as("takerFee", "INVALID_VALUE");
    patch(&json!({"makerFee": "1.0001"})).bad_as("makerFee", "OUT_OF_BOUNDS");
    patch(&json!({"makerFee": "-1", "takerFee": 0})).bad(&["makerFee", "takerFee"]);
    venue.act(&draft, "publish", &json!({})).ok(&shapes::market_detail());
    for body in [json!({"makerFee": "0"}), json!({"takerFee": "0", "deadline": FAR})] {
        let refused = patch(&body);
        refused.refused(409, "INVALID_TRANSITION");
        let detail = refused.text("detail");
        let says = "makerFee and takerFee are fixed once the market is published; after record ";
        assert!(detail.starts_with(says) && detail.ends_with(" it is ACTIVE"), "{detail}");
    }
    venue.act(&draft, "close", &json!({})).ok(&shapes::market_detail());
    let detail = patch(&json!({"deadline": FAR})).text("detail");
    let says = "the deadline can be moved only while the market is a draft, active or suspended; ";
    assert!(detail.starts_with(says) && detail.ends_with(" it is CLOSED"), "{detail}");
    let public = venue.trader("ann").get(&format!("/markets/{draft}"));
    assert_eq!(public.ok(&shapes::market_detail())["makerFee"], "1.0000");
}

#[test]
fn an_order_that_cannot_pay_its_fee_is_refused() {
    let venue = Venue::open();
    let ann = venue.trader_with("ann", "5");
    let market = costly(&venue);
    ann.place(&market, "BUY", "yes", "0.50", "10").refused(422, "INSUFFICIENT_FUNDS");
    assert_eq!(ann.balance(), ("5.00".to_owned(), "0.00".to_owned()));
    ann.place(&market, "BUY", "yes", "0.50", "9").ok(&shapes::placed());
}

#[test]
fn with_fees_all_figures_reconcile_to_the_unit() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = costly(&venue);
    for (price, quantity) in [("0.37", "3.141592"), ("0.73", "0.000001"), ("0.50", "7.7")] {
        venue.trade(&market, &ann, &bob, price, quantity);
    }
    // Partly from contracts held, partly for cash.
    venue.trade(&market, &bob, &ann, "0.61", "12.5");
    ann.place(&market, "BUY", "yes", "0.33", "5");
    let mut held = units(&collected(&venue));
    let mut paid = 0;
    for trader in [&ann, &bob] {
        let pnl = trader.get("/account/pnl").ok(&shapes::pnl());
        let figure = |name: &str| units(pnl[name].as_str().unwrap().trim_start_matches('-'));
        let realised = pnl["realisedPnl"].as_str().unwrap();
        let sign = if realised.starts_with('-') { -1 } else { 1 };
        let money = figure("available") + figure("reserved");
        assert_eq!(
            figure("deposits") + sign * figure("realisedPnl"),
            money + figure("holdingsCost")
        );
        let sum = |cause: Option<&str>| -> i128 {
            let lines = lines(trader);
            let lines = lines.iter().filter(|line| cause.is_none_or(|c| line["cause"] == c));
            let change = |line: &Value, name: &str| {
                let text = line[name].as_str().unwrap();
                let digits = units(text.trim_start_matches('-'));
                if text.starts_with('-') { -digits } else { digits }
            };
            lines.map(|line| change(line, "available") + change(line, "reserved")).sum()
        };
        assert_eq!(sum(None), money);
        let fees: i128 = fees(trader).iter().map(|fee| units(fee)).sum();
        assert_eq!(sum(Some("FEE")), -fees);
        paid += fees;
        held += money;
    }
    assert_eq!(units(&collected(&venue)), paid);
    // Ann holds the no contracts and Bob the yes contracts of 1.658407 pairs.
    assert_eq!(held + 165_840_700, 200 * 100_000_000);
}

/// An operator withdraws collected fees to an account, at most what was collected and only once,
/// and from there out of the venue.
#[test]
fn collected_fees_are_withdrawn_once_and_to_the_last_unit() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = costly(&venue);
    venue.trade(&market, &ann, &bob, "0.60", "10");
    let op = &venue.operator;
    let take = |amount: &str| op.post(TAKE, &json!({"amount": amount}));
    let fees = || {
        let fees = op.get("/admin/fees").ok(&shapes::collected_fees());
        ["collected", "taken", "balance"].map(|name| fees[name].as_str().unwrap().to_owned())
    };
    assert_eq!(fees(), ["0.216", "0.00", "0.216"]);
    take("0.21600001").refused(422, "INSUFFICIENT_FEES");
    let body = json!({"amount": "0.2"}).to_string();
    let once = || op.send("POST", TAKE, &[("idempotency-key", "f-1")], Some(body.as_bytes()));
    let first = once();
    assert_eq!(first.ok(&shapes::balance())["available"], "0.20");
    let again = once();
    assert_eq!((again.written(), again.header("idempotent-replay")), (first.written(), "true"));
    assert_eq!(fees(), ["0.216", "0.20", "0.016"]);
    take("0.01600001").refused(422, "INSUFFICIENT_FEES");
    assert_eq!(take("0.016").text("available"), "0.216");
    assert_eq!(fees(), ["0.216", "0.216", "0.00"]);
    take("0.00000001").refused(422, "INSUFFICIENT_FEES");

    let ledger = op.get("/account/ledger").ok(&page("lines", shapes::ledger_line()));
    let shown = ["cause", "available", "availableAfter"].map(|name| &ledger["lines"][0][name]);
    assert_eq!(shown, ["FEES_TAKEN", "0.016", "0.216"]);
    let me = op.get("/admin/users?limit=10").json["users"].as_array().unwrap().last().cloned();
    let out = format!("/admin/users/{}/withdrawals", me.unwrap()["id"].as_str().unwrap());
    assert_eq!(op.post(&out, &json!({"amount": "0.116"})).text("available"), "0.10");
    let pnl = op.get("/account/pnl").ok(&shapes::pnl());
    let shown = ["withdrawals", "feesTaken", "available"].map(|name| &pnl[name]);
    assert_eq!(shown, ["0.116", "0.216", "0.10"]);
    let of_ann = ann.get("/account/pnl").ok(&shapes::pnl());
    assert_eq!(of_ann["feesTaken"], "0.00");
}

#[test]
fn only_the_operator_withdraws_fees() {
    let venue = Venue::open();
    let amount = json!({"amount": "1"});
    venue.trader("ann").client.post(TAKE, &amount).refused(403, "FORBIDDEN");
    venue.operator.post(TAKE, &json!({})).bad(&["amount"]);
    venue.operator.post(TAKE, &json!({"amount": "0"})).bad(&["amount"]);
}

#[test]
fn only_the_operator_reads_the_collected_fees() {
    let venue = Venue::open();
    venue.trader("ann").get("/admin/fees").refused(403, "FORBIDDEN");
    venue.operator.get("/admin/fees?x=1").bad_as("x", "UNKNOWN_FIELD");
}
