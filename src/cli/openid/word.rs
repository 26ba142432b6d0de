//! A provider's word for a person: the claims of an ID token (OpenID Connect Core, 3.1.3.7).

use serde_json::Value;

use exchange::units::TimeMs;
use http::identity::Vouched;
use http::keys;

/// Seconds by which the provider's clock may differ.
const SKEW_SECONDS: i64 = 60;
/// Longest subject, in bytes.
const SUBJECT_BYTES_MAX: usize = 255;

/// What a word must say.
pub(crate) struct Wanted<'a> {
    /// Who gives it.
    pub(crate) issuer: &'a str,
    /// For whom: the venue.
    pub(crate) client: &'a str,
    /// What was sent along with the question.
    pub(crate) nonce: &'a str,
    /// When it is looked at.
    pub(crate) now: TimeMs,
}

/// Why a word is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Bad {
    /// Another gives it.
    #[error("it is another issuer's")]
    Issuer,
    /// It is for another.
    #[error("it is for another client")]
    Audience,
    /// It is over, or not yet.
    #[error("it is not of now: compare the clocks")]
    Time,
    /// It answers another question.
    #[error("it answers another question")]
    Nonce,
    /// It names nobody.
    #[error("it names nobody")]
    Subject,
}

/// For whom this word vouches.
///
/// # Errors
/// It is not as it must be.
pub(crate) fn vouched(claims: &Value, wanted: &Wanted<'_>) -> Result<Vouched, Bad> {
    let text = |name: &str| claims[name].as_str();
    if text("iss") != Some(wanted.issuer) {
        return Err(Bad::Issuer);
    }
    let several = claims["aud"].as_array();
    let named = match several {
        Some(several) => several.iter().any(|one| one.as_str() == Some(wanted.client)),
        None => text("aud") == Some(wanted.client),
    };
    // Of several, one has asked.
    let alone = several.is_none_or(|several| several.len() == 1);
    let asked = text("azp").map_or(alone, |one| one == wanted.client);
    if !(named && asked) {
        return Err(Bad::Audience);
    }
    let seconds = wanted.now.get().div_euclid(1_000);
    let (earliest, latest) =
        (seconds.saturating_sub(SKEW_SECONDS), seconds.saturating_add(SKEW_SECONDS));
    let lasts = claims["exp"].as_i64().is_some_and(|exp| earliest < exp);
    let begun = claims["nbf"].as_i64().is_none_or(|nbf| nbf <= latest);
    let made = claims["iat"].as_i64().is_some_and(|iat| iat <= latest);
    if !(lasts && begun && made) {
        return Err(Bad::Time);
    }
    // Compared by hash, so that the time it takes says nothing.
    let hash = |text: &str| keys::hash(text.as_bytes());
    if !text("nonce").is_some_and(|nonce| keys::same(&hash(nonce), &hash(wanted.nonce))) {
        return Err(Bad::Nonce);
    }
    let subject = text("sub").filter(|sub| (1..=SUBJECT_BYTES_MAX).contains(&sub.len()));
    let subject = subject.ok_or(Bad::Subject)?;
    let identity = keys::hash(&[wanted.issuer.as_bytes(), &[0], subject.as_bytes()].concat());
    Ok(Vouched { identity, name: name(claims) })
}

/// The name that claims have for a person.
pub(crate) fn name(claims: &Value) -> Option<String> {
    let names = ["preferred_username", "nickname", "name"].into_iter();
    let mut names = names.filter_map(|name| claims[name].as_str());
    names.find(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/openid/word.rs"]
mod tests;
