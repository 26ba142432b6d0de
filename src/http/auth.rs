//! Authentication: from the key in `X-API-Key` to a user and a role (interface 5).

use hyper::header::{HeaderMap, HeaderName};

use super::keys;
use super::problem::{FieldCode, FieldError, Kind, Problem};
use super::response_cache::VersionedCache;
use engine::Engine;
use exchange::command::{KeyHash, Role};
use exchange::ids::{KeyNo, UserNo};
use exchange::units::Sequence;

/// The header that carries the key.
pub const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// Who holds a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The user for whom the key acts.
    pub user: UserNo,
    /// The key.
    pub key: KeyNo,
    /// What the key may do.
    pub role: Role,
}

/// Holders of keys as of the last record that added or revoked any key. Unknown keys are not kept:
/// anybody can make up any number of them.
pub type Holders = VersionedCache<KeyHash, Holder>;

/// The authenticated caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The user for whom the key acts.
    pub user: UserNo,
    /// The key.
    pub key: KeyNo,
    /// What the key may do.
    pub role: Role,
    /// The last published record when the key was checked: an answer that reads nothing else
    /// reflects at least this one.
    pub as_of: Sequence,
    /// The last record by then that added or revoked any key.
    pub keys_as_of: Sequence,
}

impl Caller {
    /// Whether the key is an operator's.
    pub const fn is_operator(&self) -> bool {
        matches!(self.role, Role::Operator)
    }
}

/// Authenticates a request. An error only says that the key is missing, repeated or unknown.
pub fn identify(headers: &HeaderMap, engine: &Engine, known: &Holders) -> Result<Caller, Problem> {
    holder(key_of(headers)?, engine, known)
}

/// The key of a request, as its hash.
pub fn key_of(headers: &HeaderMap) -> Result<KeyHash, Problem> {
    let mut values = headers.get_all(KEY_HEADER).iter();
    let key = values.next().map_or(&b""[..], |value| value.as_bytes());
    if values.next().is_some() {
        return Err(Problem::invalid(vec![FieldError {
            field: "X-API-Key".to_owned(),
            code: FieldCode::Repeated,
            detail: "is sent more than once".into(),
        }]));
    }
    if key.is_empty() {
        return Err(Problem::new(Kind::MissingApiKey, "send your API key as X-API-Key"));
    }
    hash(key)
}

/// The hash of a key's text, which may be nobody's.
pub fn hash(key: &[u8]) -> Result<KeyHash, Problem> {
    if key.len() > keys::KEY_TEXT_BYTES_MAX { Err(unknown()) } else { Ok(keys::hash(key)) }
}

fn unknown() -> Problem {
    Problem::new(Kind::InvalidApiKey, "this API key is not, or no longer, known")
}

/// Who holds a key now.
pub fn holder(hash: KeyHash, engine: &Engine, known: &Holders) -> Result<Caller, Problem> {
    let (as_of, keys_as_of) = engine.watermark_and_keys();
    // Lookup is by hash, so its timing reveals nothing about a key; the comparison is in constant
    // time, so that this holds whatever the table does.
    let look = || {
        let view = engine.read();
        let row = view.accounts.key_by_hash(&hash).filter(|row| keys::same(&row.hash, &hash));
        row.map(|row| Holder { user: row.user, key: row.no, role: row.role }).ok_or_else(unknown)
    };
    let Holder { user, key, role } = known.find_or(hash, keys_as_of, look)?;
    Ok(Caller { user, key, role, as_of, keys_as_of })
}

/// Checks the key again if any key has changed since: a key that was revoked while the body was
/// read is refused.
pub fn recheck(
    caller: Caller,
    headers: &HeaderMap,
    engine: &Engine,
    known: &Holders,
) -> Result<Caller, Problem> {
    let (_, keys_as_of) = engine.watermark_and_keys();
    if keys_as_of == caller.keys_as_of {
        return Ok(caller);
    }
    identify(headers, engine, known)
}
