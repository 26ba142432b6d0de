//! A follower goes through the journal again behind the running venue: exchange and read model are
//! stepped together, and whoever follows sees each record just as the venue's readers could have
//! seen it. Nothing is written: pages of history are those that the venue has put.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::history::HistoryStore;
use super::past::PastError;
use super::restore::{self, Pages, Restored};
use super::throttle::{Ended, Throttle};
use super::watermark::PublishedWatermark;
use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::{Applied, Effect};
use exchange::results::Results;
use exchange::units::Sequence;
use journal::Durable;
use journal::block::Block;
use journal::reader::{JournalReader, VerifiedBlocks};
use journal::replay::{Listener, Stop};
use journal::snapshot::SnapshotFolder;
use views::ReadModel;
use views::history::History;

/// Whoever follows.
pub trait Onlooker {
    /// A record was folded, and the next one was not. A break ends the step before the next.
    fn see(&mut self, view: &ReadModel, record: &Record, applied: &Applied<'_>) -> ControlFlow<()>;

    /// A block was folded, up to whose end these are the results.
    fn end_block(&mut self, _view: &ReadModel, _results: Results) {}
}

/// Makes followers of a running venue's journal.
#[derive(Debug)]
pub struct Followed {
    /// The journal.
    pub journal: JournalReader,
    /// How far the venue's readers see, and so its pages go.
    pub published: Arc<PublishedWatermark>,
    /// The venue's pages.
    pub history: History,
    /// Snapshots to begin with, and the store of their pages.
    pub snapshots: Option<(SnapshotFolder, HistoryStore)>,
}

impl Followed {
    /// A follower at the last state at hand that is not later than the record `after`: of the one
    /// given, of a snapshot, or before the first record.
    ///
    /// # Errors
    /// [`Ended`] if the throttle says that the engine is ending.
    pub fn follower(
        &self,
        after: Sequence,
        given: Option<Follower>,
        pace: &mut Throttle,
    ) -> Result<Follower, Ended> {
        let given = given.filter(|given| given.sequence() <= after);
        let from = given.as_ref().map_or(Sequence::ZERO, Follower::sequence);
        let restored = match &self.snapshots {
            Some((folder, store)) => {
                let pages = Pages::Behind(store);
                restore::newest_after(folder, &self.journal, (from, after), pages, pace)?
            }
            None => None,
        };
        let made = |state| Follower {
            journal: self.journal.clone(),
            published: Arc::clone(&self.published),
            state,
            blocks: None,
            block: None,
        };
        let nothing = || made(Restored::nothing(&self.history));
        Ok(restored.map(made).or(given).unwrap_or_else(nothing))
    }
}

/// The state and the read model after some record, to be stepped on.
#[derive(Debug)]
pub struct Follower {
    journal: JournalReader,
    published: Arc<PublishedWatermark>,
    state: Restored,
    /// What is still to be read, once it has begun.
    blocks: Option<VerifiedBlocks>,
    /// The block in the middle of which it stands.
    block: Option<Durable<Block>>,
}

impl Follower {
    /// The record that it has come to.
    pub const fn sequence(&self) -> Sequence {
        self.state.sequence()
    }

    /// The read model as of that record.
    pub const fn read_model(&self) -> &ReadModel {
        &self.state.read_model
    }

    /// Steps on, by `records_max` at most and not beyond the record `to`, nor beyond what the
    /// venue's readers see.
    ///
    /// # Errors
    /// The journal cannot be read, or contradicts the results recorded in it or the read model. It
    /// must not be stepped any more.
    pub fn step(
        &mut self,
        to: Sequence,
        records_max: usize,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(), PastError> {
        let to = to.min(self.published.load().0);
        let mut left = records_max;
        let mut effects = Vec::new();
        while self.sequence() < to && left > 0 {
            let block = match self.block.take() {
                Some(block) => block,
                None => self.next_block()?,
            };
            let Restored { replayer, read_model } = &mut self.state;
            let mut folding = Folding { read_model, to, left, onlooker: &mut *onlooker };
            let applied = replayer.apply(&block, &mut effects, &mut folding);
            left = folding.left;
            match applied {
                Ok(()) => onlooker.end_block(&self.state.read_model, self.state.replayer.known()),
                Err(Stop::Listener(Enough)) => self.block = Some(block),
                Err(Stop::Fault(fault)) => return Err(fault.into()),
            }
            match self.state.read_model.inconsistencies() {
                0 => {}
                count => return Err(PastError::Views(count)),
            }
        }
        Ok(())
    }

    /// The next block; there is one, as records of it are published.
    fn next_block(&mut self) -> Result<Durable<Block>, PastError> {
        if let Some(block) = self.blocks.as_mut().and_then(Iterator::next) {
            return Ok(block?);
        }
        // To the head as it is now.
        let blocks = self.blocks.insert(self.journal.read(self.state.sequence().next()));
        Ok(blocks.next().ok_or(PastError::Lost)??)
    }
}

/// Folds each record of a block as it is applied, until it is enough.
struct Folding<'a> {
    read_model: &'a mut ReadModel,
    to: Sequence,
    left: usize,
    onlooker: &'a mut dyn Onlooker,
}

/// No record more is wanted now.
struct Enough;

impl Listener for Folding<'_> {
    type Stop = Enough;

    const KEEPS: bool = false;

    fn before(&mut self, _: &Exchange, record: &Record) -> Result<(), Enough> {
        if record.sequence > self.to || self.left == 0 {
            return Err(Enough);
        }
        self.left -= 1;
        Ok(())
    }

    fn after(&mut self, _: &Exchange, record: &Record, effects: &[Effect]) -> Result<(), Enough> {
        let applied = Applied { sequence: record.sequence, time: record.time, effects };
        self.read_model.fold(&applied);
        if self.onlooker.see(self.read_model, record, &applied).is_break() {
            // Not an error, so that a block of which this is the last record is ended.
            self.left = 0;
        }
        Ok(())
    }
}
