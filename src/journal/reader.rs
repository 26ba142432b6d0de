//! Reads a journal while it is written: durable blocks, verified, from any thread.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::block::{Block, BlockFault, Head, RawBlock};
use super::store::BlockSource;
use super::{Damage, Durable, JournalError, recovery};
use exchange::units::Sequence;

/// The head visible to readers. The journal moves it once a block is durable.
#[derive(Debug, Clone)]
pub(super) struct Published(Arc<RwLock<Head>>);

impl Published {
    pub(super) fn new(head: Head) -> Published {
        Published(Arc::new(RwLock::new(head)))
    }

    pub(super) fn publish(&self, head: Head) {
        // A head is stored in one assignment: a panic cannot leave it inconsistent.
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = head;
    }

    fn get(&self) -> Head {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader of a journal that another thread writes. Clones share it. It may outlive the journal
/// without keeping it open: once the journal is closed, reads of its store fail.
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

    /// The last durable block. Never one that was refused.
    pub fn head(&self) -> Head {
        self.published.get()
    }

    /// Reads from the block that holds record `from` to the current head, one block in memory at a
    /// time. Verifies every block, and that the last is that head; the first error ends the
    /// reading.
    pub fn read(&self, from: Sequence) -> VerifiedBlocks {
        let (source, end) = (Arc::clone(&self.source), self.head());
        VerifiedBlocks { source, end, position: Position::Before(from) }
    }
}

/// Position of a read.
enum Position {
    /// Nothing read; the first block is the one that holds this record.
    Before(Sequence),
    /// After the block that led to this head.
    After(Head),
    /// At the end, or at an error.
    Over,
}

/// Iterates over blocks, verifying each.
pub struct VerifiedBlocks {
    source: Arc<dyn BlockSource>,
    end: Head,
    position: Position,
}

impl fmt::Debug for VerifiedBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedBlocks").field("end", &self.end).finish_non_exhaustive()
    }
}

impl VerifiedBlocks {
    /// Where the read ends: the journal's head when it began.
    pub const fn end(&self) -> Head {
        self.end
    }

    /// The head before the block that holds `from`: the previous block's, which is verified, or the
    /// start's.
    fn head_before(&self, from: Sequence) -> Result<Head, JournalError> {
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
        let entered = match self.position {
            Position::Before(from) if from > self.end.sequence => return None,
            Position::Before(from) => self.head_before(from),
            Position::After(head) => Ok(head),
            Position::Over => return None,
        };
        let read = entered.and_then(|head| self.next_block(&head));
        self.position = match &read {
            Ok(Some(block)) => Position::After(block.head()),
            _ => Position::Over,
        };
        read.map(|block| block.map(Durable)).transpose()
    }
}
