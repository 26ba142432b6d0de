//! What records came to, in one hash: two replays that tell the same results tell the same effects
//! of every record.
//!
//! Blocks are hashed, not records: a matcher that hashed each record by itself would spend more on
//! the hash than on its bytes.

mod effects;
mod sink;

use std::fmt;

use sha2::{Digest, Sha256};

pub use self::effects::write_effect;
use self::effects::{Canonical, append_effect};
pub use self::sink::Buffer;
use super::command::Record;
use super::effect::Effect;
use super::units::Sequence;

/// Version of an effect's canonical bytes; a change of what they say gets a new one.
pub const EFFECTS_VERSION: u16 = 1;

/// Canonical bytes are handed to the hash in pieces of about this size: large enough that the hash
/// runs at its full speed, small enough that they are still in the cache.
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

/// What all records up to one came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Results {
    /// The last of these records; zero before the first.
    pub through: Sequence,
    /// The hash over their effects.
    pub hash: ResultsHash,
}

impl Results {
    /// Of no record at all.
    pub const NONE: Results = Results { through: Sequence::ZERO, hash: ResultsHash::ZERO };
}

/// The hash over blocks of canonical bytes, each block's over the one before.
#[derive(Debug, Clone)]
pub struct ResultsChain {
    sealed: Results,
    hasher: Sha256,
}

impl ResultsChain {
    /// Goes on after the block that `after` ends with.
    pub fn resume(after: Results) -> ResultsChain {
        let mut chain = ResultsChain { sealed: after, hasher: Sha256::new() };
        chain.begin();
        chain
    }

    fn begin(&mut self) {
        self.hasher.update(self.sealed.hash.0);
        self.hasher.update(EFFECTS_VERSION.to_le_bytes());
    }

    /// Takes bytes of the present block.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// Ends the block with the record `through`, and gives the results up to it.
    pub fn end(&mut self, through: Sequence) -> Results {
        let hash = ResultsHash(self.hasher.finalize_reset().into());
        self.sealed = Results { through, hash };
        self.begin();
        self.sealed
    }
}

/// Who hashes the canonical bytes of blocks, in order: here, or beside whoever applies records.
pub trait ResultsHasher {
    /// Takes bytes of the present block and leaves a buffer without any, or leaves them until there
    /// are more.
    fn take(&mut self, bytes: &mut Buffer);
    /// Ends the present block, which has the last of these bytes, with the record `through`; takes
    /// them, or leaves them as above.
    fn end(&mut self, bytes: &mut Buffer, through: Sequence);
    /// The results up to the end of the oldest block that has ended and was not told yet. Without
    /// waiting, `None` if they are not known by now; else `None` if there is no such block, or
    /// nobody hashes any more. `bytes` is what was left.
    fn next(&mut self, bytes: &mut Buffer, wait: bool) -> Option<Results>;
}

/// Hashes at once, where records are applied.
#[derive(Debug, Clone)]
pub struct InlineHasher {
    chain: ResultsChain,
    ended: Option<Results>,
}

impl ResultsHasher for InlineHasher {
    fn take(&mut self, bytes: &mut Buffer) {
        self.chain.update(bytes.as_slice());
        bytes.clear();
    }

    fn end(&mut self, bytes: &mut Buffer, through: Sequence) {
        self.take(bytes);
        self.ended = Some(self.chain.end(through));
    }

    fn next(&mut self, _bytes: &mut Buffer, _wait: bool) -> Option<Results> {
        self.ended.take()
    }
}

/// Writes effects as records are applied, and has them hashed. The bytes wait in a buffer that is
/// used again.
#[derive(Debug, Clone)]
pub struct ResultsLog<S = InlineHasher> {
    through: Sequence,
    bytes: Buffer,
    seal: S,
}

impl<S: ResultsHasher> ResultsLog<S> {
    /// Goes on after the record `through`, with which a block ended, and has `seal` hash.
    pub fn sealed_by(seal: S, through: Sequence) -> ResultsLog<S> {
        ResultsLog { through, bytes: Buffer::with_room(2 * PIECE_BYTES), seal }
    }

    /// Takes the effects of the next record, all of them at once. With its time, which is the
    /// effects' time and part of every id that was given.
    pub fn push(&mut self, record: &Record, effects: &[Effect]) {
        record.time.write(&mut self.bytes);
        u32::try_from(effects.len()).unwrap_or(u32::MAX).write(&mut self.bytes);
        for effect in effects {
            append_effect(effect, &mut self.bytes);
            if self.bytes.len() >= PIECE_BYTES {
                self.seal.take(&mut self.bytes);
            }
        }
        self.through = record.sequence;
    }

