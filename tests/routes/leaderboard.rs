//! `GET /leaderboard`.

use serde_json::{Value, json};

use super::client::Client;
use super::shapes;
use super::venue::{PICTURE, Venue};

fn places(client: &Client, query: &str) -> Vec<Value> {
    let page = client.get(&format!("/leaderboard?{query}")).ok(&shapes::leaderboard());
    page["places"].as_array().unwrap().clone()
}

/// Name, profit and loss, volume of each row.
fn rows(client: &Client, query: &str) -> Vec<Value> {
    let row = |place: &Value| {
        json!([place["user"]["profileName"], place["realisedPnl"], place["volume"]])
    };
    places(client, query).iter().map(row).collect()
}

#[test]
fn the_board_is_sorted_by_the_requested_figure() {
    let venue = Venue::open();
    let (ann, bob, eve) = (venue.trader("ann"), venue.trader("bob"), venue.trader("eve"));
    venue.trader("idle");
    let (first, second) = (venue.market(), venue.market());
    venue.trade(&first, &ann, &bob, "0.60", "10");
    venue.trade(&second, &eve, &bob, "0.50", "4");
    venue.settle(&first, "no");
    let by_pnl =
        [json!(["bob", "6.00", "14"]), json!(["eve", "0.00", "4"]), json!(["ann", "-6.00", "10"])];
    let by_volume = [by_pnl[0].clone(), by_pnl[2].clone(), by_pnl[1].clone()];
    for period in ["day", "week", "month", "all"] {
        // Nothing here is older than a day, unless midnight passed in between.
        if period != "day" {
            assert_eq!(rows(&eve.client, &format!("by=pnl&period={period}")), by_pnl);
            assert_eq!(rows(&eve.client, &format!("by=volume&period={period}")), by_volume);
        }
        let page = ann.get(&format!("/leaderboard?period={period}")).ok(&shapes::leaderboard());
        assert_eq!((&page["by"], &page["period"]), (&json!("pnl"), &json!(period)));
    }
    assert_eq!(rows(&eve.client, ""), by_pnl);
    let second = &places(&eve.client, "limit=1&offset=1")[0];
    let user = json!({"id": eve.id, "profileName": "eve", "profilePic": PICTURE});
    assert_eq!((&second["rank"], &second["user"]), (&json!(2), &user));
    let page = eve.get("/leaderboard?limit=1&offset=1").json;
    assert_eq!(json!([page["total"], page["limit"], page["offset"]]), json!([3, 1, 1]));
}

/// A board is cached until a trade or a gain changes it.
#[test]
fn a_cached_board_shows_later_changes() {
    let venue = Venue::open();
    let (ann, bob, eve) = (venue.trader("ann"), venue.trader("bob"), venue.trader("eve"));
    let market = venue.market();
    let volumes = || rows(&eve.client, "by=volume");
    assert_eq!(volumes(), Vec::<Value>::new());
    venue.trade(&market, &ann, &bob, "0.60", "1");
    let both = [json!(["ann", "0.00", "1"]), json!(["bob", "0.00", "1"])];
    assert_eq!((volumes(), volumes()), (both.to_vec(), both.to_vec()));
    venue.trade(&market, &eve, &bob, "0.60", "2");
    let three =
        [json!(["bob", "0.00", "3"]), json!(["eve", "0.00", "2"]), json!(["ann", "0.00", "1"])];
    assert_eq!(volumes(), three);
    assert_eq!(rows(&eve.client, "by=volume&limit=1"), three[..1]);
    assert_eq!(rows(&eve.client, "by=volume&limit=1&offset=1"), three[1..2]);
    assert_eq!(rows(&eve.client, "by=pnl&limit=1"), [json!(["ann", "0.00", "1"])]);
    venue.settle(&market, "no");
    let gains = |query: &str| -> Vec<Value> {
        rows(&eve.client, query).iter().map(|place| place[1].clone()).collect()
    };
    assert_eq!(gains("by=volume"), ["1.80", "-1.20", "-0.60"]);
}

#[test]
fn an_invalid_board_is_a_bad_field() {
    let venue = Venue::open();
    let ask = |query: &str| venue.operator.get(&format!("/leaderboard?{query}"));
    assert_eq!(ask("").ok(&shapes::leaderboard())["places"], json!([]));
    ask("by=profit").bad_as("by", "INVALID_VALUE");
    ask("period=year").bad_as("period", "INVALID_VALUE");
    ask("limit=101").bad_as("limit", "OUT_OF_BOUNDS");
    ask("by=&period=&limit=0&user=1").bad(&["by", "period", "limit", "user"]);
    ask("by=pnl&by=pnl").bad_as("by", "REPEATED");
}
