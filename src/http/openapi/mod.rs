//! The `OpenAPI` 3.1 document of the interface: `GET /api/v1/openapi.json`.
//!
//! The answers' schemas are those of the types in `wire`; texts, words and the schemas of requests
//! are in files beside this one; access, bodies and possible errors come from the table of routes
//! and the kinds of problems. The tests check every request and answer that they see against it.

pub mod asyncapi;
pub mod operations;
pub mod problems;
pub mod schemas;

use std::sync::OnceLock;

use hyper::http::request::Parts;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error};
use serde_json::{Map, Value, json};

use self::operations::{Line, all_kinds};
use super::call::SharedState;
use super::cookies;
use super::packed::{Packed, gunzip};
use super::problem::{FieldCode, FieldError, Kind, Problem};
use super::reply::Reply;
use super::route::{Endpoint, Route};
use super::wire;
use super::wire::words::reference;

const FRAME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/frame.json.gz"));
const OPERATIONS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/operations.json.gz"));
const EXAMPLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/examples.json.gz"));

/// The compressed document: made once, as it does not change while the process runs.
static PRINTED: OnceLock<Option<Packed>> = OnceLock::new();

/// JSON members by name.
pub type Members = Map<String, Value>;

/// Why the document cannot be built. Its parts are compiled in, so this cannot happen in a tested
/// build.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// A part is not valid JSON of its form.
    #[error("a part of the description cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// An undefined name.
    #[error("the description uses {0}, which it does not explain")]
    Word(String),
    /// A route has no operation, or an operation no route.
    #[error("{0} is not both in the table of routes and in the description")]
    Stray(String),
}

impl Unfit {
    /// An undefined word.
    fn word(word: &str) -> Unfit {
        Unfit::Word(word.to_owned())
    }
}

/// `GET /api/v1/openapi.json`, the description of these routes. Needs no key: it reveals nothing of
/// the venue.
pub fn describe(
    routes: fn() -> Vec<Route>,
    shared: &SharedState,
    head: &Parts,
) -> Result<Reply, Problem> {
    let print = || Packed::new(serde_json::to_string(&document(routes()).ok()?).ok()?).ok();
    let printed = PRINTED.get_or_init(print).as_ref();
    let printed = printed.ok_or_else(|| Problem::internal("the description is unfit"))?;
    Ok(printed.reply(shared.venue.sequence(), "application/json", &head.headers))
}

/// A part of the description, as `build.rs` packs it.
///
/// # Errors
/// It is not valid JSON of its form.
fn unpacked<T: DeserializeOwned>(part: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(&gunzip(part).map_err(Error::custom)?)
}

/// The parts that operations share.
#[derive(Debug, Deserialize)]
pub struct Frame {
    about: String,
    /// Names and descriptions.
    tags: Vec<(String, String)>,
    /// Schemas and descriptions of path parameters, by name.
    path: Members,
    /// Query parameters, by the names that the operations use.
    query: Members,
    headers: Value,
    /// Meanings of problem codes for which the exchange has no text.
    meanings: Members,
    #[serde(skip)]
    examples: Members,
}

impl Frame {
    fn path_part(&self, name: &str) -> Option<(&str, &str)> {
        let part = self.path.get(name)?;
        Some((part.get(0)?.as_str()?, part.get(1)?.as_str()?))
    }

    fn meaning(&self, code: &str) -> Option<String> {
        let kept = self.meanings.get(code).and_then(Value::as_str).map(str::to_owned);
        kept.or_else(|| {
            all_kinds().find_map(|kind| match kind {
                Kind::Refused(reject) if reject.code() == code => {
                    Some(sentence(&reject.to_string()))
                }
                _ => None,
            })
        })
    }
}

/// A phrase with a capital and a full stop.
fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    letters
        .next()
        .map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// The document.
