//! An identity provider as the venue needs it, and what is on its way to it and back: that is in
//! the person's browser, so that the venue remembers nothing of visitors.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};

use super::keys::{self, NoRandomness};
use exchange::command::KeyHash;
use exchange::units::TimeMs;

/// The address to which people come back, below the venue's own.
pub const BACK: &str = "/api/v1/session/openid/back";
/// How long a person may be away.
pub const AWAY_MS: i64 = 10 * 60 * 1_000;

/// What the venue asks of a provider, each text different each time.
#[derive(Clone)]
pub struct Asked {
    /// Comes back with the person.
    pub state: String,
    /// Comes back in the provider's word.
    pub nonce: String,
    /// Shown by who asks for that word; the provider knows its hash (PKCE).
    pub verifier: String,
}

/// For whom a provider vouches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vouched {
    /// Hash of issuer and subject.
    pub identity: KeyHash,
    /// The name that the provider has for the person.
    pub name: Option<String>,
}

/// Why a provider vouches for nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unvouched {
    /// It cannot be asked now.
    #[error("the identity provider cannot be reached: {0}")]
    Unreachable(String),
    /// Its word is not good, or it has none.
    #[error("the identity provider's word is not good: {0}")]
    Refused(String),
}

/// What a provider answers in time.
pub type Answering<'a, T> = Pin<Box<dyn Future<Output = Result<T, Unvouched>> + Send + 'a>>;

/// An identity provider.
pub trait Provider: fmt::Debug + Send + Sync {
    /// Where a person goes to be vouched for.
    fn address(&self, asked: Asked) -> Answering<'_, String>;

    /// For whom it vouches, by the code with which that person has come back at this time.
    fn vouched(&self, code: String, asked: Asked, now: TimeMs) -> Answering<'_, Vouched>;
}

/// The venue's identity provider, and a secret by which the venue knows what it has asked.
#[derive(Clone)]
pub struct OpenId {
    /// Who vouches.
    pub provider: Arc<dyn Provider>,
    secret: [u8; 32],
}

impl fmt::Debug for OpenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenId").field(&self.provider).finish()
    }
}

impl OpenId {
    /// This provider. Who is on the way when the process ends begins anew.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn of(provider: Arc<dyn Provider>) -> Result<OpenId, NoRandomness> {
        Ok(OpenId { provider, secret: drawn()? })
    }

    /// What is asked of the provider on this way: nobody else can tell it from the way.
    pub fn asked(&self, way: &Way) -> Asked {
        let part = |of: &str| {
            let text = way.text();
            let parts = [&self.secret[..], of.as_bytes(), text.as_bytes(), &self.secret[..]];
            BASE64URL_NOPAD.encode(&keys::hash(&parts.concat()).0)
        };
        Asked { state: part("state"), nonce: part("nonce"), verifier: part("verifier") }
    }
}

/// Somebody's way to the provider and back, as the browser carries it. Whatever is changed of it
/// changes the state with which one may come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    began: TimeMs,
    drawn: KeyHash,
    /// The invitation with which it began.
    pub ticket: Option<KeyHash>,
}

impl Way {
    /// Begins one.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn begin(ticket: Option<KeyHash>, now: TimeMs) -> Result<Way, NoRandomness> {
        Ok(Way { began: now, drawn: KeyHash(drawn()?), ticket })
    }

    /// As a browser carries it.
    pub fn text(&self) -> String {
        let Way { began, drawn, ticket } = self;
        let hex = |hash: &KeyHash| HEXLOWER.encode(&hash.0);
        format!("{}.{}.{}", began.get(), hex(drawn), ticket.as_ref().map_or_else(String::new, hex))
    }

    /// Reads it back, unless it is over.
    pub fn read(text: &str, now: TimeMs) -> Option<Way> {
        let hash = |text: &str| {
            let bytes = HEXLOWER.decode(text.as_bytes()).ok()?;
            bytes.try_into().ok().map(KeyHash)
        };
        let mut parts = text.split('.');
        let began = TimeMs::new(parts.next()?.parse().ok()?)?;
        let (drawn, ticket) = (hash(parts.next()?)?, parts.next()?);
        let ticket = if ticket.is_empty() { None } else { Some(hash(ticket)?) };
        let away = now.get().checked_sub(began.get())?;
        let lasts = (0..AWAY_MS).contains(&away) && parts.next().is_none();
        lasts.then_some(Way { began, drawn, ticket })
    }
}

fn drawn() -> Result<[u8; 32], NoRandomness> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
#[path = "../../tests/unit/http/identity.rs"]
mod tests;
