//! The projector: folds effects into the read model, then answers. In this order, so that a caller
//! that has an answer finds its effects in every read.

use std::sync::Arc;

use parking_lot::RwLock;

use super::halt::HaltReason;
use super::history::HistoryStore;
use super::mailbox::Mailbox;
use super::pending::{AppliedBlock, CommandOutcome, Delivery, ReplySlot};
use super::watermark::PublishedWatermark;
use exchange::effect::Applied;
use views::ReadModel;

/// Records folded before their callers are answered: small blocks are folded whole; in a large one
/// the first callers do not wait for the last, as all would submit again at once and leave cores
/// idle until then. The exact size hardly matters (`benches/PROFILE.md`).
const PORTION_RECORDS: usize = 64;

/// Why a block was not folded to its end.
#[derive(Debug)]
pub struct NotFolded {
    /// What is wrong.
    pub reason: HaltReason,
    /// Slots not answered yet: the engine must halt before they are.
    pub unanswered: Vec<ReplySlot>,
}

/// The projector's state. It works on the matcher's thread: handing a block to another thread costs
/// more than folding it.
#[derive(Debug)]
pub struct Projector {
    /// The live read model.
    pub read_model: Arc<RwLock<ReadModel>>,
    /// Where the read model's watermark is published.
    pub published: Arc<PublishedWatermark>,
    /// Where its pages go, if not to memory.
    history: Option<HistoryStore>,
    /// Answers grouped by the mailbox they go to.
    outgoing: Vec<(Arc<Mailbox>, Vec<Delivery>)>,
    /// Slots of the records just folded, with their index in the block.
    waiting: Vec<(usize, ReplySlot)>,
}

impl Projector {
    /// A projector that folds into this read model, whose pages go to `history`.
    pub fn new(read_model: Arc<RwLock<ReadModel>>, history: Option<HistoryStore>) -> Projector {
        let published = Arc::new(PublishedWatermark::default());
        published.publish(&read_model.read());
        Projector { read_model, published, history, outgoing: Vec::new(), waiting: Vec::new() }
    }
}

impl Projector {
    /// Folds a block and answers its callers; `replies` has one slot per record, or is empty when
    /// nobody waits. A large block is folded in portions.
    ///
    /// # Errors
    /// The read model was contradicted; from there on nobody was answered.
    pub fn project(
        &mut self,
        block: &Arc<AppliedBlock>,
        replies: Vec<Option<ReplySlot>>,
    ) -> Result<(), NotFolded> {
        let (mut records, mut replies) = (block.records().enumerate(), replies.into_iter());
        // Held across portions: released in between, readers would come in and delay the fold, and
        // others would be woken only to find it locked again.
        let read_model = Arc::clone(&self.read_model);
        let mut read_model = read_model.write();
        while records.len() > 0 {
            let portion = records.by_ref().take(portion(replies.as_slice()));
            if let Err(reason) = self.fold(&mut read_model, portion, &mut replies) {
                let waiting = self.waiting.drain(..).map(|(_, slot)| slot);
                let unanswered = waiting.chain(replies.flatten()).collect();
                return Err(NotFolded { reason, unanswered });
            }
            self.answer(block);
        }
        Ok(())
    }

    /// Folds records, given with their index in the block, and calls the looks of their slots.
    fn fold<'a>(
        &mut self,
        read_model: &mut ReadModel,
        portion: impl Iterator<Item = (usize, Applied<'a>)>,
        replies: &mut impl Iterator<Item = Option<ReplySlot>>,
    ) -> Result<(), HaltReason> {
        for (index, applied) in portion {
            read_model.fold(&applied);
            if let Some(Some(mut slot)) = replies.next() {
                slot.look(read_model, &applied);
                self.waiting.push((index, slot));
            }
        }
        if read_model.inconsistencies() > 0 {
            return Err(HaltReason::ReadModelBroken);
        }
        if let Some(history) = &self.history {
            history.folded(read_model.watermark());
        }
        self.published.publish(read_model);
        Ok(())
    }

    /// Delivers answers, grouped by mailbox.
    fn answer(&mut self, block: &Arc<AppliedBlock>) {
        for (record, slot) in self.waiting.drain(..) {
            let outcome = CommandOutcome::Applied(Arc::clone(block), record);
            let Some(mailbox) = slot.mailbox() else {
                slot.send(outcome);
                continue;
            };
            let known = self.outgoing.iter().position(|(known, _)| Arc::ptr_eq(known, mailbox));
            let index = known.unwrap_or_else(|| {
                self.outgoing.push((Arc::clone(mailbox), Vec::new()));
                self.outgoing.len().saturating_sub(1)
            });
            if let Some((_, deliveries)) = self.outgoing.get_mut(index) {
                deliveries.extend(slot.delivery(outcome));
            }
        }
        // A mailbox that only the projector still holds belongs to a thread that has ended.
        self.outgoing.retain_mut(|(mailbox, deliveries)| {
            if !deliveries.is_empty() {
                mailbox.put(deliveries);
            }
            Arc::strong_count(mailbox) > 1
        });
    }
}

/// How many records to fold before answering. Commands that share a slot stay in one portion, and
/// records without slots are folded up to the block's end.
fn portion(slots: &[Option<ReplySlot>]) -> usize {
    let later = slots.get(PORTION_RECORDS..).unwrap_or_default();
    let next = later.iter().position(Option::is_some);
    next.map_or(usize::MAX, |next| PORTION_RECORDS.saturating_add(next))
}

#[cfg(test)]
#[path = "../../tests/unit/engine/projector.rs"]
mod tests;
