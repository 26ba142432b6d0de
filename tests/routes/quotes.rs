//! `GET /markets/public/list?quotes=true`.

use serde_json::json;

use super::shapes;
use super::venue::Venue;

#[test]
fn a_list_with_quotes_shows_all_that_single_requests_do() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let [quiet, busy] = [(); 2].map(|()| venue.market());
    venue.trade(&busy, &ann, &bob, "0.60", "10");
    let shape = shapes::page("markets", shapes::quoted_market());
    let list = ann.get("/markets/public/list?quotes=true").ok(&shape);
    assert_eq!(list["total"], 2);
    for (place, market) in [&busy, &quiet].into_iter().enumerate() {
        let mut quoted = list["markets"][place].clone();
        let stats = ann.get(&format!("/markets/{market}/stats")).ok(&shapes::stats());
        let members = quoted.as_object_mut().unwrap();
        let (mut shown, week) = (members.remove("stats").unwrap(), members.remove("week").unwrap());
        assert_eq!(members.remove("priceDayAgo"), Some(json!(null)));
        shown["timestamp"] = stats["timestamp"].clone();
        assert_eq!(shown, stats);
        assert_eq!(quoted, ann.get(&format!("/markets/{market}")).ok(&shapes::market_detail()));
        let closes = week["closes"].as_array().unwrap();
        let from = week["from"].as_str().unwrap();
        let candles = format!("/markets/{market}/candles?interval=1h&from={from}");
        let candles = ann.get(&candles).json["candles"].clone();
        let single = candles.as_array().unwrap().iter().map(|candle| candle["close"].clone());
        assert_eq!(closes.len(), 168);
        // An hour may have begun in between.
        assert_eq!(*closes, single.take(168).collect::<Vec<_>>());
    }
    let plain = ann.get("/markets/public/list?quotes=false");
    plain.ok(&shapes::page("markets", shapes::market()));
    ann.get("/markets/public/list?quotes=true&limit=51").bad_as("limit", "OUT_OF_BOUNDS");
    ann.get("/markets/public/list?quotes=1").bad_as("quotes", "INVALID_VALUE");
}
