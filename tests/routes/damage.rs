//! Ways to damage a request.

use serde_json::{Value, json};

use super::dice::Dice;

/// A valid request.
pub struct Request {
    pub key: String,
    pub method: &'static str,
    pub path: String,
    /// `null` for none.
    pub body: Value,
}

/// Texts that often break parsers.
const TEXTS: [&str; 24] = [
    "",
    " ",
    "0",
    "-1",
    "1e308",
    "0.5",
    "0.50",
    "0.000001",
    "100000000",
    "yes",
    "no",
    "BUY",
    "FOK",
    "null",
    "NaN",
    "\u{0}",
    "\u{ffff}",
    "\u{1f3b2}",
    "%00",
    "../..",
    "2999-01-01T00:00:00Z",
    "9999-12-31T23:59:60Z",
    "0192f0c1-2b3c-7d4e-8f50-617283940516",
    "http://",
];

const METHODS: [&str; 12] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "G\0T",
    "",
];

/// Headers that change how the rest of a request is read.
const HEADERS: [&str; 22] = [
    "content-length: 0",
    "content-length: 5",
    "content-length: 99999",
    "content-length: -1",
    "content-length: 18446744073709551616",
    "transfer-encoding: chunked",
    "transfer-encoding: gzip, chunked",
    "transfer-encoding: identity",
    "expect: 100-continue",
    "connection: keep-alive",
    "connection: upgrade\r\nupgrade: websocket",
    "upgrade: h2c",
    "accept: text/html",
    "accept: ;;q=,",
    "content-type: text/plain",
    "content-type: application/json; charset",
    "x-api-key: x",
    "x: \u{e9}",
    "x: a\r\n folded",
    "host: y",
    "content-encoding: gzip",
    "range: bytes=0-1",
];

const PARTS: [&str; 14] = [
    "",
    ".",
    "..",
    "%2e%2e",
    "%",
    "%zz",
    "%00",
    "%ff",
    "\u{e9}",
    "*",
    "admin",
    "orders",
    "0192f0c1-2b3c-7d4e-8f50-617283940516",
    "{marketId}",
];

const QUERIES: [&str; 14] = [
    "limit=0",
    "limit=-1",
    "limit=99999999999999999999",
    "offset=18446744073709551615",
    "limit=1",
    "outcome=yes",
    "levels=51",
    "highlighted=",
    "categoryIds=,",
    "active=true",
    "%ff=%ff",
    "&&=&",
    "a[]=1",
    "\u{1f3b2}",
];

/// The request with one or two faults in it, as bytes; seldom with none.
pub fn damaged(request: &Request, dice: &mut Dice) -> Vec<u8> {
    let mut method = request.method.to_owned();
    let mut path = request.path.clone();
    let mut headers = String::new();
    let mut body = request.body.clone();
    for _ in 0..=dice.below(2) {
        match dice.below(9) {
            0 => (*dice.one_of(&METHODS)).clone_into(&mut method),
            1 => path = with_part(&path, dice),
            2 => {
                let mark = if path.contains('?') { '&' } else { '?' };
                path = format!("{path}{mark}{}", dice.one_of(&QUERIES));
            }
            3 => headers += &format!("{}\r\n", dice.one_of(&HEADERS)),
            4 => headers += &format!("x-large: {}\r\n", "v".repeat(dice.below(70_000))),
            5 => path += &"a".repeat(dice.below(20_000)),
            _ => spoil(&mut body, dice),
        }
    }
    let mut body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    match dice.below(8) {
        0 => flip(&mut body, dice),
        1 => body.truncate(dice.below(body.len() + 1)),
        2 => body.resize(body.len() + dice.below(80_000), b' '),
        3 => body = repeated(&body),
        _ => {}
    }
    let key = &request.key;
    let head = format!(
        "{method} /api/v1{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: {key}\r\n\
         content-length: {}\r\n{headers}\r\n",
        body.len()
    );
    let mut bytes = [head.as_bytes(), &body].concat();
    match dice.below(12) {
        0 => flip(&mut bytes, dice),
        1 => bytes.truncate(dice.below(bytes.len())),
        2 => {
            let place = dice.below(bytes.len());
            bytes.insert(place, dice.byte());
        }
        _ => {}
    }
    bytes
}

/// Flips bits of a few bytes.
fn flip(bytes: &mut [u8], dice: &mut Dice) {
    for _ in 0..=dice.below(3) {
        if !bytes.is_empty() {
            let place = dice.below(bytes.len());
            bytes[place] ^= 1 << dice.below(8);
        }
    }
}

/// Repeats the first member of an object.
fn repeated(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    let Some((first, rest)) = text.split_once(',') else { return body.to_vec() };
    format!("{first},{}", first.trim_start_matches('{'))
        .into_bytes()
        .into_iter()
        .chain(b",".iter().copied())
        .chain(rest.bytes())
        .collect()
}

/// Replaces a part of a path.
fn with_part(path: &str, dice: &mut Dice) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    let place = dice.below(parts.len());
    parts[place] = *dice.one_of::<&str>(&PARTS);
    parts.join("/")
}

/// Replaces a random value of a body.
fn spoil(body: &mut Value, dice: &mut Dice) {
    let inside = match body {
        Value::Object(members) if dice.below(8) > 0 => {
            let place = dice.below(members.len().max(1));
            members.iter_mut().nth(place).map(|(_, value)| value)
        }
        Value::Array(elements) if dice.below(4) > 0 => {
            let place = dice.below(elements.len().max(1));
            elements.get_mut(place)
        }
        _ => None,
    };
    if let Some(value) = inside {
        spoil(value, dice);
        return;
    }
    *body = match dice.below(12) {
        0 => json!(null),
        1 => json!(dice.below(2) == 0),
        2 => json!(dice.roll()),
        3 => json!(-1),
        4 => json!(0.1),
        5 => json!([body.clone(), body.clone()]),
        6 => json!({"a": body.clone()}),
        7 => json!({}),
        8 => json!("9".repeat(dice.below(3000))),
        9 => (0..dice.below(200)).fold(Value::Null, |inside, _| json!([inside])),
        _ => json!(dice.one_of(&TEXTS)),
    };
}
