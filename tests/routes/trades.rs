//! `GET /markets/{marketId}/trades` and `GET /markets/{marketId}/stats`.

use serde_json::{Value, json};

use exchange::catalogue::Outcome;
use exchange::command::Command;
use exchange::ids::UserNo;
use exchange::units::Money;
use http::keys::ApiKey;

use super::cursors::{CursorList, page};
use super::depth_as_of::{bids, one_block};
use super::shapes;
use super::venue::{NOBODY, PICTURE, Venue};

#[test]
fn trades_are_public_and_their_parties_are_not() {
    let venue = Venue::open();
    let (ann, bob, eve) = (venue.trader("ann"), venue.trader("bob"), venue.trader("eve"));
    let market = venue.market();
    ann.place(&market, "BUY", "yes", "0.60", "10");
    // Both bet on no, which is selling yes at 0.60.
    let sold = bob.place(&market, "SELL", "yes", "0.55", "4");
    let bought = bob.place(&market, "BUY", "no", "0.45", "1");
    // And this one bets on yes, by an order on no.
    bob.place(&market, "BUY", "no", "0.10", "1");
    let lifted = eve.place(&market, "SELL", "no", "0.05", "1");
    let answer = eve.get(&format!("/markets/{market}/trades"));
    let json = answer.ok(&page("trades", shapes::public_trade()));
    let shown = |row: &Value| {
        ["id", "price", "quantity", "takerSide", "takerOutcomeId"].map(|name| row[name].clone())
    };
    let rows: Vec<_> = json["trades"].as_array().unwrap().iter().map(shown).collect();
    let id = |placed: &super::client::Answer| placed.json["trades"][0]["id"].clone();
    let of = |placed, price, quantity, side, outcome| {
        json!([id(placed), price, quantity, side, outcome])
    };
    assert_eq!(json!(rows[0]), of(&lifted, "0.90", "1", "BUY", "yes"));
    assert_eq!(json!(rows[1]), of(&bought, "0.60", "1", "SELL", "no"));
    assert_eq!(json!(rows[2]), of(&sold, "0.60", "4", "SELL", "no"));
    for person in [&ann.id, &bob.id] {
        assert!(!answer.written().contains(person));
    }
    assert_eq!(json["trades"][1]["sequence"], bought.sequence());
}

#[test]
fn trades_are_paged_by_cursor() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    for price in ["0.60", "0.50", "0.40"] {
        venue.trade(&market, &ann, &bob, price, "1");
    }
    let path = format!("/markets/{market}/trades?");
    let shape = page("trades", shapes::public_trade());
    CursorList { client: &ann.client, path: &path, name: "trades", shape, max: 1000 }
        .check(|| venue.trade(&market, &ann, &bob, "0.30", "1"));
    ann.get(&format!("{path}limit=1001")).bad_as("limit", "OUT_OF_BOUNDS");
}

#[test]
fn a_market_that_is_not_public_has_no_trades() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let draft = venue.draft(&json!({}));
    for what in ["trades?", "stats?", "candles?interval=1h&"] {
        for market in [&draft, NOBODY] {
            let answer = ann.get(&format!("/markets/{market}/{what}"));
            answer.refused(404, "MARKET_NOT_FOUND");
        }
        ann.get(&format!("/markets/x/{what}")).bad_as("marketId", "INVALID_VALUE");
        ann.get(&format!("/markets/{NOBODY}/{what}user=1")).bad_as("user", "UNKNOWN_FIELD");
    }
}

#[test]
fn statistics_follow_the_trades() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let stats = || ann.get(&format!("/markets/{market}/stats")).ok(&shapes::stats());
    let figures = || {
        let stats = stats();
        let names = ["volume24h", "volume", "trades", "openInterest", "holders", "lastPrice"];
        json!(names.map(|name| stats[name].clone()))
    };
    assert_eq!(figures(), json!(["0", "0", 0, "0", 0, null]));
    let quotes = |stats: Value| json!([stats["bestBid"], stats["bestAsk"]]);
    assert_eq!(quotes(stats()), json!(["0.00", "1.00"]));
    venue.trade(&market, &ann, &bob, "0.60", "10");
    assert_eq!(figures(), json!(["10", "10", 1, "10", 2, "0.60"]));
    // Both close: open interest falls, volume stays.
    venue.trade(&market, &bob, &ann, "0.70", "2.5");
    assert_eq!(figures(), json!(["12.5", "12.5", 2, "7.5", 2, "0.70"]));
    ann.place(&market, "BUY", "yes", "0.30", "1");
    ann.place(&market, "SELL", "yes", "0.90", "1");
    assert_eq!(quotes(stats()), json!(["0.30", "0.90"]));
    assert_eq!(stats()["marketId"], json!(market));
    venue.settle(&market, "yes");
    assert_eq!(figures(), json!(["12.5", "12.5", 2, "0", 0, "0.70"]));
}

/// The day's figures are counted back from now, not from the last trade.
#[test]
fn old_trades_do_not_count_for_today() {
    let key = ApiKey::draw().unwrap();
    let (profile_name, profile_pic) = ("bob".to_owned(), PICTURE.to_owned());
    let more = vec![
        Command::CreateUser { profile_name, profile_pic },
        Command::Deposit { user: UserNo(1), amount: Money::new(10_000_000_000) },
        bids(0, Outcome::Yes, 40, 2),
        bids(1, Outcome::No, 60, 2),
    ];
    let (journal, market) = one_block(&key, more);
    let venue = Venue::resumed(journal, key.reveal());
    let stats = venue.operator.get(&format!("/markets/{market}/stats")).ok(&shapes::stats());
    assert_eq!((&stats["volume"], &stats["volume24h"]), (&json!("2"), &json!("0")));
    let ranked = |period: &str| {
        let board = venue.operator.get(&format!("/leaderboard?period={period}"));
        board.ok(&shapes::leaderboard())["total"].clone()
    };
    assert_eq!((ranked("all"), ranked("month"), ranked("day")), (json!(2), json!(0), json!(0)));
}
