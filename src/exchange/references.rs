//! References of deposits and withdrawals: what a transfer is called in a bank's statement. Each
//! names one transfer only, so that a deposit that is typed twice is refused.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::ids::Token;

/// The first half of a reference's SHA-256: collisions cannot be found.
type Short = [u8; 16];

/// The references of all transfers, remembered for good: 16 bytes each.
#[derive(Debug, Clone, Default)]
pub struct References(BTreeSet<Short>);

fn short(reference: &Token) -> Short {
    let hash: [u8; 32] = Sha256::digest(reference.as_str()).into();
    hash.first_chunk().copied().unwrap_or_default()
}

impl References {
    /// Whether a transfer has this reference.
    pub fn has(&self, reference: &Token) -> bool {
        self.0.contains(&short(reference))
    }

    /// Remembers the reference of a transfer.
    pub fn keep(&mut self, reference: &Token) {
        self.0.insert(short(reference));
    }

    /// Whether no transfer had one.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of an image, which has them in ascending order; `None` if it has not.
    pub fn of(all: Vec<Short>) -> Option<References> {
        let ascending = all.is_sorted_by(|one, other| one < other);
        ascending.then(|| References(all.into_iter().collect()))
    }

    /// All of them, ascending.
    pub fn all(&self) -> Vec<Short> {
        self.0.iter().copied().collect()
    }
}
