//! One channel that a connection listens to: where it is in the channel's ring, and how it begins.

use std::collections::VecDeque;
use std::sync::Arc;

use super::build::Fact;
use super::channel::{Channel, MarketChannel, Topic};
use super::drawing::Drawing;
use super::message::Message;
use super::resume::Resuming;
use super::ring::{Cursor, Ring};
use super::snapshot;
use crate::problem::Problem;
use exchange::ids::MarketNo;
use exchange::units::{Sequence, TimeMs};
use views::ReadModel;

/// A subscription.
#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) channel: Channel,
    pub(super) topic: Topic,
    pub(super) ring: Arc<Ring>,
    pub(super) cursor: Cursor,
    /// What comes before the ring's messages.
    pub(super) first: VecDeque<Arc<Message>>,
    /// What is still to be put there.
    pub(super) begins: Option<Begins>,
    /// Until that was handed out, everything before this record only.
    pub(super) owes_from: Option<Sequence>,
    /// The record of the last message handed out.
    pub(super) last: Sequence,
    /// Whether the ring does not reach back to where it is to go on.
    pub(super) is_evicted: bool,
    /// What comes from the journal before anything from the ring.
    pub(super) resuming: Option<Arc<Resuming>>,
}

impl Subscription {
    pub(super) const fn is_drawn(&self) -> bool {
        matches!(self.begins, Some(Begins::Drawing(_)))
    }

    /// Whether what its ring has is told, of all markets or of some.
    pub(super) const fn is_told(&self) -> bool {
        self.resuming.is_none() && matches!(self.begins, None | Some(Begins::Books(_)))
    }

    /// Whether this message of its ring is.
    pub(super) fn tells(&self, message: &Message) -> bool {
        match (&self.begins, message.market) {
            (Some(Begins::Books(shown)), Some(market)) => shown.tells(market, message.sequence),
            _ => true,
        }
    }

    /// Notes that what it begins with is all there, or was handed out.
    pub(super) fn look_for_end(&mut self) {
        if self.begins.is_none() && self.first.is_empty() {
            self.owes_from = None;
        }
    }

    /// What comes next of how it begins, and whether changes were left out before it.
    pub(super) fn begin(
        &mut self,
        view: &ReadModel,
        now: TimeMs,
    ) -> Result<(Vec<Fact>, bool), Problem> {
        let at = view.watermark();
        let mut facts = Vec::new();
        let shown = match self.begins {
            Some(Begins::Books(shown)) => shown,
            Some(Begins::Snapshot { seen, conflated }) => {
                self.cursor = Cursor { next: self.ring.end(), after: at };
                facts = snapshot::of(view, (self.topic, self.channel), now);
                if let Some(seen) = seen {
                    snapshot::check_missed(view, self.topic, seen)?;
                    facts.extend(snapshot::missed(view, self.topic, seen, now));
                }
                let [told, shown] = [MarketNo(0); 2];
                Shown { seen, conflated, told, shown, at }
            }
            Some(Begins::Drawing(_)) | None => return Ok((facts, false)),
        };
        let next = has_all_books(self.topic).then(|| shown.go_on(view, self.topic, &mut facts));
        self.begins = next.flatten().map(Begins::Books);
        Ok((facts, shown.conflated))
    }
}

/// How a channel begins, or goes on after what was left out.
#[derive(Debug)]
pub(super) enum Begins {
    /// With a snapshot that is still to be made: not of all channels at once.
    Snapshot {
        /// The client has all up to this record, or up to the last message if it is too slow.
        seen: Option<Sequence>,
        /// Whether it is.
        conflated: bool,
    },
    /// With one that is being drawn.
    Drawing(Drawing),
    /// With the books of all markets, of which some were shown.
    Books(Shown),
}

/// How far the books of all markets were shown. Of the others no change is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "beside what was told")]
pub(super) struct Shown {
    /// Only those are shown that changed after this record, if the client has the others.
    seen: Option<Sequence>,
    /// Whether changes were left out.
    conflated: bool,
    /// Of the markets before this one, every change is told.
    told: MarketNo,
    /// Of those from there up to this one, every change after the record that their books show.
    shown: MarketNo,
    at: Sequence,
}

impl Shown {
    /// Whether a change of a market is told.
    pub(super) fn tells(&self, market: MarketNo, sequence: Sequence) -> bool {
        market < self.told || (market < self.shown && sequence > self.at)
    }

    /// Shows the next books; all were taken that were shown before. `None` after the last.
    fn go_on(self, view: &ReadModel, topic: Topic, facts: &mut Vec<Fact>) -> Option<Shown> {
        let (told, at) = (self.shown, view.watermark());
        let shown = snapshot::books_from(view, topic, told, self.seen, facts);
        (shown > told).then_some(Shown { told, shown, at, ..self })
    }
}

/// Whether a topic begins with orders, which only the exchange has in their order.
pub(super) const fn is_of_orders(topic: Topic) -> bool {
    matches!(
        topic,
        Topic::Market(MarketChannel::Orders, _) | Topic::EveryMarket(MarketChannel::Orders)
    )
}

/// Whether a topic begins with the books of all markets.
pub(super) const fn has_all_books(topic: Topic) -> bool {
    matches!(topic, Topic::EveryMarket(MarketChannel::Book | MarketChannel::Top))
}
