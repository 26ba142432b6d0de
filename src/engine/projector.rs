//! The projector: folds what happened into the read model, then answers. In this order, so that
//! whoever has an answer finds its effects in every read.

use std::sync::Arc;

use parking_lot::RwLock;

use super::halt::HaltReason;
use super::history::HistoryStore;
use super::mailbox::Mailbox;
use super::pending::{AppliedBlock, Came, Letter, ReplySlot};
use super::shown::Shown;
use crate::projection::ReadModel;

/// The projector's state. It works on the matcher's thread: handing a block to another thread
/// costs more than folding it.
#[derive(Debug)]
pub struct Projector {
    /// The one read model.
    pub read_model: Arc<RwLock<ReadModel>>,
    /// Where it says how far that is.
    pub shown: Arc<Shown>,
    /// Where it puts its pages, if not in memory.
    history: Option<HistoryStore>,
    /// What a block's answers are sorted into: mailboxes of threads.
    mail: Vec<(Arc<Mailbox>, Vec<Letter>)>,
}

impl Projector {
    /// A projector that folds into this read model, whose pages go there.
    pub fn new(read_model: Arc<RwLock<ReadModel>>, history: Option<HistoryStore>) -> Projector {
        let shown = Arc::new(Shown::default());
        shown.post(&read_model.read());
        Projector { read_model, shown, history, mail: Vec::new() }
    }
}

impl Projector {
    /// Folds a block's results and answers those who wait; `replies` holds a slot a record, or
    /// nothing when nobody waits.
    ///
    /// # Errors
    /// The read model was contradicted; then nobody was answered.
    pub fn project(
        &mut self,
        block: &Arc<AppliedBlock>,
        mut replies: Vec<Option<ReplySlot>>,
    ) -> Result<(), HaltReason> {
        {
            // A block at a time: a reader sees all of a block or nothing of it.
            let mut read_model = self.read_model.write();
            let mut slots = replies.iter_mut();
            for applied in block.records() {
                read_model.fold(&applied);
                if let Some(Some(slot)) = slots.next() {
                    slot.look(&read_model, &applied);
                }
            }
            if read_model.inconsistencies() > 0 {
                return Err(HaltReason::ReadModelBroken);
            }
            if let Some(history) = &self.history {
                history.folded(read_model.watermark());
            }
            self.shown.post(&read_model);
        }
        self.answer(block, replies);
        Ok(())
    }

    /// Hands out a block's answers: those for one thread's callers together.
    fn answer(&mut self, block: &Arc<AppliedBlock>, replies: Vec<Option<ReplySlot>>) {
        for (record, slot) in replies.into_iter().enumerate() {
            let Some(slot) = slot else { continue };
            let came = Came::Applied(Arc::clone(block), record);
            let Some(home) = slot.home() else {
                slot.send(came);
                continue;
            };
            let known = self.mail.iter().position(|(known, _)| Arc::ptr_eq(known, home));
            let place = known.unwrap_or_else(|| {
                self.mail.push((Arc::clone(home), Vec::new()));
                self.mail.len().saturating_sub(1)
            });
            if let Some((_, letters)) = self.mail.get_mut(place) {
                letters.extend(slot.letter(came));
            }
        }
        // Threads come and go with the server: a box that only we still know is nobody's.
        self.mail.retain_mut(|(home, letters)| {
            if !letters.is_empty() {
                home.put(letters);
            }
            Arc::strong_count(home) > 1
        });
    }
}
