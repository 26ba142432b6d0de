//! The results hash, over the effects of all records: two replays with the same hash had the same
//! effects for every record.
//!
//! It is updated per block, not per record: finishing a hash for each record would cost more than
//! hashing its bytes.

use std::fmt;

use sha2::{Digest, Sha256};

use super::Exchange;
use super::command::Record;
use super::effect::Effect;
use super::image::coding::{ImageSink, Imaged};
use super::image::words::{Fixed, Tagged};
use super::invariant::Broken;
use super::units::Sequence;

/// Version of an effect's canonical bytes; any change of their form gets a new one.
pub const EFFECTS_VERSION: u16 = 1;

/// Canonical bytes go to the hasher in pieces of about this size: large enough for its full speed,
/// small enough that they are still in the cache.
const PIECE_BYTES: usize = 32 * 1024;

/// Hash over the effects of every record from the first on, block by block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResultsHash(pub [u8; 32]);

impl ResultsHash {
    /// Before the first record.
    pub const ZERO: ResultsHash = ResultsHash([0; 32]);
}

impl fmt::Display for ResultsHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for ResultsHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The results hash up to one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Results {
    /// The last record it covers; zero before the first.
    pub through: Sequence,
    /// The hash over the effects of all records up to it.
    pub hash: ResultsHash,
}

impl Results {
    /// Of no record at all.
    pub const NONE: Results = Results { through: Sequence::ZERO, hash: ResultsHash::ZERO };
}

/// Hashes blocks of canonical bytes; each block's hash includes the one before.
#[derive(Debug, Clone)]
pub struct ResultsChain {
    ended: Results,
    hasher: Sha256,
}

impl ResultsChain {
    /// Continues after the block that ends with `after`.
    pub fn resume(after: Results) -> ResultsChain {
        let mut chain = ResultsChain { ended: after, hasher: Sha256::new() };
        chain.begin();
        chain
    }

    fn begin(&mut self) {
        self.hasher.update(self.ended.hash.0);
        self.hasher.update(EFFECTS_VERSION.to_le_bytes());
    }

    /// Adds bytes to the current block.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// Ends the current block with the record `through`, and returns the results up to it.
    pub fn end(&mut self, through: Sequence) -> Results {
        let hash = ResultsHash(self.hasher.finalize_reset().into());
        self.ended = Results { through, hash };
        self.begin();
        self.ended
    }
}

/// Writes the canonical bytes of effects as records are applied, and hashes them in pieces.
#[derive(Debug, Clone)]
pub struct ResultsLog {
    through: Sequence,
    /// Not hashed yet.
    bytes: Buffer,
    chain: ResultsChain,
}

impl ResultsLog {
    /// Continues after the block that ends with `after`.
    pub fn resume(after: Results) -> ResultsLog {
        let (bytes, chain) = (Buffer::with_capacity(2 * PIECE_BYTES), ResultsChain::resume(after));
        ResultsLog { through: after.through, bytes, chain }
    }

    /// Takes all effects of the next record. The record's time is hashed too: it is the effects'
    /// time and part of every id they made.
    pub fn push(&mut self, record: &Record, effects: &[Effect]) {
        record.time.write(&mut self.bytes);
        u32::try_from(effects.len()).unwrap_or(u32::MAX).write(&mut self.bytes);
        for effect in effects {
            append_effect(effect, &mut self.bytes);
            if self.bytes.len() >= PIECE_BYTES {
                self.hash();
            }
        }
        self.through = record.sequence;
    }

    fn hash(&mut self) {
        self.chain.update(self.bytes.as_slice());
        self.bytes.clear();
    }

    /// Ends the block with the last record taken, and returns the results up to it.
    pub fn seal(&mut self) -> Results {
        self.hash();
        self.chain.end(self.through)
    }

    /// The results up to the end of the last ended block.
    pub const fn sealed(&self) -> Results {
        self.chain.ended
    }

