//! Gathering: the next messages of several rings, in the order of their records.

use std::sync::Arc;

use super::message::{Delivered, Message};
use super::subscription::Subscription;
use exchange::units::Sequence;

/// Messages that could be next, and how far nothing is missing between them.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    candidates: Vec<Candidate>,
    /// After this record there may be more in some ring.
    cut: Option<Sequence>,
}

#[derive(Debug)]
struct Candidate {
    /// Which subscription it is of.
    of: usize,
    /// The index in its ring, if it is of one.
    index: Option<u64>,
    /// Whether it is told, or passed over.
    told: bool,
    message: Arc<Message>,
}

impl Gathered {
    /// Adds what a subscription has next, up to a record: some `bytes_max`, but all of a record.
    pub fn gather(
        &mut self,
        of: usize,
        subscription: &Subscription,
        through: Sequence,
        bytes_max: usize,
    ) {
        let Subscription { ring, cursor, first, .. } = subscription;
        let first = first.iter().filter(|message| message.sequence <= through);
        let candidate = |index, told, message: &Arc<Message>| {
            let message = Arc::clone(message);
            Candidate { of, index, told, message }
        };
        let first = first.map(|message| candidate(None, true, message));
        self.candidates.extend(first);
        if ring.end() == cursor.next {
            return;
        }
        let state = ring.lock();
        let Ok(messages) = state.read(*cursor, through) else {
            // It was evicted just now, as will be found the next time.
            self.cut = Some(Sequence::ZERO);
            return;
        };
        let (mut bytes, mut last) = (0_usize, None);
        for (index, message) in messages.filter(|(_, next)| next.sequence > cursor.after) {
            if bytes >= bytes_max && last.is_some_and(|last| last < message.sequence) {
                self.cut = self.cut.min(last).or(self.cut).or(last);
                break;
            }
            let told = subscription.tells(message);
            if told {
                bytes = bytes.saturating_add(message.text.len());
                last = Some(message.sequence);
            }
            self.candidates.push(candidate(Some(index), told, message));
        }
    }

    /// Hands out the next messages, and moves the cursors on. Returns up to which record everything
    /// was handed out.
    pub fn hand_out(
        self,
        subscriptions: &mut [Subscription],
        through: Sequence,
        into: &mut Vec<Arc<Message>>,
        bytes_max: usize,
    ) -> (Delivered, Sequence) {
        let Gathered { mut candidates, cut } = self;
        candidates.sort_by_key(|next| (next.message.sequence, next.message.order));
        let end = cut.map_or(through, |cut| cut.min(through));
        let (mut bytes, mut last) = (0_usize, None);
        let mut more = cut.is_some();
        for Candidate { of, index, told, message } in candidates {
            let sequence = message.sequence;
            let is_full = bytes >= bytes_max && last.is_some_and(|last| last < sequence);
            if sequence > end || is_full {
                more = true;
                break;
            }
            let Some(subscription) = subscriptions.get_mut(of) else { continue };
            match index {
                Some(index) => subscription.cursor.next = index.saturating_add(1),
                None => drop(subscription.first.pop_front()),
            }
            if !told {
                continue;
            }
            subscription.look_for_end();
            subscription.last = sequence;
            last = Some(sequence);
            bytes = bytes.saturating_add(message.text.len());
            into.push(message);
        }
        let head = if more { last.unwrap_or_default() } else { through };
        (Delivered { bytes, more }, head)
    }
}
