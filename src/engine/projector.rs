//! The projector: folds effects into the read model, then answers. In this order, so that a caller
//! that has an answer finds its effects in every read.

use std::sync::{Arc, OnceLock};
use std::task::Waker;

use parking_lot::RwLock;

use super::announcer::Announcer;
use super::halt::HaltReason;
use super::history::HistoryStore;
use super::pending::{AppliedBlock, Outcome, Slot};
use super::watermark::PublishedWatermark;
use exchange::command::Record;
use exchange::effect::Applied;
use exchange::results::Results;
use views::ReadModel;

/// Records folded before their callers are answered: small blocks are folded whole; in a large one
/// the first callers do not wait for the last, as all would submit again at once and leave cores
/// idle until then. The exact size hardly matters (`benches/PROFILE.md`).
const PORTION_RECORDS: usize = 64;

/// Why a block was not folded to its end, and who was not answered: the engine must halt before
/// they are.
pub type NotFolded = (HaltReason, Vec<(usize, Slot)>);

/// The projector's state. It works on the matcher's thread: handing a block to another thread costs
/// more than folding it.
#[derive(Debug)]
pub struct Projector {
    /// The live read model.
    pub read_model: Arc<RwLock<ReadModel>>,
    /// Where the read model's watermark is published.
    pub published: Arc<PublishedWatermark>,
    /// Who tells listeners, once anybody has listened.
    pub announcer: Arc<OnceLock<Arc<dyn Announcer>>>,
    /// Where its pages go, if not to memory.
    history: Option<HistoryStore>,
    /// Who waits for the records just folded.
    folded: Vec<(usize, Slot)>,
    /// Whom to wake for their answers.
    wakers: Vec<Waker>,
}

impl Projector {
    /// A projector that folds into this read model, whose pages go to `history`.
    pub fn new(read_model: ReadModel, history: Option<HistoryStore>) -> Projector {
        let published = Arc::new(PublishedWatermark::default());
        published.publish(&read_model);
        let read_model = Arc::new(RwLock::new(read_model));
        Projector {
            read_model,
            published,
            announcer: Arc::default(),
            history,
            folded: Vec::new(),
            wakers: Vec::new(),
        }
    }

    /// Folds a block and answers its callers, a large one in portions; `slots` are in the order of
    /// its `records`, up to whose end `results` go.
    ///
    /// # Errors
    /// The read model was contradicted; from there on nobody was answered.
    pub fn project(
        &mut self,
        block: &Arc<AppliedBlock>,
        (sent, results): (&[Record], Results),
        slots: Vec<(usize, Slot)>,
    ) -> Result<(), NotFolded> {
        let (mut records, mut slots) = (block.records().enumerate(), slots.into_iter());
        // Held across portions: released in between, readers would come in and delay the fold, and
        // others would be woken only to find it locked again.
        let read_model = Arc::clone(&self.read_model);
        let mut view = read_model.write();
        // Asked under the lock: see the trait.
        let announcer = self.announcer.get().filter(|announcer| announcer.wanted()).cloned();
        let announcer = announcer.as_deref();
        let fold = |view: &mut ReadModel, index: usize, applied: &Applied<'_>| {
            view.fold(applied);
            if let Some((announcer, record)) = announcer.zip(sent.get(index)) {
                announcer.see(view, record, applied);
            }
        };
        while records.len() > 0 {
            let after = records.len().saturating_sub(PORTION_RECORDS);
            while records.len() > after {
                let Some((first, slot)) = slots.next() else {
                    records.by_ref().for_each(|(index, applied)| fold(&mut view, index, &applied));
                    break;
                };
                // Before it there may be a record for which nobody waits.
                let end = first.saturating_add(slot.count());
                for (index, applied) in records.by_ref() {
                    fold(&mut view, index, &applied);
                    if let Some(place) = index.checked_sub(first) {
                        slot.look(place, &view, &applied);
                    }
                    if index.saturating_add(1) >= end {
                        break;
                    }
                }
                self.folded.push((first, slot));
            }
            if view.inconsistencies() > 0 {
                let unanswered = self.folded.drain(..).chain(slots).collect();
                return Err((HaltReason::ReadModelBroken, unanswered));
            }
            if let Some(history) = &self.history {
                history.folded(view.watermark());
            }
            if let Some(announcer) = announcer {
                if records.len() == 0 {
                    announcer.end_block(&view, results);
                }
                announcer.publish(view.watermark());
            }
            self.published.publish(&view);
            self.answer(block);
        }
        Ok(())
    }

    /// Answers whoever waits for what was folded, and wakes them after that.
    fn answer(&mut self, block: &Arc<AppliedBlock>) {
        for (first, slot) in self.folded.drain(..) {
            self.wakers.extend(slot.hand_over(Outcome::Applied(Arc::clone(block), first)));
        }
        self.wakers.drain(..).for_each(Waker::wake);
    }
}

/// Whoever heard is woken, even if the thread ends before it gets there.
impl Drop for Projector {
    fn drop(&mut self) {
        self.wakers.drain(..).for_each(Waker::wake);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/projector.rs"]
mod tests;
