//! Idempotency keys: reads the header, and hashes the request to tell repetitions from other
//! requests, whatever the layout of their JSON (semantics 8).

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use super::parse;
use super::problem::{FieldCode, FieldError, Problem};
use super::wire::json::Json;
use crate::exchange::command::{BodyHash, IdempotencyKey};
use crate::exchange::ids::{Token, UserNo};

/// The header that carries the key.
pub const KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");
/// Its name in error messages.
const FIELD: &str = "Idempotency-Key";

/// The key of a request, if it has one. Only `POST` takes one. On `GET`, `HEAD` and `DELETE` the
/// header is ignored: some clients send it with every request.
/// Any other method with one, such as `PATCH`, is refused, since its client expects a guarantee
/// that it would not get.
pub fn key(method: &Method, headers: &HeaderMap) -> Result<Option<Token>, Problem> {
    if matches!(*method, Method::GET | Method::HEAD | Method::DELETE) {
        return Ok(None);
    }
    let mut values = headers.get_all(KEY_HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(bad(FieldCode::Repeated, "is sent more than once"));
    }
    if *method != Method::POST {
        return Err(bad(FieldCode::UnknownField, "is taken with POST only"));
    }
    let key = parse::token(value.to_str().unwrap_or_default());
    key.map(Some).map_err(|fault| {
        Problem::invalid(vec![FieldError {
            field: FIELD.to_owned(),
            code: fault.code,
            detail: fault.detail,
        }])
    })
}

/// Refuses a key on the replacement of an API key: the new key is shown once, so that a repetition
/// could not answer what the first request did.
pub fn refuse(once: Option<&IdempotencyKey>) -> Result<(), Problem> {
    let detail = "is not taken here: if the answer is lost, so is the new key, and the old one may \
                  be revoked; revoke or replace the new one with another key";
    once.map_or(Ok(()), |_| Err(bad(FieldCode::UnknownField, detail)))
}

fn bad(code: FieldCode, detail: &'static str) -> Problem {
    Problem::invalid(vec![FieldError { field: FIELD.to_owned(), code, detail: detail.into() }])
}

/// The idempotency key with its caller and the hash of target and body.
pub fn once(caller: UserNo, key: Token, target: &str, body: &[u8]) -> IdempotencyKey {
    let mut hash = Sha256::new();
    mark(&mut hash, b'P', target.len());
    hash.update(target);
    if let Ok(json) = Json::parse(body) {
        value(&mut hash, &json);
    } else {
        hash.update(body);
    }
    IdempotencyKey { caller, key, part: 0, body: BodyHash(hash.finalize().into()) }
}

/// Hashes the kind and the length of the value that follows.
fn mark(hash: &mut Sha256, kind: u8, count: usize) {
    hash.update([kind]);
    hash.update(u64::try_from(count).unwrap_or(u64::MAX).to_le_bytes());
}

/// Hashes a value; members of objects are sorted by name, since JSON gives them no order.
fn value(hash: &mut Sha256, json: &Json<'_>) {
    match json {
        Json::Null => mark(hash, b'N', 0),
        Json::Bool(value) => mark(hash, b'B', usize::from(*value)),
        Json::Integer(value) => {
            mark(hash, b'I', 8);
            hash.update(value.to_le_bytes());
        }
        // No field takes such a number: the request is refused whatever its hash is.
        Json::OtherNumber => mark(hash, b'F', 0),
        Json::Text(text) => {
            mark(hash, b'T', text.len());
            hash.update(text.as_bytes());
        }
        Json::Array(elements) => {
            mark(hash, b'A', elements.len());
            for element in elements {
                value(hash, element);
            }
        }
        Json::Object(members) => {
            mark(hash, b'O', members.len());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            for (name, member) in members {
                mark(hash, b'M', name.len());
                hash.update(name.as_bytes());
                value(hash, member);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(target: &str, body: &str) -> BodyHash {
        let key = Token::new("k").unwrap();
        once(UserNo(1), key, target, body.as_bytes()).body
    }

    #[test]
    fn the_layout_of_a_body_makes_no_difference_and_all_else_does() {
        let body = r#"{"a":"1","b":[1,{"c":true,"d":null}]}"#;
        let same = r#" { "b" : [1, {"d":null, "c":true}], "\u0061":"1" }"#;
        assert_eq!(hash("/x", body), hash("/x", same));
        let others = [
            ("/y", body),
            ("/x", r#"{"a":"1","b":[1,{"c":true,"d":false}]}"#),
            ("/x", r#"{"a":"1","b":[1,{"c":true},{"d":null}]}"#),
            ("/x", r#"{"a":"1","b":[{"c":true,"d":null},1]}"#),
            ("/x", r#"{"a":1,"b":[1,{"c":true,"d":null}]}"#),
            ("/x", r#"{"a":"1","a":"1","b":[1,{"c":true,"d":null}]}"#),
            ("/x", r#"{"a":"","1b":[1,{"c":true,"d":null}]}"#),
            ("/x", "{}"),
            ("/x", ""),
            ("/x{}", ""),
        ];
        for (target, other) in others {
            assert_ne!(hash("/x", body), hash(target, other), "{target} {other}");
        }
        assert_ne!(hash("/x", ""), hash("/x", "{}"));
    }

    #[test]
    fn the_header_is_one_name_on_a_post() {
        let read = |method: &Method, values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(KEY_HEADER, value.parse().unwrap());
            }
            key(method, &headers).map_err(|problem| problem.errors[0].code)
        };
        assert_eq!(read(&Method::GET, &[]), Ok(None));
        assert_eq!(read(&Method::POST, &["a-1"]), Ok(Token::new("a-1")));
        assert_eq!(read(&Method::POST, &["a", "a"]), Err(FieldCode::Repeated));
        assert_eq!(read(&Method::PATCH, &["a"]), Err(FieldCode::UnknownField));
        for method in [Method::GET, Method::HEAD, Method::DELETE] {
            assert_eq!(read(&method, &["a", "a b"]), Ok(None));
        }
        for bad in ["", "a b", "\u{e9}", &"a".repeat(65)] {
            assert_eq!(read(&Method::POST, &[bad]), Err(FieldCode::InvalidValue), "{bad:?}");
        }
    }
}
