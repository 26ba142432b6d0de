//! `GET /account/ledger`: every change of money with its cause, and that the changes add up.

use serde_json::{Value, json};

use super::cursors::{CursorList, page};
use super::shapes;
use super::venue::{NOBODY, Trader, Venue};

fn lines(trader: &Trader) -> Vec<Value> {
    let ledger = trader.get("/account/ledger").ok(&page("lines", shapes::ledger_line()));
    ledger["lines"].as_array().unwrap().clone()
}

/// Cause, available, reserved of each line, newest first.
fn summaries(trader: &Trader) -> Vec<[String; 3]> {
    let text = |line: &Value, member: &str| line[member].as_str().unwrap().to_owned();
    let summary =
        |line: &Value| ["cause", "available", "reserved"].map(|member| text(line, member));
    lines(trader).iter().map(summary).collect()
}

#[test]
fn every_change_of_money_is_listed_with_its_cause() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let bid = ann.place(&market, "BUY", "yes", "0.60", "10").text("orderId");
    bob.place(&market, "SELL", "yes", "0.55", "4");
    ann.client.patch(&format!("/trading/orders/{bid}"), &json!({"price": "0.50"}));
    ann.client.delete(&format!("/trading/orders/{bid}"));
    let withdrawals = format!("/admin/users/{}/withdrawals", ann.id);
    venue.operator.post(&withdrawals, &json!({"amount": "7.5"}));
    venue.settle(&market, "yes");
    let expected = [
        ["SETTLEMENT", "4.00", "0.00"],
        ["WITHDRAWAL", "-7.50", "0.00"],
        ["ORDER_RELEASED", "3.00", "-3.00"],
        ["ORDER_AMENDED", "0.60", "-0.60"],
        ["TRADE", "0.00", "-2.40"],
        ["ORDER_RESERVED", "-6.00", "6.00"],
        ["DEPOSIT", "100.00", "0.00"],
    ];
    assert_eq!(summaries(&ann), expected);
    // Losing contracts pay nothing, so they make no line.
    assert_eq!(summaries(&bob), [["TRADE", "-1.60", "0.00"], ["DEPOSIT", "100.00", "0.00"]]);
    let all = lines(&ann);
    let after = (&all[0]["availableAfter"], &all[0]["reservedAfter"]);
    assert_eq!(after, (&json!(ann.balance().0), &json!(ann.balance().1)));
    for line in &all[2..6] {
        assert_eq!((&line["orderId"], &line["marketId"]), (&json!(bid), &json!(market)));
    }
    assert_eq!((&all[0]["orderId"], &all[0]["marketId"]), (&Value::Null, &json!(market)));
    assert_eq!((&all[6]["orderId"], &all[6]["number"]), (&Value::Null, &json!(1)));
    assert!(all.windows(2).all(|two| two[0]["sequence"].as_u64() > two[1]["sequence"].as_u64()));
}

#[test]
fn redeemed_pairs_and_voids_are_listed() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    venue.trade(&market, &ann, &bob, "0.60", "10");
    // Ann's yes contracts back this order; meanwhile she buys as many no contracts.
    let ask = ann.place(&market, "SELL", "yes", "0.90", "2").text("orderId");
    bob.place(&market, "BUY", "yes", "0.70", "2");
    ann.place(&market, "BUY", "no", "0.30", "2");
    ann.client.delete(&format!("/trading/orders/{ask}"));
    venue.act(&market, "void", &json!({"price": "0.25"}));
    let causes: Vec<String> = summaries(&ann).into_iter().map(|[cause, ..]| cause).collect();
    assert_eq!(causes[0], "VOID");
    assert!(causes.contains(&"TRADE".to_owned()), "{causes:?}");
    let sum = |member: &str| -> i64 {
        let units = |line: &Value| {
            let text = line[member].as_str().unwrap();
            let (whole, part) = text.split_once('.').unwrap();
            format!("{whole}{part:0<8}").parse::<i64>().unwrap()
        };
        lines(&ann).iter().map(units).sum()
    };
    let (available, reserved) = ann.balance();
    let units = |text: &str| {
        let (whole, part) = text.split_once('.').unwrap();
        format!("{whole}{part:0<8}").parse::<i64>().unwrap()
    };
    assert_eq!((sum("available"), sum("reserved")), (units(&available), units(&reserved)));
}

#[test]
fn the_ledger_is_paged_by_cursor_and_private() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    for price in ["0.10", "0.20", "0.30"] {
        ann.place(&market, "BUY", "yes", price, "1");
    }
    assert_eq!(lines(&bob).len(), 1);
    let shape = page("lines", shapes::ledger_line());
    let list = CursorList {
        client: &ann.client,
        path: "/account/ledger?",
        name: "lines",
        shape,
        max: 1000,
    };
    list.check(|| {
        ann.place(&market, "BUY", "yes", "0.40", "1");
    });
    assert_eq!(lines(&bob).len(), 1);
    let ask = |query: &str| ann.get(&format!("/account/ledger?{query}"));
    ask("limit=1001").bad_as("limit", "OUT_OF_BOUNDS");
    ask("offset=0").bad_as("offset", "UNKNOWN_FIELD");
    ask(&format!("userId={NOBODY}")).bad_as("userId", "UNKNOWN_FIELD");
    assert_eq!(venue.operator.get("/account/ledger").json["lines"], json!([]));
}
