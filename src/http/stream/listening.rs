//! One connection's subscriptions: where it is in each ring, and the snapshots that it was not sent
//! yet.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use crossbeam_channel::Sender;

use super::announcing::Task;
use super::bell::Bell;
use super::channel::{Channel, MarketChannel, Markets, Topic};
use super::drawing::Drawing;
use super::gathered::Gathered;
use super::hub::Hub;
use super::message::{Asked, Delivered, Message, Slow, Subscribed};
use super::printing::message;
use super::resume::Resuming;
use super::ring::{Cursor, Evicted, Ring};
use super::snapshot;
use crate::auth::Caller;
use crate::problem::{FieldCode, FieldError, Kind, Problem};
use engine::Engine;
use engine::pending::Refusal;
use exchange::reject::Reject;
use exchange::units::Sequence;
use views::ReadModel;

/// Most channels of a connection; of all markets, as many as there are books.
pub const CHANNELS_MAX: usize = 1000;
/// Snapshots that are made while others wait for the read model.
const SNAPSHOTS_A_HOLD: usize = 16;
/// How far a connection may be behind.
pub const BEHIND_BYTES_MAX: u64 = 1 << 20;

/// One connection's subscriptions; dropping it gives everything back.
#[derive(Debug)]
pub struct Listening {
    pub(super) hub: Arc<Hub>,
    tasks: Sender<Task>,
    pub(super) engine: Engine,
    pub(super) bell: Arc<Bell>,
    pub(super) subscriptions: Vec<Subscription>,
    /// Everything up to this record was handed out.
    pub(super) head: Sequence,
    /// Of states, everything up to this record was.
    stated: Sequence,
}

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
    begins: Option<Begins>,
    /// Until that was handed out, everything before this record only.
    pub(super) owes_from: Option<Sequence>,
    /// The record of the last message handed out.
    pub(super) last: Sequence,
    /// Whether the ring does not reach back to where it is to go on.
    pub(super) is_evicted: bool,
    /// What comes from the journal before anything from the ring.
    pub(super) resuming: Option<Arc<Resuming>>,
}

/// How a channel begins, or goes on after what was left out.
#[derive(Debug)]
enum Begins {
    /// With a snapshot that is still to be made: not of all channels at once.
    Snapshot {
        /// The client has all up to this record, or up to the last message if it is too slow.
        seen: Option<Sequence>,
        /// Whether it is.
        conflated: bool,
    },
    /// With one that is being drawn.
    Drawing(Drawing),
}

impl Subscription {
    const fn is_drawn(&self) -> bool {
        matches!(self.begins, Some(Begins::Drawing(_)))
    }

    /// Notes that what it begins with is all there, or was handed out.
    pub(super) fn look_for_end(&mut self) {
        if self.begins.is_none() && self.first.is_empty() {
            self.owes_from = None;
        }
    }
}

