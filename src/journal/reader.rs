//! Reading a journal while it is written to: what is on disk by now, verified, from any thread.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::block::{Block, BlockFault, Head, RawBlock};
use super::store::BlockSource;
use super::{Damage, Durable, JournalError, recovery};
use crate::exchange::units::Sequence;

/// The head that readers see. The journal moves it once a block is flushed and synced.
#[derive(Debug, Clone)]
pub(super) struct Published(Arc<RwLock<Head>>);

impl Published {
    pub(super) fn new(head: Head) -> Published {
        Published(Arc::new(RwLock::new(head)))
    }

    pub(super) fn publish(&self, head: Head) {
        // A head is copied whole: nothing can panic halfway.
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = head;
    }

    fn get(&self) -> Head {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handle on a journal that somebody else writes to. Clones share it. It outlives the journal
/// without keeping it open: of a closed one on disk it reads nothing more.
#[derive(Clone)]
pub struct JournalReader {
    source: Arc<dyn BlockSource>,
    published: Published,
}

impl fmt::Debug for JournalReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalReader").field("head", &self.head()).finish_non_exhaustive()
    }
}

impl JournalReader {
    pub(super) fn new(source: Arc<dyn BlockSource>, published: Published) -> JournalReader {
        JournalReader { source, published }
    }

    /// Where the journal ends by now: the last block that is on disk. A block that was refused is
    /// never it.
    pub fn head(&self) -> Head {
        self.published.get()
    }

    /// Reads from the block that holds record `from` to the head as of now, one block in memory
    /// at a time. Every block is verified, and that the last of them is that head; the first error
    /// ends the reading.
    pub fn read(&self, from: Sequence) -> VerifiedBlocks {
        let (source, end) = (Arc::clone(&self.source), self.head());
        VerifiedBlocks { source, end, place: Place::Before(from) }
    }
}

/// Where a reading stands.
enum Place {
    /// Nothing read; the first block is the one that holds this record.
    Before(Sequence),
    /// After the block that led to this head.
    After(Head),
    /// At the end, or at an error.
    Over,
}

/// Block after block, read and verified on the way.
pub struct VerifiedBlocks {
    source: Arc<dyn BlockSource>,
    end: Head,
    place: Place,
}

impl fmt::Debug for VerifiedBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedBlocks").field("end", &self.end).finish_non_exhaustive()
    }
}

impl VerifiedBlocks {
    /// Where the reading ends: the journal's head when it began.
    pub const fn end(&self) -> Head {
        self.end
    }

    /// The head before the block that holds `from`: verified by the block before it, or the start.
    fn enter(&self, from: Sequence) -> Result<Head, JournalError> {
        let holding = self.source.at_or_before(from).map_err(JournalError::Read)?;
        let Some((first, _)) = holding else { return Ok(Head::START) };
        if first <= Head::START.sequence.next() {
            return Ok(Head::START);
        }
        let before = Sequence::new(first.get().saturating_sub(1));
        let earlier = self.source.at_or_before(before).map_err(JournalError::Read)?;
        let Some((key, bytes)) = earlier else { return Ok(Head::START) };
        let read = RawBlock::new(bytes).decode();
        let after = read.as_ref().map_or(Head::START, Block::built_after);
        let judged = recovery::judge(key, read, &after);
        judged.map(|block| block.head()).map_err(|fault| Damage { block: key, fault }.into())
    }

    fn next_block(&self, head: &Head) -> Result<Option<Block>, JournalError> {
        if head.sequence >= self.end.sequence {
            let same = head == &self.end || self.end == Head::START;
            let fault = BlockFault::Chain { expected: self.end.hash, found: head.hash };
            let damage = Damage { block: self.end.sequence, fault };
            return if same { Ok(None) } else { Err(damage.into()) };
        }
        let next = head.sequence.next();
        let found = self.source.at_or_after(next).map_err(JournalError::Read)?;
        let Some((key, bytes)) = found else {
            let fault = BlockFault::Missing(self.end.sequence);
            return Err(Damage { block: next, fault }.into());
        };
        let judged = recovery::judge(key, RawBlock::new(bytes).decode(), head);
        judged.map(Some).map_err(|fault| Damage { block: key, fault }.into())
    }
}

impl Iterator for VerifiedBlocks {
    type Item = Result<Durable<Block>, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entered = match self.place {
            Place::Before(from) if from > self.end.sequence => return None,
            Place::Before(from) => self.enter(from),
            Place::After(head) => Ok(head),
            Place::Over => return None,
        };
        let read = entered.and_then(|head| self.next_block(&head));
        self.place = match &read {
            Ok(Some(block)) => Place::After(block.head()),
            _ => Place::Over,
        };
        read.map(|block| block.map(Durable)).transpose()
    }
}
