//! One connection's subscriptions: where it is in each ring, and the snapshots that it was not sent
//! yet.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use crossbeam_channel::Sender;

use super::announcing::Task;
use super::bell::Bell;
use super::channel::{Channel, Markets, Topic};
use super::gathered::Gathered;
use super::hub::Hub;
use super::message::{Asked, Delivered, Message, Slow, Subscribed};
use super::ring::{Cursor, Evicted, Ring};
use super::snapshot;
use super::subscription::{Begins, Subscription, is_of_orders};
use crate::auth::Caller;
use crate::problem::{FieldCode, FieldError, Kind, Problem};
use engine::Engine;
use engine::pending::Refusal;
use exchange::reject::Reject;
use exchange::units::Sequence;
use views::ReadModel;

/// Most channels of a connection; of all markets, as many as there are books.
pub const CHANNELS_MAX: usize = 1000;
/// How far a connection may be behind.
pub const BEHIND_BYTES_MAX: u64 = 1 << 20;

/// One connection's subscriptions; dropping it gives everything back.
#[derive(Debug)]
pub struct Listening {
    pub(super) hub: Arc<Hub>,
    pub(super) tasks: Sender<Task>,
    pub(super) engine: Engine,
    pub(super) bell: Arc<Bell>,
    pub(super) subscriptions: Vec<Subscription>,
    /// Everything up to this record was handed out.
    pub(super) head: Sequence,
    /// Of states, everything up to this record was.
    stated: Sequence,
    /// The record of the last message that was.
    told: Sequence,
}

impl Listening {
    pub(super) fn new(hub: Arc<Hub>, tasks: Sender<Task>, engine: Engine) -> Listening {
        let (bell, subscriptions) = (Arc::new(Bell::here()), Vec::new());
        let [head, stated, told] = [Sequence::ZERO; 3];
        Listening { hub, tasks, engine, bell, subscriptions, head, stated, told }
    }

    /// Subscribes to channels: to each from its snapshot on, or from after the record `from`. What
    /// came of each, in their order; the others stand where one is refused. A channel that is
    /// listened to already begins anew.
    pub fn subscribe(
        &mut self,
        caller: &Caller,
        channels: &[Channel],
        from: Option<Sequence>,
    ) -> Vec<Asked> {
        let engine = self.engine.clone();
        let view = engine.read();
        let now = view.watermark();
        let asked = channels.iter().map(|channel| {
            let sequence = self.begin(&view, caller, *channel, from)?;
            Ok(Subscribed { channel: *channel, sequence })
        });
        let mut asked: Vec<Asked> = asked.collect();
        drop(view);
        if let Some(from) = from {
            self.resume(&mut asked, from);
        }
        self.reach(now);
        asked
    }

    /// Begins one subscription; returns the record after which it is told of everything.
    fn begin(
        &mut self,
        view: &ReadModel,
        caller: &Caller,
        channel: Channel,
        from: Option<Sequence>,
    ) -> Result<Sequence, Problem> {
        channel.check(caller)?;
        let topic = topic_of(view, caller, channel)?;
        self.end(channel);
        let now = view.watermark();
        if from.is_some_and(|from| from > now) {
            return Err(out_of_bounds(format!("the last record is {now}")));
        }
        if self.subscriptions.len() >= CHANNELS_MAX {
            let detail = format!("a connection listens to {CHANNELS_MAX} channels at most");
            return Err(Problem::new(Kind::ChannelLimit, detail));
        }
        let seen = from;
        if let Some(seen) = seen {
            snapshot::check_missed(view, topic, seen)?;
        }
        // Of a state the latest is all that is missed.
        let from = from.filter(|_| !topic.tells_states());
        if from.is_some_and(|from| from < self.told) {
            let told = self.told;
            let detail = format!("messages up to record {told} were sent here: use another stream");
            return Err(out_of_bounds(detail));
        }
        if is_of_orders(topic) && from.is_none() {
            snapshot::check_orders(view, topic)?;
            if let Some(reason) = self.engine.halted() {
                return Err(Refusal::JournalUnavailable(reason).into());
            }
        }
        let shared = &self.hub.shared;
        let (ring, cursor) = shared.register(topic, &self.bell, now, from);
        let is_evicted = cursor.is_err();
        let begun = Cursor { next: 0, after: from.unwrap_or(now) };
        let cursor = cursor.unwrap_or(begun);
        let begins = from.is_none().then_some(Begins::Snapshot { seen, conflated: false });
        // Of states, all since the record up to which the client was told.
        let owes_from = from.is_none().then(|| seen.map_or(now, Sequence::next));
        let last = cursor.after;
        let first = VecDeque::new();
        self.subscriptions.push(Subscription {
            channel,
            topic,
            ring,
            cursor,
            first,
            begins,
            owes_from,
            last,
            is_evicted,
            resuming: None,
        });
        Ok(last)
    }

