//! The operator's key as the environment gives it: checked before anything is touched.

use super::Failure;
use super::demo::people;
use http::keys;

/// Shortest operator key accepted from the environment: long enough to resist guessing even if it
/// is not random.
const CHARS_MIN: usize = 32;
/// Longest operator key accepted.
const CHARS_MAX: usize = keys::KEY_TEXT_BYTES_MAX;
/// Fewest different characters, and fewest different steps from one to the next. A random key has
/// so many even if it is short and of digits alone.
const VARIETY_MIN: usize = 8;
/// Shortest text that may be repeated to make a key.
const REPEATED_CHARS_MIN: usize = 16;
/// The key that the documents once gave as an example: it can be in force somewhere.
const PUBLISHED_EXAMPLE: &str = "choose-a-long-secret-of-your-own-here";
/// The environment variable with the operator's key. There is no flag, because every local process
/// can read a process's arguments.
pub const VARIABLE: &str = "OPENOUTCRY_OPERATOR_KEY";

/// The operator's key from the environment, if set.
///
/// # Errors
/// It is not acceptable.
pub fn from_environment() -> Result<Option<String>, Failure> {
    let Some(key) = std::env::var_os(VARIABLE) else { return Ok(None) };
    // What is not Unicode is no key either.
    let key = key.into_string().unwrap_or_default();
    match fault(&key) {
        None => Ok(Some(key)),
        Some(fault) => Err(Failure::Usage(format!("{VARIABLE} {fault}"))),
    }
}

/// Why a key is not acceptable.
fn fault(key: &str) -> Option<String> {
    let fits = (CHARS_MIN..=CHARS_MAX).contains(&key.len());
    if !fits || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some(format!("must be {CHARS_MIN} to {CHARS_MAX} visible ASCII characters"));
    }
    if people::is_public(key) || key == PUBLISHED_EXAMPLE {
        let why = "is a key of the demo or of an example, which anybody knows; choose another, as \
                   `openssl rand -hex 32` prints it";
        return Some(why.to_owned());
    }
    has_little_variety(key.as_bytes()).then(|| {
        "has too little variety to be a secret (a few characters, a sequence or a short text again \
         and again); choose another, as `openssl rand -hex 32` prints it"
            .to_owned()
    })
}

fn has_little_variety(key: &[u8]) -> bool {
    let different = |mut values: Vec<u8>| {
        values.sort_unstable();
        values.dedup();
        values.len()
    };
    let steps = key.iter().zip(key.iter().skip(1)).map(|(from, to)| to.wrapping_sub(*from));
    let repeats = |length: usize| key.iter().zip(key.iter().skip(length)).all(|(a, b)| a == b);
    different(key.to_vec()) < VARIETY_MIN
        || different(steps.collect()) < VARIETY_MIN
        || (1..REPEATED_CHARS_MIN).any(repeats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_can_be_guessed_is_refused() {
        let short = "0123456789".repeat(4);
        for (key, why) in [
            ("short", "must be 32 to 128"),
            ("with spaces in between, but long enough", "must be 32 to 128"),
            ("demo-olga-operator-of-a-local-venue-5", "which anybody knows"),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "too little variety"),
            ("abababababababababababababababababab", "too little variety"),
            ("00000000000000000000000000000000000001", "too little variety"),
            ("1111111122222222333333334444444455555555", "too little variety"),
            ("abcdefghijklmnopqrstuvwxyz0123456789", "too little variety"),
            ("zyxwvutsrqponmlkjihgfedcba9876543210", "too little variety"),
            ("passwordpasswordpasswordpassword", "too little variety"),
            ("correct-horse-correct-horse-correct", "too little variety"),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaapassword", "too little variety"),
            (&short, "too little variety"),
        ] {
            assert!(fault(key).is_some_and(|fault| fault.contains(why)), "{key}: {:?}", fault(key));
        }
    }

    #[test]
    fn a_key_that_was_drawn_is_accepted() {
        for key in [
            "58b59b1d0a5d1e2a1e0dd3c7a4f2f9b6",
            "92847365018273640918273645546372",
            "3f786850e387550fdab836ed7e6dc881de23001b6f1b3e1f3f786850e387550f",
            "test-operator-key-of-enough-characters",
        ] {
            assert_eq!(fault(key), None, "{key}");
        }
    }
}
