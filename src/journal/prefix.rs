//! The beginning of a journal: whole blocks up to a chosen record, for a restore to an earlier
//! moment. A block is durable as a whole, so a part of one is no journal.

use std::iter::Peekable;

use super::block::Block;
use super::{Blocks, Durable, JournalError};
use exchange::command::Record;
use exchange::units::Sequence;

/// Whether a record is to be kept; once it says no, it must say no of all later records.
pub type Keep<'a> = Box<dyn Fn(&Record) -> bool + 'a>;

/// The blocks whose records are all to be kept. Nothing after the first other block is read.
pub struct Prefix<'a> {
    blocks: Peekable<Blocks<'a>>,
    keep: Keep<'a>,
}

impl<'a> Prefix<'a> {
    /// The beginning of these blocks.
    pub fn of(blocks: Blocks<'a>, keep: Keep<'a>) -> Prefix<'a> {
        Prefix { blocks: blocks.peekable(), keep }
    }

    /// The next block's first and last record, if the block is left out.
    pub fn left_out(&mut self) -> Option<(Sequence, Sequence)> {
        let Some(Ok(block)) = self.blocks.peek() else { return None };
        let kept = block.records().last().is_none_or(|record| (self.keep)(record));
        (!kept).then(|| (block.first(), block.last()))
    }
}

impl Iterator for Prefix<'_> {
    type Item = Result<Durable<Block>, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left_out().is_some() { None } else { self.blocks.next() }
    }
}