    /// Has the hub say when it has come as far as a snapshot.
    pub(super) fn reach(&self, record: Sequence) {
        // A hub that has ended is noticed when messages are asked for.
        let task = Task::Reached(record, Arc::clone(&self.bell));
        self.tasks.send(task).unwrap_or_default();
    }

    /// Ends subscriptions; what was not handed out of them is not any more.
    pub fn unsubscribe(&mut self, channels: &[Channel]) -> Vec<Result<(), Problem>> {
        let end = |channel: &Channel| {
            let ended = self.end(*channel);
            let detail = || format!("{channel} is not listened to");
            ended.then_some(()).ok_or_else(|| Problem::new(Kind::NotSubscribed, detail()))
        };
        channels.iter().map(end).collect()
    }

    pub(super) fn end(&mut self, channel: Channel) -> bool {
        let place = self.subscriptions.iter().position(|of| of.channel == channel);
        let Some(place) = place else { return false };
        let ended = self.subscriptions.remove(place);
        leave(&ended.ring, &self.bell);
        self.go_on_without(ended.resuming);
        true
    }

    /// The channels that are subscribed to.
    pub fn channels(&self) -> impl ExactSizeIterator<Item = Channel> {
        self.subscriptions.iter().map(|of| of.channel)
    }

    /// Appends the next messages in order, some `bytes_max` of them, but all of a record; pending
    /// if there is none, and then the task is woken when there is one.
    ///
    /// # Errors
    /// The reader is too slow for a channel of which nothing may be left out.
    pub fn poll_messages(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<Arc<Message>>,
        bytes_max: usize,
    ) -> Poll<Result<Delivered, Slow>> {
        if let Some(delivered) = self.take(into, bytes_max)? {
            return Poll::Ready(Ok(delivered));
        }
        self.bell.hang(cx);
        // What came before the bell hung rang for nobody.
        match self.take(into, bytes_max)? {
            Some(delivered) => Poll::Ready(Ok(delivered)),
            None => Poll::Pending,
        }
    }

    fn take(
        &mut self,
        into: &mut Vec<Arc<Message>>,
        bytes_max: usize,
    ) -> Result<Option<Delivered>, Slow> {
        let shared = Arc::clone(&self.hub.shared);
        if shared.ended.load(Ordering::SeqCst) {
            return Err(self.slow());
        }
        let stated = shared.stated();
        let complete = shared.complete();
        if let Some(delivered) = self.take_resumed(into, bytes_max)? {
            self.note_told(into);
            return Ok(Some(delivered));
        }
        self.conflate()?;
        self.make_snapshots()?;
        let through = self.take_drawn(complete)?;
        // What is still to come from the journal comes before all that is later.
        let through = self.awaited().map_or(through, |next| through.min(before(next)));
        let mut gathered = Gathered::default();
        for (index, subscription) in self.subscriptions.iter().enumerate() {
            // It waits for its snapshot, or for what comes from the journal.
            if subscription.is_told() {
                gathered.gather(index, subscription, through, bytes_max);
            }
        }
        let (delivered, head) =
            gathered.hand_out(&mut self.subscriptions, through, into, bytes_max);
        self.note_told(into);
        self.head = self.head.max(head);
        if !delivered.more {
            self.stated = self.stated.max(stated);
        }
        Ok((delivered.bytes > 0).then_some(delivered))
    }

