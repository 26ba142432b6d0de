//! Codes that follow from a secret and the time, as authenticators show them (RFC 6238): six
//! digits, another each half minute.

use hmac::{Hmac, Mac};
use sha1::Sha1;
use subtle::ConstantTimeEq;

use exchange::units::TimeMs;

/// How long a code is shown, in milliseconds.
const STEP_MS: i64 = 30_000;
/// Codes are below this.
const CODES: u32 = 1_000_000;

/// What an authenticator keeps; as long as SHA-1's hash, which all of them take.
pub type Secret = [u8; 20];

/// When this code began to be good, if it is one of now, of the half minute before or the one
/// after, and began after `used`.
pub fn began(secret: &Secret, code: u32, now: TimeMs, used: TimeMs) -> Option<TimeMs> {
    let step = now.get().div_euclid(STEP_MS);
    let steps = [0, -1, 1].map(|other| step.saturating_add(other).saturating_mul(STEP_MS));
    // All are compared, so that the time it takes says nothing.
    let right = steps.map(|began| {
        let began = TimeMs::new(began).filter(|began| used < *began)?;
        let same = code_of(secret, began)?.ct_eq(&code);
        bool::from(same).then_some(began)
    });
    right.into_iter().flatten().next()
}

/// The code that begins to be good then.
pub fn code_of(secret: &Secret, began: TimeMs) -> Option<u32> {
    let counter = u64::try_from(began.get().div_euclid(STEP_MS)).ok()?;
    let mut mac = Hmac::<Sha1>::new_from_slice(secret).ok()?;
    mac.update(&counter.to_be_bytes());
    let tag = mac.finalize().into_bytes();
    let at = usize::from(tag.last()? & 0x0F);
    let word = tag.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)?;
    (word & 0x7FFF_FFFF).checked_rem(CODES)
}

#[cfg(test)]
#[path = "../../tests/unit/http/totp.rs"]
mod tests;
