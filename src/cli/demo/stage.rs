//! How much of the demo a venue holds.

use super::SeedError;
use super::people::{Bird, OPERATOR, TRADERS};
use exchange::command::KeyHash;
use exchange::ids::KeyNo;
use exchange::units::Sequence;
use views::ReadModel;

/// Whether `--demo` may open this venue, before anything is written.
///
/// # Errors
/// It is not a demo, or another version began it.
pub(crate) fn check(model: &ReadModel) -> Result<(), SeedError> {
    if TRADERS.last().is_some_and(|last| has_key(model, last.key_hash())) {
        return Ok(());
    }
    Err(if is_a_demo(model) {
        SeedError::OfAnother(Sequence::ZERO.next())
    } else {
        SeedError::NotADemo
    })
}

/// Whether the journal holds the demo's public keys: then the server must listen on loopback only,
/// even without `--demo`.
pub(crate) fn is_a_demo(model: &ReadModel) -> bool {
    has_key(model, OPERATOR.key_hash())
}

/// Whether people are there who trade by themselves: demos of the first versions have none.
pub(crate) fn has_a_crowd(model: &ReadModel) -> bool {
    Bird::all().all(|bird| model.accounts.key_by_hash(&bird.key_hash()).is_some())
}

/// Whether a key with this hash was ever added; revoked ones count.
fn has_key(model: &ReadModel, hash: KeyHash) -> bool {
    let mut keys = (0..).map_while(|number| model.accounts.key(KeyNo(number)));
    keys.any(|key| key.hash == hash)
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/stage.rs"]
mod tests;
