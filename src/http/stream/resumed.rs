//! A connection's subscriptions that catch up from the journal, and how they join the rings.

use std::sync::Arc;

use super::listening::Listening;
use super::message::{Asked, Delivered, Message, Slow};
use super::resume::{Resuming, Taken};
use super::subscription::Subscription;
use exchange::units::Sequence;

impl Listening {
    /// Has the subscriptions that were just asked for catch up from the journal, if one of them
    /// must: together, so that what they tell is in order.
    pub(super) fn resume(&mut self, asked: &mut [Asked], from: Sequence) {
        let stands = |of: &Subscription| {
            !of.topic.tells_states()
                && asked.iter().flatten().any(|subscribed| subscribed.channel == of.channel)
        };
        let group: Vec<usize> = (0..)
            .zip(&self.subscriptions)
            .filter(|(_, of)| stands(of))
            .map(|(place, _)| place)
            .collect();
        let of = |place: &usize| self.subscriptions.get(*place);
        if !group.iter().filter_map(of).any(|of| of.is_evicted) {
            return;
        }
        let topics = group.iter().filter_map(of).map(|of| of.topic).collect();
        match self.hub.resumers.resume(&self.engine, topics, from, &self.bell) {
            Ok(resuming) => {
                let resuming = Arc::new(resuming);
                for place in group {
                    if let Some(of) = self.subscriptions.get_mut(place) {
                        of.resuming = Some(Arc::clone(&resuming));
                    }
                }
                self.head = self.head.min(from);
            }
            Err(problem) => {
                // Those that the rings serve stand.
                let gone = |channel| {
                    let mut all = self.subscriptions.iter();
                    all.any(|of| of.channel == channel && of.is_evicted)
                };
                for asked in asked {
                    if asked.as_ref().is_ok_and(|subscribed| gone(subscribed.channel)) {
                        *asked = Err(problem.clone());
                    }
                }
            }
        }
        let refused = |of: &Subscription| of.is_evicted && of.resuming.is_none();
        let refused: Vec<_> =
            self.subscriptions.iter().filter(|of| refused(of)).map(|of| of.channel).collect();
        for channel in refused {
            self.end(channel);
        }
    }

    /// Takes what the journal tells, and joins the rings where they reach back to that. Of several
    /// that catch up, the one furthest back goes first.
    pub(super) fn take_resumed(
        &mut self,
        into: &mut Vec<Arc<Message>>,
        bytes_max: usize,
    ) -> Result<Option<Delivered>, Slow> {
        loop {
            let mut all = self.all_resuming();
            all.sort_by_key(|resuming| resuming.next());
            let Some(first) = all.first() else { return Ok(None) };
            let through = all.get(1).map(|second| second.next());
            match first.take(into, bytes_max, through) {
                Taken::Messages(bytes) => return Ok(Some(Delivered { bytes, more: true })),
                Taken::All(position) if self.join(first, position) => {}
                Taken::All(_) => return Ok(None),
                Taken::Failed => return Err(Slow { sequence: self.head() }),
            }
        }
    }

    /// The record before which nothing is still to come from the journal, if anything is.
    pub(super) fn awaited(&self) -> Option<Sequence> {
        self.subscriptions.iter().filter_map(|of| Some(of.resuming.as_ref()?.next())).min()
    }

    fn all_resuming(&self) -> Vec<Arc<Resuming>> {
        let mut all: Vec<Arc<Resuming>> = Vec::new();
        for resuming in self.subscriptions.iter().filter_map(|of| of.resuming.as_ref()) {
            if !all.iter().any(|other| Arc::ptr_eq(other, resuming)) {
                all.push(Arc::clone(resuming));
            }
        }
        all
    }

    /// Has what was told up to a record go on from the rings; whether they reach back to it.
    fn join(&mut self, resuming: &Arc<Resuming>, position: Sequence) -> bool {
        let is_of = |of: &Subscription| {
            of.resuming.as_ref().is_some_and(|other| Arc::ptr_eq(other, resuming))
        };
        let group = self.subscriptions.iter().filter(|of| is_of(of));
        let cursors: Result<Vec<_>, _> =
            group.map(|of| of.ring.lock().cursor_after(position)).collect();
        let Ok(cursors) = cursors else {
            resuming.go_on(position, self.engine.watermark());
            return false;
        };
        let group = self.subscriptions.iter_mut().filter(|of| is_of(of));
        for (of, cursor) in group.zip(cursors) {
            (of.cursor, of.last) = (cursor, position);
            (of.resuming, of.is_evicted) = (None, false);
        }
        self.head = self.head.min(position);
        true
    }

    /// The record up to which all that catches up has been told, if anything does.
    pub(super) fn resumed(&self) -> Option<Sequence> {
        self.subscriptions.iter().filter_map(|of| Some(of.resuming.as_ref()?.taken())).min()
    }

    /// Has those that catch up together with one that has ended go on without it.
    pub(super) fn go_on_without(&mut self, ended: Option<Arc<Resuming>>) {
        let Some(ended) = ended else { return };
        let is_of = |of: &&mut Subscription| {
            of.resuming.as_ref().is_some_and(|other| Arc::ptr_eq(other, &ended))
        };
        let topics: Vec<_> =
            self.subscriptions.iter_mut().filter(is_of).map(|of| of.topic).collect();
        if topics.is_empty() {
            return;
        }
        let without = self.hub.resumers.instead(&ended, topics);
        let without = Arc::new(without);
        for of in self.subscriptions.iter_mut().filter(is_of) {
            of.resuming = Some(Arc::clone(&without));
        }
    }
}
