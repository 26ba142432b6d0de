//! Reads the journal of a data directory of version 0.1, which kept it in sled and the newest
//! blocks in a write-ahead log, `wal`. Opening sled writes to its files, as that version's start
//! did.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::block::{Block, BlockFault, Head, RawBlock};
use super::directory::{JOURNAL_DIR, at, lock};
use super::marker::{self, Marker, SLOT_BYTES};
use super::recovery::Reason;
use super::sound;
use super::store::{OpenError, Step};
use super::tree::{Shape, caught, open_db};
use super::watch::MARKER_FILE;
use super::{Damage, Durable, JournalError};
use exchange::units::Sequence;

/// Bytes of each of the log's two halves.
const HALF_BYTES: usize = 1 << 20;
/// First bytes of a slot that names the last acknowledged block; one is at each of these offsets.
const WITNESS_MAGIC: [u8; 8] = *b"OPACKNOW";
const WITNESS_OFFSETS: [usize; 2] = [0, 4096];
/// How that version made its sled.
const SHAPE: Shape = Shape { segment_bytes: 16 << 20, cache_bytes: 8 << 20 };

/// The blocks of such a journal in order, verified.
pub struct OldJournal {
    values: sled::Iter,
    /// Blocks of the value read last.
    open: VecDeque<Vec<u8>>,
    /// Blocks of the write-ahead log.
    log: Vec<Block>,
    head: Head,
    /// The first record that was refused.
    refused: Option<Sequence>,
    /// The last record that was acknowledged.
    acknowledged: Sequence,
    over: bool,
    _db: sled::Db,
    _lock: File,
}

impl OldJournal {
    /// Opens it; no server may have it open.
    pub fn open(data: &Path) -> Result<OldJournal, OpenError> {
        let lock = lock(data)?;
        let read = |name: &str| {
            let path = data.join(name);
            fs::read(&path).map_err(at(&path))
        };
        let refused = match Marker::decode(&read(MARKER_FILE)?) {
            Marker::Refused { first, .. } => Some(first),
            Marker::Clear => None,
            Marker::Unreadable => return Err(OpenError::Refused(Reason::MarkerUnreadable)),
        };
        let witness = read("witness")?;
        let slot = |offset: &usize| witness.get(*offset..)?.get(..SLOT_BYTES);
        let slots = WITNESS_OFFSETS.iter().filter_map(slot);
        let known = slots.filter_map(|slot| marker::decode(WITNESS_MAGIC, slot));
        let acknowledged = known.map(|(last, _)| last).max().unwrap_or_default();
        let wal = match fs::read(data.join("wal")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(at(data))?,
        };
        let mut log: Vec<Block> = wal
            .chunks(HALF_BYTES)
            .flat_map(|half| split(half).0)
            .filter_map(|b| RawBlock::new(b).decode().ok())
            .collect();
        log.sort_by_key(Block::first);
        let db = open_db(&data.join(JOURNAL_DIR), SHAPE)?;
        let values = caught(Step::Open, || db.open_tree("blocks"))?.iter();
        let (open, head, over) = (VecDeque::new(), Head::START, false);
        Ok(OldJournal {
            values,
            open,
            log,
            head,
            refused,
            acknowledged,
            over,
            _db: db,
            _lock: lock,
        })
    }

    fn next_block(&mut self) -> Result<Option<Block>, JournalError> {
        let next = self.head.sequence.next();
        let damaged = |fault| JournalError::Damaged(Damage { block: next, fault });
        if self.open.is_empty()
            && let Some(value) =
                caught(Step::Read, || self.values.next().transpose()).map_err(JournalError::Read)?
        {
            let (blocks, rest) = split(&value.1);
            self.open.extend(blocks);
            self.open.extend(Some(rest).filter(|rest| !rest.is_empty()));
        }
        let block = if let Some(bytes) = self.open.pop_front() {
            Some(RawBlock::new(bytes).decode().map_err(damaged)?)
        } else {
            let found = self.log.iter().find(|block| block.follows(&self.head).is_ok());
            found.cloned()
        };
        let Some(block) = block.filter(|block| Some(block.first()) != self.refused) else {
            let lost = self.head.sequence < self.acknowledged;
            let missing = BlockFault::Missing(self.acknowledged);
            return if lost { Err(damaged(missing)) } else { Ok(None) };
        };
        block.follows(&self.head).map_err(damaged)?;
        self.head = block.head();
        Ok(Some(block))
    }
}

impl Iterator for OldJournal {
    type Item = Result<Durable<Block>, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let read = self.next_block();
        self.over = !matches!(read, Ok(Some(_)));
        read.map(|block| block.map(Durable)).transpose()
    }
}

/// The blocks at the beginning of some bytes that their checksums find whole, and the rest.
fn split(mut bytes: &[u8]) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut blocks = Vec::new();
    while let Some((.., length)) = sound::sound_span(bytes)
        && let Some((block, rest)) = bytes.split_at_checked(length)
    {
        blocks.push(block.to_vec());
        bytes = rest;
    }
    (blocks, bytes.to_vec())
}