    /// Replaces what a slow reader has not read by the latest state, where that is allowed.
    fn conflate(&mut self) -> Result<(), Slow> {
        let all = self.behind(|_| true);
        if all.is_ok_and(|bytes| bytes <= BEHIND_BYTES_MAX) {
            return Ok(());
        }
        self.check()?;
        let (now, since) = (self.engine.watermark(), self.head.next());
        let conflates = |of: &&mut Subscription| of.channel.conflates();
        for of in self.subscriptions.iter_mut().filter(conflates) {
            let end = of.ring.end();
            if end != of.cursor.next && of.is_told() {
                // Of the books that were still to be shown nothing is known.
                let seen = of.begins.is_none().then_some(of.last);
                of.cursor = Cursor { next: end, after: now };
                of.first.clear();
                of.begins = Some(Begins::Snapshot { seen, conflated: true });
                of.owes_from = of.owes_from.or(Some(since));
            }
        }
        Ok(())
    }

    /// Whether the reader is too slow, to be asked while nothing is taken from it.
    ///
    /// # Errors
    /// It is.
    pub fn check(&self) -> Result<(), Slow> {
        match self.behind(|channel| !channel.conflates()) {
            Ok(bytes) if bytes <= BEHIND_BYTES_MAX => Ok(()),
            Ok(_) | Err(Evicted) => Err(self.slow()),
        }
    }

    /// Bytes that wait in the rings of some channels.
    fn behind(&self, counts: impl Fn(Channel) -> bool) -> Result<u64, Evicted> {
        let mut bytes = 0_u64;
        if self.subscriptions.iter().any(Subscription::is_drawn) {
            // It is the reader who waits.
            return Ok(bytes);
        }
        // What is before a snapshot that is not there yet does not wait for the reader.
        let counts = |of: &&Subscription| counts(of.channel) && of.is_told();
        for of in self.subscriptions.iter().filter(counts) {
            if of.ring.end() != of.cursor.next {
                bytes = bytes.saturating_add(of.ring.lock().behind(of.cursor)?);
            }
        }
        Ok(bytes)
    }

    fn note_told(&mut self, into: &[Arc<Message>]) {
        self.told = self.told.max(into.last().map_or(Sequence::ZERO, |last| last.sequence));
    }

    fn slow(&self) -> Slow {
        Slow { sequence: self.head() }
    }

    /// Everything up to this record that concerns the connection was handed out.
    pub fn head(&self) -> Sequence {
        let head = self.resumed().map_or(self.head, |resumed| resumed.min(self.head));
        let owed = |of: &Subscription| of.owes_from.map(before);
        let head = self.subscriptions.iter().filter_map(owed).fold(head, Sequence::min);
        let has_states = self.subscriptions.iter().any(|of| of.topic.tells_states());
        if has_states { head.min(self.stated) } else { head }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        for of in &self.subscriptions {
            leave(&of.ring, &self.bell);
        }
    }
}

fn out_of_bounds(detail: String) -> Problem {
    let (field, code) = ("from".to_owned(), FieldCode::OutOfBounds);
    Problem::invalid(vec![FieldError { field, code, detail: detail.into() }])
}

pub(super) const fn before(record: Sequence) -> Sequence {
    Sequence::new(record.get().saturating_sub(1))
}

/// Takes a reader's bell off a ring.
pub(super) fn leave(ring: &Ring, bell: &Arc<Bell>) {
    let mut state = ring.lock();
    if let Some(place) = state.readers.iter().position(|other| Arc::ptr_eq(other, bell)) {
        state.readers.swap_remove(place);
    }
}

/// What a channel is about.
fn topic_of(view: &ReadModel, caller: &Caller, channel: Channel) -> Result<Topic, Problem> {
    Ok(match channel {
        Channel::Markets => Topic::Catalogue,
        Channel::Account => Topic::Account(caller.user),
        Channel::Journal => Topic::Journal,
        Channel::Of(kind, Markets::All) => Topic::EveryMarket(kind),
        Channel::Of(kind, Markets::One(id)) => {
            let market = view.catalogue.market_no(id);
            let row = market.and_then(|market| view.catalogue.market(market));
            let row = row.filter(|row| row.status.public());
            Topic::Market(kind, row.ok_or_else(|| Problem::of(Reject::MarketNotFound))?.no)
        }
    })
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/listening.rs"]
mod tests;
