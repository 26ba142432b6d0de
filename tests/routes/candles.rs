//! `GET /markets/{marketId}/candles`.

use chrono::{DateTime, Duration, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::client::Answer;
use super::shapes;
use super::venue::{Venue, soon};

fn moment(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().into()
}

fn write(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[test]
fn candles_cover_days_with_and_without_trades() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let before = moment(&soon(-3 * 24 * 60 * 60 * 1000));
    for (price, quantity) in [("0.50", "4"), ("0.70", "1"), ("0.40", "2"), ("0.45", "0.5")] {
        venue.trade(&market, &ann, &bob, price, quantity);
    }
    let path = format!("/markets/{market}/candles?interval=1d&from={}", write(before));
    let json = ann.get(&path).ok(&shapes::candles());
    let candles = json["candles"].as_array().unwrap();
    // Four days, or five if midnight passed in between.
    assert!((4..=5).contains(&candles.len()), "{json}");
    let volume = |candle: &&Value| candle["volume"] != "0";
    let traded: Vec<&Value> = candles.iter().filter(volume).collect();
    let empty = &candles[0];
    let names = ["open", "high", "low", "close", "volume", "trades", "openInterest"];
    let figures = |candle: &Value| json!(names.map(|name| candle[name].clone()));
    assert_eq!(figures(empty), json!([null, null, null, null, "0", 0, "0"]));
    if let [candle] = traded[..] {
        assert_eq!(figures(candle), json!(["0.50", "0.70", "0.40", "0.45", "7.5", 4, "7.5"]));
    }
    assert_eq!((&json["interval"], &json["marketId"]), (&json!("1d"), &json!(market)));
    assert_eq!(json["from"], candles[0]["start"]);
    for (index, candle) in (0..).zip(candles) {
        let start = moment(json["from"].as_str().unwrap()) + Duration::days(index);
        assert_eq!(candle["start"], write(start));
    }
    let last = moment(candles.last().unwrap()["start"].as_str().unwrap());
    assert_eq!(json["to"], write(last + Duration::days(1)));
    // A day without trades repeats the closing price of the last day with one.
    let after = moment(&soon(3 * 24 * 60 * 60 * 1000));
    let json = ann.get(&format!("{path}&to={}", write(after))).ok(&shapes::candles());
    let empty = json["candles"].as_array().unwrap().last().unwrap();
    assert_eq!(figures(empty), json!([null, null, null, null, "0", 0, "7.5"]));
    for (interval, count) in [("1m", 100), ("5m", 100), ("1h", 100), ("1d", 100)] {
        let json = ann.get(&format!("/markets/{market}/candles?interval={interval}"));
        let json = json.ok(&shapes::candles());
        assert_eq!(json["candles"].as_array().unwrap().len(), count);
    }
}

#[test]
fn ranges_are_bounded() {
    let venue = Venue::open();
    let market = venue.market();
    let ask = |query: &str| -> Answer {
        venue.operator.get(&format!("/markets/{market}/candles?{query}"))
    };
    let from = "from=2026-01-01T00:00:00Z";
    let whole = ask(&format!("interval=1m&{from}&to=2026-01-01T16:40:00Z")).ok(&shapes::candles());
    assert_eq!(whole["candles"].as_array().unwrap().len(), 1000);
    ask(&format!("interval=1m&{from}&to=2026-01-01T16:40:00.001Z")).bad_as("to", "OUT_OF_BOUNDS");
    ask(&format!("interval=1m&{from}&to=2026-01-01T00:00:00Z")).bad_as("from", "OUT_OF_BOUNDS");
    ask(&format!("interval=1h&{from}&to=2025-01-01T00:00:00Z")).bad_as("from", "OUT_OF_BOUNDS");
    ask("interval=1d&from=1970-01-01T00:00:00Z").bad_as("to", "OUT_OF_BOUNDS");
    ask("").bad_as("interval", "REQUIRED");
    ask("interval=").bad_as("interval", "INVALID_VALUE");
    ask("interval=2m").bad_as("interval", "INVALID_VALUE");
    ask("interval=1M&from=x&to=5&limit=1").bad(&["interval", "from", "to", "limit"]);
    ask("interval=1m&interval=1m").bad_as("interval", "REPEATED");
}
