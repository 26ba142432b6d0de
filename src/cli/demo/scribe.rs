//! Writes a journal's first records at times of their own: each is applied to an exchange, so that
//! its blocks record the results as a running venue's do, and are read like them.

use super::SeedError;
use exchange::Exchange;
use exchange::command::{Command, Record};
use exchange::effect::Effect;
use exchange::results::ResultsLog;
use exchange::units::{Sequence, TimeMs};
use journal::Journal;
use journal::block::{BlockBuilder, ChainHash, Head, Refill};

/// A journal being begun. Records that an interrupted begin has written already are made again, and
/// compared by the hash of the blocks.
pub(crate) struct Scribe<'a> {
    journal: &'a mut dyn Journal,
    /// The end of what was there.
    there: Head,
    /// The hash of the first block that was there.
    first: Option<ChainHash>,
    block: BlockBuilder,
    head: Head,
    exchange: Exchange,
    results: ResultsLog,
    effects: Vec<Effect>,
}

impl<'a> Scribe<'a> {
    /// Begins with record 1; `first` is the hash of the journal's first block, if it has one.
    pub(crate) fn begin(journal: &'a mut dyn Journal, first: Option<ChainHash>) -> Scribe<'a> {
        let (there, head) = (*journal.head(), Head::START);
        let (block, results) = (BlockBuilder::new(&head), ResultsLog::default());
        let (exchange, effects) = (Exchange::new(), Vec::new());
        Scribe { journal, there, first, block, head, exchange, results, effects }
    }

    /// The state after the last record.
    pub(crate) const fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Journals a command at a time, after what is due by then; returns what it did.
    ///
    /// # Errors
    /// The journal, or the exchange, does not take it, or it has begun otherwise.
    pub(crate) fn tell(&mut self, time: TimeMs, command: Command) -> Result<&[Effect], SeedError> {
        while let Some(due) = self.exchange.next_due().filter(|due| *due <= time) {
            self.record(due.max(self.exchange.time()), Command::AdvanceClock)?;
        }
        self.record(time, command)?;
        Ok(&self.effects)
    }

    fn record(&mut self, time: TimeMs, command: Command) -> Result<(), SeedError> {
        let sequence = self.exchange.sequence().next();
        let record = Record { sequence, time, once: None, act: None, command };
        if let Err(Refill(again)) = self.block.push(record.clone()) {
            self.seal()?;
            // What fits no block fails when the next is built.
            drop(self.block.push(again));
        }
        self.effects.clear();
        self.exchange.apply(&record, &mut self.effects)?;
        self.results.push(&record, &self.effects);
        Ok(())
    }

    /// Ends the block, and writes it unless it is there.
    fn seal(&mut self) -> Result<(), SeedError> {
        let block = std::mem::replace(&mut self.block, BlockBuilder::new(&Head::START));
        let block = block.build(self.results.sealed())?;
        self.results.seal();
        self.head = block.head();
        self.block = BlockBuilder::new(&self.head);
        if self.first.take().is_some_and(|first| first != block.hash()) {
            return Err(SeedError::NotADemo);
        }
        if block.first() > self.there.sequence {
            self.journal.append(block)?;
        } else if block.last() >= self.there.sequence && block.hash() != self.there.hash {
            return Err(SeedError::OfAnother(block.first()));
        }
        Ok(())
    }

    /// Writes the last block; returns how many records there are.
    ///
    /// # Errors
    /// As [`tell`](Scribe::tell).
    pub(crate) fn end(mut self) -> Result<Sequence, SeedError> {
        if !self.block.is_empty() {
            self.seal()?;
        }
        if self.head.sequence < self.there.sequence {
            return Err(SeedError::OfAnother(self.head.sequence.next()));
        }
        Ok(self.head.sequence)
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/scribe.rs"]
mod tests;
