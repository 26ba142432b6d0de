//! Who calls: from the key in `X-API-Key` to a user and a role (interface 5).

use hyper::header::{HeaderMap, HeaderName};

use super::keys;
use super::problem::{FieldCode, FieldError, Kind, Problem};
use crate::engine::Engine;
use crate::exchange::command::Role;
use crate::exchange::ids::{KeyNo, UserNo};
use crate::exchange::units::Sequence;

/// The header that carries the key.
pub const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The user for whom the key acts.
    pub user: UserNo,
    /// The key.
    pub key: KeyNo,
    /// What the key may do.
    pub role: Role,
    /// The last record known when the key was checked: an answer that looks at nothing else
    /// reflects at least this.
    pub as_of: Sequence,
}

impl Caller {
    /// Whether the key is an operator's.
    pub const fn is_operator(&self) -> bool {
        matches!(self.role, Role::Operator)
    }
}

/// Finds out who calls. Says nothing but that the key is missing, repeated or not known.
pub fn identify(headers: &HeaderMap, engine: &Engine) -> Result<Caller, Problem> {
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
    let unknown = || Problem::new(Kind::InvalidApiKey, "this API key is not, or no longer, known");
    if key.len() > keys::KEY_TEXT_BYTES_MAX {
        return Err(unknown());
    }
    let hash = keys::hash(key);
    let view = engine.read();
    let row = view.accounts.key_by_hash(&hash).ok_or_else(unknown)?;
    // The look-up went by hash, which tells a guesser nothing of a key; comparing in constant
    // time keeps it so whatever the table does.
    if !keys::same(&row.hash, &hash) {
        return Err(unknown());
    }
    Ok(Caller { user: row.user, key: row.no, role: row.role, as_of: view.watermark() })
}
