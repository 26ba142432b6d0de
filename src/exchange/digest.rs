//! The hash of the state's image. Equal states have equal digests on every machine, so replays and
//! snapshots can be compared by it.

use std::fmt;

use sha2::{Digest, Sha256};

use super::Exchange;
use super::image::coding::ImageSink;
use super::invariant::Broken;

/// SHA-256 of a state's image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateDigest(pub [u8; 32]);

impl fmt::Display for StateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

/// Hashes an image as it is written, without storing it.
struct Hashed(Sha256);

impl ImageSink for Hashed {
    fn put(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

impl Exchange {
    /// The hash of the whole state. Takes time in proportion to its size, and no memory.
    ///
    /// # Errors
    /// [`Broken`] if the state contradicts itself.
    pub fn digest(&self) -> Result<StateDigest, Broken> {
        let mut image = Hashed(Sha256::new());
        self.write_image(&mut image)?;
        Ok(StateDigest(image.0.finalize().into()))
    }
}
