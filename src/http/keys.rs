//! API keys: generated here from the system's secure randomness; everything else knows only their
//! hash.

use std::fmt;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use exchange::command::KeyHash;

/// Random bytes in a key: 256 bits cannot be guessed, so storing a plain hash is safe.
const KEY_BYTES: usize = 32;
/// Prefix of every key, so that people and secret scanners recognise one.
const KEY_PREFIX: &str = "ook_";
/// Largest key that is hashed; longer ones cannot be ours.
pub const KEY_TEXT_BYTES_MAX: usize = 128;

/// Label of the operator's key set at start. Setting another one revokes keys with this label, so
/// no key created over the API may have it.
pub const START_KEY_LABEL: &str = "set at start";

/// The system gave no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system's secure randomness is not available")]
pub struct NoRandomness;

/// A new key. Its text is shown once, to its owner, and is never logged or journaled.
pub struct ApiKey(String);

impl ApiKey {
    /// Draws a key.
    pub fn draw() -> Result<ApiKey, NoRandomness> {
        let mut bytes = [0_u8; KEY_BYTES];
        getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
        Ok(ApiKey(format!("{KEY_PREFIX}{}", HEXLOWER.encode(&bytes))))
    }

    /// The key itself, for its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The hash that is journaled.
    pub fn hash(&self) -> KeyHash {
        hash(self.0.as_bytes())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// The hash of a key's text.
pub fn hash(text: &[u8]) -> KeyHash {
    KeyHash(Sha256::digest(text).into())
}

/// Compares two hashes in constant time.
pub fn same(one: &KeyHash, other: &KeyHash) -> bool {
    let (ones, others) = (one.0.as_chunks().0.iter(), other.0.as_chunks().0.iter());
    let words = ones
        .zip(others)
        .map(|(one, other)| u64::from_le_bytes(*one).ct_eq(&u64::from_le_bytes(*other)));
    words.fold(Choice::from(1), |same, word| same & word).into()
}

#[cfg(test)]
#[path = "../../tests/unit/http/keys.rs"]
mod tests;