pub fn document(routes: Vec<Route>) -> Result<Value, Unfit> {
    let mut frame: Frame = unpacked(FRAME)?;
    frame.examples = unpacked(EXAMPLES)?;
    let mut schemas = schemas::all()?;
    let mut codes: Vec<&str> = all_kinds().map(Kind::code).collect();
    codes.sort_unstable();
    codes.dedup();
    let mut examples = Members::new();
    let mut meanings = Vec::new();
    for code in &codes {
        let meaning = frame.meaning(code).ok_or_else(|| Unfit::word(code))?;
        meanings.push(format!("- `{code}`: {meaning}"));
    }
    for kind in all_kinds() {
        examples.insert(kind.code().to_owned(), json!({ "value": example_of(kind, &frame)? }));
    }
    let about = format!("What is wrong. Codes are never renamed.\n\n{}", meanings.join("\n"));
    let code = json!({ "type": "string", "enum": codes, "description": about });
    schemas.insert("ErrorCode".to_owned(), code);
    problems::add(&mut schemas)?;
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "openoutcry",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A prediction-market exchange.",
            "description": frame.about,
            "license": { "name": "MIT", "identifier": "MIT" },
        },
        "servers": [{ "url": "/", "description": "This venue." }],
        "tags": tags(&frame),
        "security": [{ "readerKey": [] }],
        "paths": paths(routes, &frame)?,
        "components": {
            "schemas": schemas,
            "headers": frame.headers,
            "parameters": parameters(),
            "examples": examples,
            "securitySchemes": {
                "readerKey": key("Any key of the venue but one for metrics."),
                "traderKey": key("A key that may trade, or an operator's."),
                "operatorKey": key("An operator's key, which may ask everything."),
                "auditorKey": key("A key that reads everything, and writes nothing."),
                "cashierKey": key("A key that pays money in and out."),
                "catalogueKey": key("A key that makes events and markets."),
                "metricsKey": key("A key that reads the metrics, and nothing else."),
                "session": {
                    "type": "apiKey", "in": "cookie", "name": cookies::NAME,
                    "description": "Whoever has signed in. Over TLS its name begins with __Host-. \
                        It counts wherever a key does, for pages of the venue's own: a write also \
                        needs X-Requested-By and an Origin of the same host.",
                },
            },
        },
    }))
}

/// The headers that several operations take.
fn parameters() -> Value {
    json!({
        "Idempotency-Key": {
            "name": "Idempotency-Key", "in": "header", "schema": reference("Token"),
            "description": "A name for this request: repeated within a day under the same name, it \
                is done once and answered the same.",
        },
        "X-Requested-By": {
            "name": "X-Requested-By", "in": "header",
            "schema": { "type": "string", "enum": [cookies::US] },
            "description": "Needed of whoever comes without a key, beside an Origin of the same \
                host: pages of other sites cannot send it.",
        },
        "If-Match": {
            "name": "If-Match", "in": "header", "schema": {
                "type": "string",
                "pattern": r#"^(?:\*|(?:W/)?"[!#-~]*"(?:[ \t]*,[ \t]*(?:W/)?"[!#-~]*")*)?$"#,
            },
            "description": "An ETag: nothing is done unless it is still that of what is named. Of \
                a market that is revised only what can be revised counts.",
        },
        "If-None-Match": {
            "name": "If-None-Match", "in": "header", "schema": { "type": "string" },
            "description": "ETags that the client has: nothing is sent if one of them still holds.",
        },
    })
}

fn tags(frame: &Frame) -> Vec<Value> {
    let tag = |(name, about): &(String, String)| json!({ "name": name, "description": about });
    frame.tags.iter().map(tag).collect()
}

fn key(about: &str) -> Value {
    json!({ "type": "apiKey", "in": "header", "name": "X-API-Key", "description": about })
}

/// The operations of every path. A route without an operation is an error, and so is the reverse.
fn paths(mut routes: Vec<Route>, frame: &Frame) -> Result<Members, Unfit> {
    let lines: Vec<Line> = unpacked(OPERATIONS)?;
    routes.retain(is_told_of);
    for line in &lines {
        if !routes.iter().any(|route| line.tells_of(route)) {
            return Err(Unfit::Stray(format!("{line:?}")));
        }
    }
    let mut paths = Members::new();
    for route in &routes {
        let stray = || Unfit::Stray(format!("{} {}", route.method, route.template));
        let line = lines.iter().find(|line| line.tells_of(route)).ok_or_else(stray)?;
        let method = route.method.as_str().to_ascii_lowercase();
        let path = paths.entry(full_path(route)).or_insert_with(|| json!({}));
        path[method] = line.operation(route, frame)?;
    }
    Ok(paths)
}

/// Whether the document tells of a route: a stream is not made of requests, and pages with their
/// files are not for programs.
pub const fn is_told_of(route: &Route) -> bool {
    route.told && !matches!(route.endpoint, Endpoint::Stream)
}

fn full_path(route: &Route) -> String {
    format!("{}{}", route.base(), route.template)
}

/// An example of this kind of problem, as the server serialises it.
fn example_of(kind: Kind, frame: &Frame) -> Result<Value, Unfit> {
    let code = kind.code();
    let mut problem = match kind {
        Kind::Refused(reject) => Problem::of(reject),
        Kind::InvalidRequest => Problem::invalid(vec![FieldError {
            field: "price".to_owned(),
            code: FieldCode::Required,
            detail: "is missing".into(),
        }]),
        _ => Problem::new(kind, frame.meaning(code).ok_or_else(|| Unfit::word(code))?),
    };
    // Several kinds share a code; the example shows the first one's details with this kind.
    problem.kind = kind;
    Ok(serde_json::from_slice(&wire::problem::print(&problem, "19aa2f6c1f3-7")?)?)
}

#[cfg(test)]
#[path = "../../../tests/unit/http/openapi/mod.rs"]
mod tests;
