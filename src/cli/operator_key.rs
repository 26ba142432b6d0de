//! The operator's key as the environment or a file gives it: checked before anything is touched.

use std::fs::File;
use std::io::Read;
use std::path::Path;

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
pub(crate) const VARIABLE: &str = "OPENOUTCRY_OPERATOR_KEY";

/// Bytes read of a file with a key: more than any key has.
const FILE_BYTES_MAX: u64 = 4096;

/// The operator's key from the environment, or else from the file, if there is one.
///
/// # Errors
/// It is not acceptable, or the file cannot be read.
pub(crate) fn wanted(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let (key, source) = match (std::env::var_os(VARIABLE), file) {
        // What is not Unicode is no key either.
        (Some(key), _) => (key.into_string().unwrap_or_default(), VARIABLE.to_owned()),
        (None, Some(file)) => (read(file)?, file.display().to_string()),
        (None, None) => return Ok(None),
    };
    match fault(&key) {
        None => Ok(Some(key)),
        Some(fault) => Err(Failure::Usage(format!("{source} {fault}"))),
    }
}

/// What a file with a secret says, without the space around it.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read =
        File::open(file).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    Ok(text.trim().to_owned())
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
#[path = "../../tests/unit/cli/operator_key.rs"]
mod tests;
