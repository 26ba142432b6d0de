//! Idempotency keys: reads the header, and hashes what the request asks for to tell repetitions
//! from other requests, however they are written (semantics 8).

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use super::parse::Written;
use super::problem::{FieldCode, FieldError, Problem};
use engine;
use exchange::command::{Act, BodyHash, Command, IdempotencyKey, KeyHash};
use exchange::ids::{Token, UserNo};

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
    let key = Token::read(value.to_str().unwrap_or_default());
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

/// The idempotency key with its caller and the endpoint, to which [`meaning`] adds what is asked.
///
/// `endpoint` are its method, base and template.
pub fn once(caller: UserNo, key: Token, endpoint: [&str; 3]) -> IdempotencyKey {
    IdempotencyKey { caller, key, part: 0, body: hash(endpoint.map(str::as_bytes)) }
}

/// The key of a request with this command. Requests are the same if they ask for the same: how
/// their target, their numbers and ids are written, and whether a default is, makes no difference.
pub fn meaning(once: &IdempotencyKey, command: &Command) -> IdempotencyKey {
    let asked = match command {
        // The secret is drawn anew for each request.
        Command::AddKey { user, role, label, hash: _, ends } => {
            let (user, role, hash) = (*user, *role, KeyHash([0; 32]));
            engine::meaning(&Command::AddKey {
                user,
                role,
                label: label.clone(),
                hash,
                ends: *ends,
            })
        }
        command => engine::meaning(command),
    };
    IdempotencyKey { body: hash([&once.body.0[..], &asked]), ..*once }
}

/// The key of a request with these grounds. What a transfer is called elsewhere and what shows that
/// an outcome is right are a part of what is asked for; why it is done is none.
pub fn grounded(once: IdempotencyKey, act: Option<&Act>) -> IdempotencyKey {
    let Some(act) = act else { return once };
    let Act { actor: _, key: _, reason: _, reference, evidence, evidence_hash } = act;
    let reference = reference.as_ref().map(|token| token.as_str().as_bytes());
    let evidence = evidence.as_ref().map(String::as_bytes);
    let parts = [reference, evidence, evidence_hash.as_ref().map(|hash| &hash.0[..])];
    if parts == [None; 3] {
        return once;
    }
    let parts = parts.map(Option::unwrap_or_default);
    IdempotencyKey { body: hash([&once.body.0[..]].into_iter().chain(parts)), ..once }
}

/// The key of a request of several operations, each given by what it asks for. All parts of the
/// request have it.
pub fn meaning_of_several(
    once: &IdempotencyKey,
    operations: impl Iterator<Item = Vec<u8>>,
) -> IdempotencyKey {
    let body = operations.fold(once.body, |before, asked| hash([&before.0[..], &asked]));
    IdempotencyKey { body, ..*once }
}

/// The hash of some parts, each with its length.
fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> BodyHash {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(part);
    }
    BodyHash(hash.finalize().into())
}

#[cfg(test)]
#[path = "../../tests/unit/http/idempotency.rs"]
mod tests;
