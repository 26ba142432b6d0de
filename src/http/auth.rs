//! Authentication: from the key in `X-API-Key` to a user and a role (interface 5).

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName};
use hyper::http::request::Parts;

use super::cookies;
use super::keys;
use super::problem::{FieldCode, FieldError, Kind, Problem};
use super::response_cache::VersionedCache;
use super::site::Site;
use engine::Engine;
use exchange::command::{KeyHash, Role};
use exchange::ids::{KeyNo, UserNo};
use exchange::units::{Sequence, TimeMs};

/// The header that carries the key.
pub const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// By what somebody is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// An API key.
    Key(KeyNo),
    /// A session, by its hash.
    Session(KeyHash),
}

/// Who holds a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The user for whom the key acts.
    pub user: UserNo,
    /// The key.
    pub via: Via,
    /// What the key may do.
    pub role: Role,
    /// First moment at which it opens nothing any more.
    pub ends: Option<TimeMs>,
}

/// Holders of keys as of the last record that added or revoked any key. Unknown keys are not kept:
/// anybody can make up any number of them.
pub type Holders = VersionedCache<KeyHash, Holder>;

/// The authenticated caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The user for whom the key acts.
    pub user: UserNo,
    /// The key or session.
    pub via: Via,
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

    /// Whether it is somebody who runs the venue, or a part of it: without limits, as others depend
    /// on them.
    pub const fn is_staff(&self) -> bool {
        match self.role {
            Role::Operator | Role::Auditor | Role::Cashier | Role::Catalogue => true,
            Role::Reader | Role::Trader | Role::Metrics => false,
        }
    }

    /// Whether drafts are shown to the caller.
    pub const fn sees_drafts(&self) -> bool {
        matches!(self.role, Role::Operator | Role::Auditor | Role::Catalogue)
    }

    /// Whether what the caller has shown ends by itself.
    pub fn ends_by_itself(&self, engine: &Engine) -> bool {
        match self.via {
            Via::Session(_) => true,
            Via::Key(key) => engine.read().accounts.key(key).is_some_and(|row| row.ends.is_some()),
        }
    }

    /// The key by which the caller is known, if it is one.
    pub const fn key(&self) -> Option<KeyNo> {
        match self.via {
            Via::Key(key) => Some(key),
            Via::Session(_) => None,
        }
    }

    /// As whom the caller acts: the user, and the key if it is one.
    pub const fn acts_as(&self) -> (UserNo, Option<KeyNo>) {
        (self.user, self.key())
    }

    /// The session by which the caller is known, if it is one.
    pub const fn session(&self) -> Option<KeyHash> {
        match self.via {
            Via::Session(session) => Some(session),
            Via::Key(_) => None,
        }
    }
}

/// What a request shows of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credential {
    /// Its hash.
    pub hash: KeyHash,
    /// Whether it came as a cookie.
    pub by_cookie: bool,
}

/// Authenticates a request. An error only says that the key is missing, repeated or unknown, or
/// that another site may have sent the request.
pub fn identify(
    head: &Parts,
    engine: &Engine,
    site: &Site,
    known: &Holders,
) -> Result<Caller, Problem> {
    holder(shown_by(head, site, false)?, engine, known)
}

/// What a request shows of its caller: its key, or else its session. `opens`: whether it opens what
/// goes on for long, for which a page must say where it comes from.
pub fn shown_by(head: &Parts, site: &Site, opens: bool) -> Result<Credential, Problem> {
    let key = match bearer(head) {
        Some(key) => hash(key),
        None => key_of(&head.headers),
    };
    let keyless = key.as_ref().is_err_and(|problem| problem.kind == Kind::MissingApiKey);
    let session = if keyless { cookies::session_of(&head.headers, site) } else { None };
    let Some(session) = session else {
        return key.map(|hash| Credential { hash, by_cookie: false });
    };
    cookies::check_host(&head.headers, site)?;
    cookies::check_origin(&head.method, &head.headers, opens)?;
    Ok(Credential { hash: hash(session.as_bytes())?, by_cookie: true })
}

/// The key of a scrape that has no other: not every Prometheus can send a header of another name.
fn bearer(head: &Parts) -> Option<&[u8]> {
    if head.uri.path() != "/metrics" || head.headers.contains_key(KEY_HEADER) {
        return None;
    }
    let (scheme, key) = head.headers.get(AUTHORIZATION)?.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(key)
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

fn over() -> Problem {
    Problem::new(Kind::InvalidApiKey, "this session is over: sign in again")
}

fn unknown() -> Problem {
    Problem::new(Kind::InvalidApiKey, "this API key is not, or no longer, known")
}

/// Who holds a key or session now. A cookie is never a key, and a key never a session.
pub fn holder(shown: Credential, engine: &Engine, known: &Holders) -> Result<Caller, Problem> {
    let (as_of, keys_as_of) = engine.watermark_and_keys();
    let Credential { hash, by_cookie } = shown;
    if by_cookie {
        let view = engine.read();
        let (person, _) = view.sign_ins.session(hash, engine.now()).ok_or_else(over)?;
        let (user, role, via) = (person.user, person.role, Via::Session(hash));
        return Ok(Caller { user, via, role, as_of, keys_as_of });
    }
    // Lookup is by hash, so its timing reveals nothing about a key; the comparison is in constant
    // time, so that this holds whatever the table does.
    let look = || {
        let view = engine.read();
        let row = view.accounts.key_by_hash(&hash).filter(|row| keys::same(&row.hash, &hash));
        let row = row.ok_or_else(unknown)?;
        let (via, ends) = (Via::Key(row.no), row.ends);
        Ok::<_, Problem>(Holder { user: row.user, via, role: row.role, ends })
    };
    let Holder { user, via, role, ends } = known.find_or(hash, keys_as_of, look)?;
    if ends.is_some_and(|ends| ends <= engine.now()) {
        return Err(unknown());
    }
    Ok(Caller { user, via, role, as_of, keys_as_of })
}

/// Checks the key again if any key has changed since: a key that was revoked while the body was
/// read is refused.
pub fn recheck(
    caller: Caller,
    head: &Parts,
    engine: &Engine,
    site: &Site,
    known: &Holders,
) -> Result<Caller, Problem> {
    let (_, keys_as_of) = engine.watermark_and_keys();
    if keys_as_of == caller.keys_as_of {
        return Ok(caller);
    }
    identify(head, engine, site, known)
}