impl Listening {
    pub(super) fn new(hub: Arc<Hub>, tasks: Sender<Task>, engine: Engine) -> Listening {
        let (bell, subscriptions) = (Arc::new(Bell::here()), Vec::new());
        let [head, stated] = [Sequence::ZERO; 2];
        Listening { hub, tasks, engine, bell, subscriptions, head, stated }
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
            return Err(Problem::invalid(vec![FieldError {
                field: "from".to_owned(),
                code: FieldCode::OutOfBounds,
                detail: format!("the last record is {now}").into(),
            }]));
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

    /// Has the snapshots made that are owed next, once those before them were taken: so many while
    /// others wait for the lock, or one that is drawn. What waits here for the reader is no more.
    fn make_snapshots(&mut self) -> Result<(), Slow> {
        let is_busy = |of: &Subscription| {
            // What comes from the journal is of earlier records.
            !of.first.is_empty() || of.is_drawn() || of.resuming.is_some()
        };
        let owed = |of: &Subscription| matches!(of.begins, Some(Begins::Snapshot { .. }));
        if !self.subscriptions.iter().any(owed) || self.subscriptions.iter().any(is_busy) {
            return Ok(());
        }
        let engine = self.engine.clone();
        let view = engine.read();
        let now = view.watermark();
        let (mut made, head) = (Vec::new(), self.head);
        let next = self.subscriptions.iter_mut().enumerate().filter(|(_, of)| owed(of));
        for (place, of) in next.take(SNAPSHOTS_A_HOLD) {
            if is_of_orders(of.topic) {
                if made.is_empty() {
                    let (drawing, asker) = Drawing::ask(now, &self.bell);
                    of.cursor = Cursor { next: of.ring.end(), after: now };
                    of.begins = Some(Begins::Drawing(drawing));
                    let task = Task::Draw(of.topic, of.channel, asker);
                    drop(view);
                    self.tasks.send(task).unwrap_or_default();
                    return Ok(());
                }
                break;
            }
            let Some(Begins::Snapshot { seen, conflated }) = of.begins.take() else { continue };
            of.cursor = Cursor { next: of.ring.end(), after: now };
            let mut facts = snapshot::of(&view, (of.topic, of.channel), engine.now());
            if let Some(seen) = seen {
                let missed = snapshot::check_missed(&view, of.topic, seen);
                missed.map_err(|_| Slow { sequence: head })?;
                facts.extend(snapshot::missed(&view, of.topic, seen, engine.now()));
            }
            made.push((place, conflated, facts));
        }
        drop(view);
        // The quotes that these snapshots show may not be those told last.
        self.hub.shared.begun.store(true, Ordering::SeqCst);
        for (place, conflated, facts) in made {
            let messages = facts.into_iter();
            let messages = messages.filter_map(|fact| message(&engine, fact, u64::MAX, conflated));
            if let Some(of) = self.subscriptions.get_mut(place) {
                of.first.extend(messages);
                of.look_for_end();
            }
        }
        self.reach(now);
        Ok(())
    }

    /// Has the hub say when it has come as far as a snapshot.
    fn reach(&self, record: Sequence) {
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
            return Ok(Some(delivered));
        }
        self.conflate()?;
        self.make_snapshots()?;
        let through = self.take_drawn(complete)?;
        let mut gathered = Gathered::default();
        for (index, subscription) in self.subscriptions.iter().enumerate() {
            // It waits for its snapshot, or for what comes from the journal.
            if subscription.begins.is_none() && subscription.resuming.is_none() {
                gathered.gather(index, subscription, through, bytes_max);
            }
        }
        let (delivered, head) =
            gathered.hand_out(&mut self.subscriptions, through, into, bytes_max);
        self.head = self.head.max(head);
        if !delivered.more {
            self.stated = self.stated.max(stated);
        }
        Ok((delivered.bytes > 0).then_some(delivered))
    }

    /// Takes the orders that were drawn, and returns how far messages can be handed out: nothing
    /// later than what is still to be drawn may come before it.
    fn take_drawn(&mut self, complete: Sequence) -> Result<Sequence, Slow> {
        let mut through = complete;
        for of in &mut self.subscriptions {
            let Some(Begins::Drawing(drawing)) = &of.begins else { continue };
            match drawing.drawn() {
                None => through = through.min(before(drawing.since)),
                Some(Err(_)) => return Err(Slow { sequence: self.head }),
                Some(Ok((at, messages))) => {
                    (of.begins, of.cursor.after) = (None, at);
                    of.first.extend(messages);
                    // A hub that has ended is noticed when messages are asked for.
                    let task = Task::Reached(at, Arc::clone(&self.bell));
                    self.tasks.send(task).unwrap_or_default();
                }
            }
        }
        Ok(through)
    }

    /// Replaces what a slow reader has not read by the latest state, where that is allowed.
    fn conflate(&mut self) -> Result<(), Slow> {
        let all = self.behind(|_| true);
        if all.is_ok_and(|bytes| bytes <= BEHIND_BYTES_MAX) {
            return Ok(());
        }
        self.check()?;
        let (now, since) = (self.engine.watermark(), self.head.next());
        let conflates = |of: &&mut Subscription| of.channel.conflates() && of.resuming.is_none();
        for of in self.subscriptions.iter_mut().filter(conflates) {
            let end = of.ring.end();
            if end != of.cursor.next && of.begins.is_none() {
                of.cursor = Cursor { next: end, after: now };
                of.first.clear();
                of.begins = Some(Begins::Snapshot { seen: Some(of.last), conflated: true });
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
        let counts =
            |of: &&Subscription| counts(of.channel) && of.resuming.is_none() && of.begins.is_none();
        for of in self.subscriptions.iter().filter(counts) {
            if of.ring.end() != of.cursor.next {
                bytes = bytes.saturating_add(of.ring.lock().behind(of.cursor)?);
            }
        }
        Ok(bytes)
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

const fn before(record: Sequence) -> Sequence {
    Sequence::new(record.get().saturating_sub(1))
}

/// Takes a reader's bell off a ring.
pub(super) fn leave(ring: &Ring, bell: &Arc<Bell>) {
    let mut state = ring.lock();
    if let Some(place) = state.readers.iter().position(|other| Arc::ptr_eq(other, bell)) {
        state.readers.swap_remove(place);
    }
}

/// Whether a topic begins with orders, which only the exchange has in their order.
const fn is_of_orders(topic: Topic) -> bool {
    matches!(
        topic,
        Topic::Market(MarketChannel::Orders, _) | Topic::EveryMarket(MarketChannel::Orders)
    )
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
