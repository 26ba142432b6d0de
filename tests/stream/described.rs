//! The stream's description: every kind of message has an example that a venue sent, and every
//! message is as its kind is described. With `OPENOUTCRY_WRITE_EXAMPLES` set the examples are
//! written anew.

use std::collections::BTreeMap;

use exchange::catalogue::Outcome;
use exchange::command::{Command, PlaceOrder, Side, Wording};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::units::{Lots, Tick};
use http::openapi::asyncapi::document;
use serde_json::{Map, Value};

use crate::listener::Listener;
use crate::venue::Venue;

const KEPT: &str = include_str!("../../src/http/openapi/messages.json");
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/openapi/messages.json");

/// The first message of each kind in a scene in which everything happens once.
fn told() -> BTreeMap<String, Value> {
    let venue = Venue::open();
    let mut listener = Listener::of(&venue, UserNo(1));
    let id = venue.market_id(MarketNo(1));
    let of_market = ["market", "book", "orders", "trades", "activity"];
    let mut names: Vec<String> = of_market.map(|kind| format!("{kind}:{id}")).into();
    names.extend([format!("book:{id}:top"), "markets".into(), "account".into(), "journal".into()]);
    let before = venue.shown().sequence;
    listener.subscribe(&crate::channels(&names));
    listener.catch_up(before);
    let ask = |command: Command| venue.engine.ask(command).unwrap().sequence();
    let order = |user, side, lots| {
        let wording = Wording { outcome: Outcome::Yes, side };
        let price = Tick::new(60).unwrap();
        let lots = Lots::new(lots);
        PlaceOrder::plain(UserNo(user), MarketNo(1), wording, price, lots)
    };
    let place = |user, side, lots| OrderNo(ask(Command::PlaceOrder(order(user, side, lots))));
    let user = UserNo(1);
    let first = place(1, Side::Buy, 10_000_000);
    let quantity = Some(Lots::new(8_000_000));
    ask(Command::AmendOrder { user, order: first, price: None, quantity, seen: None });
    place(2, Side::Sell, 2_000_000);
    ask(Command::CancelOrder { user, order: first });
    ask(Command::Heartbeat { user, timeout_seconds: 1, group: None });
    place(1, Side::Buy, 1_000_000);
    venue.wait(2_000);
    ask(Command::AdvanceClock);
    ask(Command::CloseMarket { market: MarketNo(1) });
    let winner = Outcome::Yes;
    ask(Command::ResolveMarket { market: MarketNo(1), winner });
    venue.wait(60_000);
    ask(Command::AdvanceClock);
    listener.catch_up(venue.shown().sequence);
    std::mem::take(&mut listener.examples)
}

#[test]
fn every_kind_is_described_with_an_example_that_a_venue_sent() {
    let told: Map<String, Value> = told().into_iter().collect();
    let told = Value::Object(told);
    if std::env::var_os("OPENOUTCRY_WRITE_EXAMPLES").is_some() {
        std::fs::write(FILE, format!("{told:#}\n")).unwrap();
        return;
    }
    let kept: Value = serde_json::from_str(KEPT).unwrap();
    assert_eq!(kept, told);
    let document = document().unwrap();
    let messages = document["components"]["messages"].as_object().unwrap();
    assert!(messages.keys().eq(told.as_object().unwrap().keys()), "{messages:?}");
    for (kind, message) in messages {
        assert_eq!(message["examples"][0]["payload"], told[kind]);
        check(&document, &message["payload"], &told[kind], kind);
        let channels = document["channels"].as_object().unwrap();
        let of = told[kind]["channel"].as_str().unwrap();
        let is_its = |channel: &Value| {
            let address = channel["address"].as_str().unwrap();
            let (begin, end) = address.split_once("{marketId}").unwrap_or((address, ""));
            of.starts_with(begin) && of.ends_with(end) && channel["messages"].get(kind).is_some()
        };
        assert!(channels.values().any(is_its), "{kind} on {of}");
    }
}

/// Checks that an object has the members that its schema names, and no others.
fn check(document: &Value, schema: &Value, value: &Value, path: &str) {
    let Some(members) = value.as_object() else { return };
    let mut known = Map::new();
    let mut required = Vec::new();
    let open = collect(document, schema, &mut known, &mut required);
    for name in &required {
        assert!(members.contains_key(name), "{path} lacks {name}");
    }
    for (name, member) in members {
        match known.get(name) {
            Some(schema) => check(document, schema, member, &format!("{path}.{name}")),
            None => assert!(open, "{path} has {name}, of {known:?}"),
        }
    }
}

/// Collects the members of a schema and those that it refers to; true if it allows any others.
fn collect(
    document: &Value,
    schema: &Value,
    known: &mut Map<String, Value>,
    required: &mut Vec<String>,
) -> bool {
    if let Some(place) = schema["$ref"].as_str() {
        let named = document.pointer(place.trim_start_matches('#'));
        return collect(document, named.unwrap_or_else(|| panic!("{place}")), known, required);
    }
    known.extend(schema["properties"].as_object().cloned().unwrap_or_default());
    let names = schema["required"].as_array().into_iter().flatten();
    required.extend(names.map(|name| name.as_str().unwrap().to_owned()));
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect(document, part, known, required);
    }
    schema.get("oneOf").is_some() || schema["additionalProperties"] == true || known.is_empty()
}