    /// Ends the block with the last record taken.
    pub fn end(&mut self) {
        self.seal.end(&mut self.bytes, self.through);
    }

    /// See [`Seal::next`].
    pub fn next(&mut self, wait: bool) -> Option<Results> {
        self.seal.next(&mut self.bytes, wait)
    }
}

impl ResultsLog {
    /// Goes on after the block that `after` ends with.
    pub fn resume(after: Results) -> ResultsLog {
        let here = InlineHasher { chain: ResultsChain::resume(after), ended: None };
        ResultsLog::sealed_by(here, after.through)
    }

    /// Ends the block with the last record taken, and gives the results up to it.
    pub fn seal(&mut self) -> Results {
        self.end();
        self.sealed()
    }

    /// The results up to the end of the last sealed block.
    pub const fn sealed(&self) -> Results {
        self.seal.chain.sealed
    }

    /// The results up to the last record taken, as if its block ended with it.
    pub fn latest(&self) -> Results {
        if self.through == self.sealed().through {
            return self.sealed();
        }
        let mut chain = self.seal.chain.clone();
        chain.update(self.bytes.as_slice());
        chain.end(self.through)
    }
}

impl Default for ResultsLog {
    fn default() -> ResultsLog {
        ResultsLog::resume(Results::NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::command::Command;
    use crate::exchange::ids::UserNo;
    use crate::exchange::reject::Reject;
    use crate::exchange::units::{Money, TimeMs};

    fn deposited(units: i64) -> Effect {
        Effect::Deposited { user: UserNo(1), amount: Money::new(units) }
    }

    fn clock(sequence: u64, ms: i64) -> Record {
        let (sequence, time) = (Sequence::new(sequence), TimeMs::new(ms).unwrap());
        Record { sequence, time, once: None, command: Command::AdvanceClock }
    }

    /// The page's formula, with nothing of the log.
    fn by_hand(before: ResultsHash, records: &[(i64, &[Effect])]) -> ResultsHash {
        let mut bytes = before.0.to_vec();
        bytes.extend([1, 0]);
        for (ms, effects) in records {
            bytes.extend(ms.to_le_bytes());
            bytes.extend(u32::try_from(effects.len()).unwrap().to_le_bytes());
            for effect in *effects {
                write_effect(effect, &mut bytes);
            }
        }
        ResultsHash(Sha256::digest(&bytes).into())
    }

    #[test]
    fn blocks_are_chained_as_the_page_says() {
        let refused = [Effect::Refused(Reject::KeyTaken)];
        let two = [deposited(1), deposited(2)];
        let mut log = ResultsLog::default();
        assert_eq!(log.latest(), Results::NONE);
        log.push(&clock(1, 5), &two);
        log.push(&clock(2, 6), &[]);
        let first = log.latest();
        assert_eq!((log.seal(), log.sealed()), (first, first));
        assert_eq!(first.hash, by_hand(ResultsHash::ZERO, &[(5, &two), (6, &[])]));
        log.push(&clock(3, 6), &refused);
        let second = log.seal();
        assert_eq!(second.hash, by_hand(first.hash, &[(6, &refused)]));
        assert_eq!(second.through, Sequence::new(3));
        let mut resumed = ResultsLog::resume(first);
        resumed.push(&clock(3, 6), &refused);
        assert_eq!(resumed.seal(), second);
    }

    /// The same effects, cut into other records.
    #[test]
    fn which_record_an_effect_belongs_to_is_hashed() {
        let hash = |records: [&[Effect]; 2]| {
            let mut log = ResultsLog::default();
            log.push(&clock(1, 5), records[0]);
            log.push(&clock(2, 5), records[1]);
            log.seal()
        };
        let two = [deposited(1), deposited(2)];
        assert_ne!(hash([&two, &[]]), hash([&two[..1], &two[1..]]));
        assert_ne!(hash([&two, &[]]), hash([&[], &two]));
    }

    #[test]
    fn a_block_of_many_pieces_is_hashed_whole() {
        let many: Vec<Effect> = (0..10_000).map(deposited).collect();
        let mut log = ResultsLog::default();
        log.push(&clock(1, 5), &many);
        assert!(log.bytes.len() < PIECE_BYTES);
        let latest = log.latest();
        let expected = by_hand(ResultsHash::ZERO, &[(5, &many)]);
        assert_eq!((log.seal(), latest.hash), (latest, expected));
    }
}
