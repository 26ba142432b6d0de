//! One connection's subscriptions: where it is in each ring, and the snapshots that it was not sent
//! yet.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use crossbeam_channel::Sender;

use super::announcing::Task;
use super::bell::Bell;
use super::build::Fact;
use super::channel::{Channel, MarketChannel, Markets, Topic};
use super::drawing::{Drawing, draw};
use super::gathered::Gathered;
use super::hub::Hub;
use super::message::{Asked, Delivered, Message, Slow, Subscribed};
use super::printing::print;
use super::resume::Resuming;
use super::ring::{Cursor, Evicted, Ring};
use super::snapshot;
use crate::auth::Caller;
use crate::problem::{FieldCode, FieldError, Kind, Problem};
use engine::Engine;
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
    /// What it waits for before that.
    drawing: Option<Drawing>,
    /// The record of the last message handed out.
    pub(super) last: Sequence,
    /// Whether the ring does not reach back to where it is to go on.
    pub(super) is_evicted: bool,
    /// What comes from the journal before anything from the ring.
    pub(super) resuming: Option<Arc<Resuming>>,
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
        let mut snapshots = Vec::new();
        let view = engine.read();
        let now = view.watermark();
        let asked = channels.iter().map(|channel| {
            let begun = self.begin(&view, caller, *channel, from)?;
            snapshots.extend(begun);
            let last = self.subscriptions.last().map_or(now, |last| last.cursor.after);
            Ok(Subscribed { channel: *channel, sequence: last })
        });
        let mut asked: Vec<Asked> = asked.collect();
        drop(view);
        if let Some(from) = from {
            self.resume(&mut asked, from);
        }
        for (channel, facts) in snapshots {
            self.add_first(channel, facts, None);
        }
        self.reach(now);
        asked
    }

    /// Begins one subscription; returns its snapshot, if it needs one that was not asked for
    /// elsewhere.
    fn begin(
        &mut self,
        view: &ReadModel,
        caller: &Caller,
        channel: Channel,
        from: Option<Sequence>,
    ) -> Result<Option<(Channel, Vec<Fact>)>, Problem> {
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
        // Of a state the latest is all that is missed.
        let clock = self.engine.now();
        let missed = from.map(|from| snapshot::missed(view, topic, from, clock)).transpose()?;
        let from = from.filter(|_| !topic.tells_states());
        let is_drawn = is_of_orders(topic) && from.is_none();
        if is_drawn {
            snapshot::check_orders(view, topic)?;
        }
        let shared = &self.hub.shared;
        let (ring, cursor) = shared.register(topic, &self.bell, now, from);
        let is_evicted = cursor.is_err();
        let begun = Cursor { next: 0, after: from.unwrap_or(now) };
        let cursor = cursor.unwrap_or(begun);
        let drawing = if is_drawn {
            let drawing = draw(&self.engine, &self.bell, topic, channel, now);
            Some(drawing.inspect_err(|_| leave(&ring, &self.bell))?)
        } else {
            None
        };
        let last = cursor.after;
        let first = VecDeque::new();
        self.subscriptions.push(Subscription {
            channel,
            topic,
            ring,
            cursor,
            first,
            drawing,
            last,
            is_evicted,
            resuming: None,
        });
        let snapshot = from.is_none() && !is_drawn;
        let mut facts = snapshot.then(|| snapshot::of(view, (topic, channel), clock));
        if let Some(facts) = &mut facts {
            facts.extend(missed.into_iter().flatten());
        }
        Ok(facts.map(|facts| (channel, facts)))
    }

    /// Puts a snapshot before what is read from a channel's ring. One that stands for what was left
    /// out names the record of the `last` message as the one before.
    fn add_first(&mut self, channel: Channel, facts: Vec<Fact>, last: Option<Sequence>) {
        let of = self.subscriptions.iter_mut().find(|of| of.channel == channel);
        let Some(subscription) = of else { return };
        for fact in facts {
            let previous = last.unwrap_or(fact.previous);
            let sequence = fact.at.0;
            let text = print(&self.engine, Fact { previous, ..fact }, last.is_some());
            let message = text.map(|text| Arc::new(Message { sequence, order: u64::MAX, text }));
            subscription.first.extend(message);
        }
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
        let through = self.take_drawn(shared.complete())?;
        if let Some(delivered) = self.take_resumed(into, bytes_max)? {
            return Ok(Some(delivered));
        }
        self.conflate()?;
        let mut gathered = Gathered::default();
        for (index, subscription) in self.subscriptions.iter().enumerate() {
            // It waits for its snapshot, or for what comes from the journal.
            if subscription.drawing.is_none() && subscription.resuming.is_none() {
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
        let mut drawn = Vec::new();
        for subscription in &mut self.subscriptions {
            let Some(drawing) = &subscription.drawing else { continue };
            match drawing.drawn() {
                None => {
                    // The head stays before it, too.
                    let before = drawing.since.get().saturating_sub(1);
                    through = through.min(Sequence::new(before));
                }
                Some(Err(_)) => return Err(Slow { sequence: self.head }),
                Some(Ok((at, facts))) => {
                    subscription.drawing = None;
                    subscription.cursor.after = at;
                    drawn.push((subscription.channel, at, facts));
                }
            }
        }
        for (channel, at, facts) in drawn {
            self.add_first(channel, facts, None);
            self.reach(at);
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
        let engine = self.engine.clone();
        let view = engine.read();
        let now = view.watermark();
        let mut snapshots = Vec::new();
        let conflates = |of: &&mut Subscription| of.channel.conflates() && of.resuming.is_none();
        for of in self.subscriptions.iter_mut().filter(conflates) {
            let state = of.ring.lock();
            if state.end() == of.cursor.next {
                continue;
            }
            of.cursor = Cursor { next: state.end(), after: now };
            drop(state);
            of.first.clear();
            let mut facts = snapshot::of(&view, (of.topic, of.channel), engine.now());
            let missed = snapshot::missed(&view, of.topic, of.last, engine.now());
            facts.extend(missed.map_err(|_| Slow { sequence: self.head })?);
            snapshots.push((of.channel, facts, of.last));
        }
        drop(view);
        // The quotes that this snapshot shows may not be those told last.
        self.hub.shared.begun.store(true, Ordering::SeqCst);
        for (channel, facts, last) in snapshots {
            self.add_first(channel, facts, Some(last));
        }
        self.reach(now);
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
        let counts = |of: &&Subscription| counts(of.channel) && of.resuming.is_none();
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
