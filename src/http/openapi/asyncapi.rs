//! The `AsyncAPI` 3.0 document of the stream: `GET /api/v1/asyncapi.json`. Its messages are the
//! kinds in `wire/stream.rs`; their examples were obtained from a venue by a test.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use hyper::http::request::Parts;
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::schemas;
use super::{Members, Unfit};
use crate::call::SharedState;
use crate::packed::Packed;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::wire::stream::{KINDS, MessageKind};
use crate::wire::words::reference;

const EXAMPLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/messages.json.gz"));

/// The compressed document.
static PRINTED: OnceLock<Option<Packed>> = OnceLock::new();

/// The channels: name, address, what they tell, and the kinds of their messages.
const CHANNELS: [(&str, &str, &str, &[&str]); 9] = [
    ("markets", "markets", "All public markets.", &["snapshot", "market"]),
    (
        "market",
        "market:{marketId}",
        "A market and its figures, four times a second at most; changes of status at once.",
        &["snapshot", "market", "stats"],
    ),
    ("book", "book:{marketId}", "A market's price levels.", &["snapshot", "book", "levels"]),
    (
        "top",
        "book:{marketId}:top",
        "A market's best prices, four times a second at most.",
        &["snapshot", "top"],
    ),
    (
        "orders",
        "orders:{marketId}",
        "Every order on a market's book, without owners.",
        &["snapshot", "orders", "added", "reduced", "removed", "traded"],
    ),
    ("trades", "trades:{marketId}", "A market's trades.", &["snapshot", "trade"]),
    (
        "activity",
        "activity:{marketId}",
        "A market's trades and changes of status.",
        &["snapshot", "activity"],
    ),
    (
        "account",
        "account",
        "Everything that changes for the key's user, in one order.",
        &[
            "account",
            "order",
            "fill",
            "position",
            "balance",
            "ledger",
            "settlement",
            "heartbeatExpired",
        ],
    ),
    ("journal", "journal", "Every record; for operators.", &["snapshot", "record", "results"]),
];

/// `GET /api/v1/asyncapi.json`. Needs no key: it reveals nothing of the venue.
pub fn describe(shared: &SharedState, head: &Parts) -> Result<Reply, Problem> {
    let print = || Packed::new(serde_json::to_string(&document().ok()?).ok()?).ok();
    let printed = PRINTED.get_or_init(print).as_ref();
    let printed = printed.ok_or_else(|| Problem::internal("the stream's description is unfit"))?;
    Ok(printed.reply(shared.venue.sequence(), "application/json", &head.headers))
}

/// The document.
///
/// # Errors
/// A part of it does not fit the others.
pub fn document() -> Result<Value, Unfit> {
    let examples: Members = super::unpacked(EXAMPLES)?;
    let describe = |generator: &mut SchemaGenerator| {
        let one = |kind: &MessageKind| {
            let data = (kind.schema)(generator).to_value();
            let example = examples.get(kind.name).ok_or_else(|| Unfit::word(kind.name))?;
            Ok((kind.name.to_owned(), message(kind, &data, example)))
        };
        KINDS.iter().map(one).collect::<Result<Members, Unfit>>()
    };
    let (mut all, messages) = schemas::all_with(describe)?;
    let mut schemas = Members::new();
    let messages = messages?;
    let mut wanted: Vec<String> = names(&messages);
    while let Some(name) = wanted.pop() {
        if let Some(mut schema) = all.remove(&name) {
            wanted.extend(names(&schema));
            // OpenAPI's has another form than AsyncAPI's.
            if let Some(members) = schema.as_object_mut() {
                members.remove("discriminator");
            }
            schemas.insert(name, schema);
        } else if !schemas.contains_key(&name) {
            return Err(Unfit::Word(name));
        }
    }
    let (channels, operations) = channels();
    Ok(json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "openoutcry",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Everything that happens in a prediction-market exchange, pushed. A \
                channel is listened to by name, with * in place of a market's id for all public \
                markets. Its first message is a snapshot; every change after it follows. \
                `sequence` is the number of the record that a message tells of, and never goes \
                back; `previous` is that of the record that changed the channel before.",
            "license": { "name": "MIT" },
        },
        "defaultContentType": "application/json",
        "servers": {
            "venue": {
                "host": "localhost:8080", "protocol": "ws", "pathname": "/api/v1/stream",
                "description": "This venue. Server-sent events come from the same path.",
                "security": [{ "$ref": "#/components/securitySchemes/key" }],
            },
        },
        "channels": channels,
        "operations": operations,
        "components": {
            "messages": messages,
            "schemas": schemas,
            "securitySchemes": {
                "key": {
                    "type": "httpApiKey", "in": "header", "name": "X-API-Key",
                    "description": "Any key of the venue; it may be sent as the first message.",
                },
            },
        },
    }))
}

/// A kind of messages: what surrounds what it carries is the same of all.
fn message(kind: &MessageKind, data: &Value, example: &Value) -> Value {
    let flag = json!({
        "const": true,
        "description": "It stands for changes that were left out, as the reader was slow.",
    });
    let about = kind.about.trim();
    json!({
        "name": kind.name,
        "summary": about,
        "payload": {
            "type": "object",
            "required": ["channel", "kind", "sequence", "previous", "time", "data"],
            "additionalProperties": false,
            "properties": {
                "channel": { "type": "string" },
                "kind": { "const": kind.name },
                "sequence": reference("Sequence"),
                "previous": reference("Sequence"),
                "time": reference("Moment"),
                "conflated": flag,
                "data": data,
            },
        },
        "examples": [{ "name": kind.name, "payload": example }],
    })
}

/// The channels, and the operations by which the venue sends on them.
fn channels() -> (Members, Members) {
    let (mut channels, mut operations) = (Members::new(), Members::new());
    for (name, address, about, kinds) in CHANNELS {
        let one = |kind: &&str| {
            let place = format!("#/components/messages/{kind}");
            ((*kind).to_owned(), json!({ "$ref": place }))
        };
        let messages: Members = kinds.iter().map(one).collect();
        let mut channel = json!({ "address": address, "description": about, "messages": messages });
        if let Some(members) = channel.as_object_mut().filter(|_| address.contains('{')) {
            let market = json!({ "marketId": { "description": "A public market's id, or *." } });
            members.insert("parameters".to_owned(), market);
        }
        channels.insert(name.to_owned(), channel);
        let place = format!("#/channels/{name}");
        let send = json!({ "action": "send", "channel": { "$ref": place }, "summary": about });
        operations.insert(format!("tell_{name}"), send);
    }
    (channels, operations)
}

/// The names of the schemas that a part refers to.
fn names(part: &(impl serde::Serialize + ?Sized)) -> Vec<String> {
    fn add(part: &Value, to: &mut BTreeSet<String>) {
        match part {
            Value::Object(members) => {
                let place = members.get("$ref").and_then(Value::as_str);
                let name = place.and_then(|place| place.strip_prefix("#/components/schemas/"));
                to.extend(name.map(str::to_owned));
                members.values().for_each(|member| add(member, to));
            }
            Value::Array(parts) => parts.iter().for_each(|part| add(part, to)),
            _ => {}
        }
    }
    let mut all = BTreeSet::new();
    if let Ok(part) = serde_json::to_value(part) {
        add(&part, &mut all);
    }
    all.into_iter().collect()
}