    /// The results up to the last record taken, as if its block ended with it.
    pub fn latest(&self) -> Results {
        if self.through == self.sealed().through {
            return self.sealed();
        }
        let mut chain = self.chain.clone();
        chain.update(self.bytes.as_slice());
        chain.end(self.through)
    }
}

/// Appends the canonical bytes of one effect: its number, then its fields.
pub fn write_effect(effect: &Effect, out: &mut Vec<u8>) {
    write(effect, &mut Tagged(out));
}

#[inline]
fn write(effect: &Effect, out: &mut impl ImageSink) {
    effect.number().write(out);
    effect.write_fields(out);
}

/// The same, with a fast path for the most frequent effects.
fn append_effect(effect: &Effect, out: &mut Buffer) {
    use Effect as E;
    let appended = match effect {
        E::AccountChanged { .. }
        | E::OrderAccepted { .. }
        | E::OrderAmended { .. }
        | E::TradeMade(_)
        | E::OrderRested { .. }
        | E::OrderCancelled { .. }
        | E::PositionChanged { .. }
        | E::PositionSettled { .. } => out.append_small(|small| write(effect, small)),
        _ => false,
    };
    if !appended {
        write(effect, out);
    }
}

impl Default for ResultsLog {
    fn default() -> ResultsLog {
        ResultsLog::resume(Results::NONE)
    }
}

// The buffer that the canonical bytes of effects are written to.

/// Space for any effect without texts.
const SMALL_BYTES: usize = 96;
/// Smallest allocation.
const INITIAL_BYTES: usize = 1024;

/// A growing byte buffer that keeps zeroed space behind its content, so that a small effect is
/// written in place. Building it elsewhere and copying it would wait for the stores just made,
/// which takes longer than everything else.
#[derive(Debug, Clone, Default)]
pub struct Buffer {
    /// Bytes after `length` mean nothing.
    storage: Vec<u8>,
    length: usize,
}

impl Buffer {
    /// An empty buffer with space for so many bytes.
    pub fn with_capacity(bytes: usize) -> Buffer {
        Buffer { storage: vec![0; bytes], length: 0 }
    }

    /// The number of bytes.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.storage.get(..self.length).unwrap_or_default()
    }

    /// Empties the buffer and keeps its memory.
    pub const fn clear(&mut self) {
        self.length = 0;
    }

    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        self.put(bytes);
    }

    /// Appends what `write` writes; returns false and appends nothing if that is too large.
    #[inline]
    pub fn append_small(&mut self, write: impl FnOnce(&mut Fixed<'_, SMALL_BYTES>)) -> bool {
        let Some(bytes) = self.spare(SMALL_BYTES).first_chunk_mut() else { return false };
        let mut small = Fixed::over(bytes);
        write(&mut small);
        let length = small.written().map(<[u8]>::len);
        self.length = self.length.saturating_add(length.unwrap_or(0));
        length.is_some()
    }

    /// At least `bytes` of space behind the content.
    #[inline]
    fn spare(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.length.saturating_add(bytes);
        if end > self.storage.len() {
            self.grow(end);
        }
        self.storage.get_mut(self.length..).unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self, bytes_min: usize) {
        let twice = self.storage.len().saturating_mul(2);
        self.storage.resize(bytes_min.max(twice).max(INITIAL_BYTES), 0);
    }
}

impl ImageSink for Buffer {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if let Some(target) = self.spare(bytes.len()).get_mut(..bytes.len()) {
            target.copy_from_slice(bytes);
            self.length = self.length.saturating_add(bytes.len());
        }
    }

    #[inline]
    fn tags(&self) -> bool {
        true
    }
}

// The hash of the state's image. Equal states have equal digests on every machine, so replays and
// snapshots can be compared by it.

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

#[cfg(test)]
#[path = "../../tests/unit/exchange/results.rs"]
mod tests;

#[cfg(test)]
#[path = "../../tests/unit/exchange/results/sink.rs"]
mod sink_tests;
