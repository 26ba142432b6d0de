//! The hub's thread: prints facts into the rings and rings the bells, turn by turn.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use rustc_hash::{FxHashMap, FxHashSet};

use super::announcing::Task;
use super::bell::Bell;
use super::build::{Fact, Facts, Told};
use super::channel::{Channel, MarketChannel, Markets, Topic};
use super::draft::Drafts;
use super::message::Message;
use super::printing::message;
use super::ring::Ring;
use super::rings::Shared;
use super::snapshot;
use engine::Engine;
use exchange::command::Direction;
use exchange::ids::MarketNo;
use exchange::units::Sequence;
use views::changes::Changed;
use views::depth::{Level, Quote};

/// Most bytes of messages in all rings.
const ALL_RINGS_BYTES_MAX: u64 = 64 << 20;
/// How long a ring lives on without a reader, for those that come back.
const IDLE_MAX: Duration = Duration::from_mins(1);
/// A market's quote is told four times a second at most.
const QUOTE_EVERY: Duration = Duration::from_millis(250);
/// Markets whose quotes are looked up while the read model's lock is held once.
const QUOTES_A_LOOK: usize = 64;
/// How often the rings are looked through, and the time is told that nothing happens.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Tasks done before those who wait for them are woken.
const TASKS_A_TURN: usize = 64;

/// The thread's state.
#[derive(Debug)]
pub struct Turns {
    shared: Arc<Shared>,
    tasks: Receiver<Task>,
    /// The other end.
    to_itself: Sender<Task>,
    engine: Engine,
    /// The place of the next message among all.
    order: u64,
    /// Bytes in all rings.
    bytes: u64,
    /// Rings that are not empty, each once, by their oldest message when they were noted.
    oldest: BinaryHeap<Reverse<(u64, Topic)>>,
    noted: FxHashSet<Topic>,
    /// Markets whose quote may have changed, each after this record, and when those told lately may
    /// be told again.
    quotes: BTreeMap<MarketNo, Sequence>,
    quoted: FxHashMap<MarketNo, Instant>,
    /// What was told last of each market's quote, since anybody began to listen.
    shown: FxHashMap<MarketNo, Shown>,
    /// Snapshots that are drawn.
    drafts: Drafts,
    /// A task taken too early.
    stash: Option<Task>,
    /// Everything up to this record was lost or is in the rings.
    lost: Sequence,
    swept: Instant,
    /// Rings that got something in this turn.
    touched: FxHashMap<Topic, Arc<Ring>>,
    bells: Vec<Arc<Bell>>,
}

/// What is told of a market's quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shown {
    quote: Quote,
    best: [Option<Level>; 2],
}

/// Whether the thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Going {
    On,
    Ended,
}

/// Whoever listens is told when the thread ends, even by a panic.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::SeqCst);
        let rings: Vec<Arc<Ring>> = self.0.with_rings(|rings| rings.values().cloned().collect());
        let mut wakers = Vec::new();
        for ring in rings {
            wakers.extend(ring.lock().readers.iter().filter_map(|bell| bell.ring()));
        }
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Turns {
    /// Before its first turn.
    pub fn new(
        shared: Arc<Shared>,
        (to_itself, tasks): (Sender<Task>, Receiver<Task>),
        engine: Engine,
    ) -> Turns {
        Turns {
            shared,
            tasks,
            to_itself,
            engine,
            order: 0,
            bytes: 0,
            oldest: BinaryHeap::new(),
            noted: FxHashSet::default(),
            quotes: BTreeMap::new(),
            quoted: FxHashMap::default(),
            shown: FxHashMap::default(),
            drafts: Drafts::new(),
            stash: None,
            lost: Sequence::ZERO,
            swept: Instant::now(),
            touched: FxHashMap::default(),
            bells: Vec::new(),
        }
    }

    /// Turns, until nobody can listen any more.
    pub fn run(mut self) {
        let _ending = Ending(Arc::clone(&self.shared));
        while self.turn() == Going::On {}
    }

    fn turn(&mut self) -> Going {
        let first = match self.stash.take() {
            Some(task) => Ok(task),
            None => self.tasks.recv_timeout(self.pause()),
        };
        match first {
            Ok(task) => {
                let mut next = Some(task);
                for _ in 0..TASKS_A_TURN {
                    let Some(task) = next else { break };
                    if self.take(task) == Going::Ended {
                        return Going::Ended;
                    }
                    next = self.tasks.try_recv().ok();
                }
                self.stash = next;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Going::Ended,
        }
        self.look_for_losses();
        self.drafts.go_on(&self.engine, &self.to_itself);
        let going = self.tell_quotes();
        if self.swept.elapsed() >= SWEEP_EVERY {
            self.sweep();
        }
        let untold = self.quotes.values().min().copied();
        self.shared.set_stated(untold.unwrap_or(self.shared.complete()));
        self.wake();
        going
    }

    /// How long to wait for the next task.
    fn pause(&self) -> Duration {
        let now = Instant::now();
        let due = |market: &MarketNo| self.quoted.get(market).copied().unwrap_or(now);
        let next = self.quotes.keys().map(due).chain(self.drafts.due()).min();
        next.map_or(SWEEP_EVERY, |next| next.saturating_duration_since(now).min(SWEEP_EVERY))
    }

    fn take(&mut self, task: Task) -> Going {
        match task {
            Task::Tell(facts, through) => self.tell(facts, through),
            Task::Reached(through, bell) => {
                // Nobody may be told that all is there up to a record whose facts were lost.
                self.look_for_losses();
                self.shared.set_complete(through);
                self.bells.push(bell);
            }
            Task::Draw(topic, channel, asker) => self.drafts.ask(topic, channel, asker),
            Task::Copied(number, slice) => {
                self.look_for_losses();
                let wakers = self.drafts.take(number, slice, &self.engine);
                wakers.into_iter().for_each(Waker::wake);
            }
            Task::End => return Going::Ended,
        }
        Going::On
    }

    fn tell(&mut self, facts: Facts, through: Sequence) {
        self.look_for_losses();
        self.shared.waiting.fetch_sub(facts.count(), Ordering::SeqCst);
        let before = self.shared.complete();
        for market in facts.quotes {
            self.quotes.entry(market).or_insert(before);
        }
        for fact in facts.facts {
            if fact.at.0 > self.lost {
                self.drafts.see(&fact);
                self.hand_out(fact);
            }
        }
        self.shared.set_complete(through);
    }

    /// Prints a fact into the rings that it belongs to.
    fn hand_out(&mut self, fact: Fact) {
        let topic = fact.topic;
        let every = match topic {
            Topic::Market(channel, _) => Some(Topic::EveryMarket(channel)),
            _ => None,
        };
        let rings: Vec<(Topic, Arc<Ring>)> = self.shared.with_rings(|rings| {
            let ring = |topic| Some((topic, Arc::clone(rings.get(&topic)?)));
            [Some(topic), every].into_iter().flatten().filter_map(ring).collect()
        });
        if rings.is_empty() {
            return;
        }
        self.order = self.order.saturating_add(1);
        let Some(message) = message(&self.engine, fact, self.order, false) else { return };
        for (topic, ring) in rings {
            self.append(topic, ring, Arc::clone(&message));
        }
    }

    fn append(&mut self, topic: Topic, ring: Arc<Ring>, message: Arc<Message>) {
        let (order, bytes) = (message.order, message.text.len() as u64);
        let evicted = ring.append(message);
        self.bytes = self.bytes.saturating_add(bytes).saturating_sub(evicted);
        if self.noted.insert(topic) {
            self.oldest.push(Reverse((order, topic)));
        }
        self.touched.insert(topic, ring);
        while self.bytes > ALL_RINGS_BYTES_MAX && self.evict_oldest() {}
    }

    /// Evicts the oldest message of all rings; false if there is none.
    fn evict_oldest(&mut self) -> bool {
        let Some(Reverse((noted, topic))) = self.oldest.pop() else { return false };
        let ring = self.shared.with_rings(|rings| rings.get(&topic).cloned());
        let mut state = ring.as_ref().map(|ring| ring.lock());
        let oldest = state.as_ref().and_then(|state| state.oldest());
        if let (Some(state), true) = (&mut state, oldest == Some(noted)) {
            self.bytes = self.bytes.saturating_sub(state.evict());
        }
        match state.and_then(|state| state.oldest()) {
            Some(oldest) => self.oldest.push(Reverse((oldest, topic))),
            None => drop(self.noted.remove(&topic)),
        }
        true
    }

    /// Breaks all rings off at what the matcher could not pass on.
    fn look_for_losses(&mut self) {
        let lost = Sequence::new(self.shared.lost.load(Ordering::SeqCst));
        if lost <= self.lost {
            return;
        }
        self.lost = lost;
        tracing::warn!(
            through = lost.get(),
            "the stream's hub fell behind: its readers go on anew"
        );
        let rings: Vec<_> = self.shared.with_rings(|rings| {
            rings.iter().map(|(topic, ring)| (*topic, Arc::clone(ring))).collect()
        });
        for (topic, ring) in rings {
            self.bytes = self.bytes.saturating_sub(ring.break_off(lost));
            self.touched.insert(topic, ring);
        }
        self.drafts.begin_anew();
        self.shared.set_complete(lost);
    }

    /// Tells the state of markets whose quote may have changed, if their time has come.
    fn tell_quotes(&mut self) -> Going {
        let now = Instant::now();
        let due = |market: &&MarketNo| self.quoted.get(*market).is_none_or(|due| *due <= now);
        let markets: Vec<MarketNo> =
            self.quotes.keys().filter(due).take(QUOTES_A_LOOK).copied().collect();
        if markets.is_empty() {
            return Going::On;
        }
        let (told, at) = self.look(&markets);
        let since = markets.iter().filter_map(|market| self.quotes.get(market)).min().copied();
        let since = since.unwrap_or_default();
        for market in &markets {
            self.quotes.remove(market);
            self.quoted.insert(*market, now.checked_add(QUOTE_EVERY).unwrap_or(now));
        }
        // What was told up to the state's record comes before the state.
        while let Some(task) = self.stash.take().or_else(|| self.tasks.try_recv().ok()) {
            match task {
                Task::Tell(_, through) | Task::Reached(through, _) if through > at => {
                    self.stash = Some(task);
                    break;
                }
                task => {
                    if self.take(task) == Going::Ended {
                        return Going::Ended;
                    }
                }
            }
        }
        self.look_for_losses();
        if at < self.shared.complete() {
            // Something was lost meanwhile: they are looked at again.
            self.quotes.extend(markets.into_iter().map(|market| (market, since)));
            return Going::On;
        }
        for fact in told {
            self.hand_out(fact);
        }
        self.shared.set_complete(at);
        Going::On
    }

    /// What the topics that tell states have to tell of these markets, and the record as of which.
    fn look(&mut self, markets: &[MarketNo]) -> (Vec<Fact>, Sequence) {
        let view = self.engine.read();
        let at = (view.watermark(), view.time());
        let topics = self.shared.watched.read();
        // Whoever has begun to listen since may have seen something else.
        if self.shared.begun.swap(false, Ordering::SeqCst) {
            self.shown.clear();
        }
        let mut told = Vec::new();
        let rows = markets.iter().filter_map(|market| view.catalogue.market(*market));
        for row in rows.filter(|row| row.status.public()) {
            let has = |channel: MarketChannel| topics.of_market(row.no) & channel.bit() != 0;
            let best = [Direction::Up, Direction::Down].map(|side| view.book(row.no, side).next());
            let now = Shown { quote: view.quote(row), best };
            let before = self.shown.insert(row.no, now);
            let quoted = before.is_none_or(|before| before.quote != now.quote);
            let [market, stats] = snapshot::state(&view, row, self.engine.now());
            let changes = view.changes.of_market(row.no);
            let mut add = |kind, changed: Changed, told_now| {
                let (topic, channel) = match kind {
                    Some(kind) => {
                        (Topic::Market(kind, row.no), Channel::Of(kind, Markets::One(row.id)))
                    }
                    None => (Topic::Catalogue, Channel::Markets),
                };
                let previous = changed.prior(at.0);
                told.push(Fact { topic, channel, at, previous, told: told_now });
            };
            if has(MarketChannel::Top) && before.is_none_or(|before| before.best != now.best) {
                let top = Told::Body(snapshot::top(&view, row.no));
                add(Some(MarketChannel::Top), changes.top, top);
            }
            if has(MarketChannel::Market) {
                if quoted {
                    let [market, _] = snapshot::state(&view, row, self.engine.now());
                    add(Some(MarketChannel::Market), changes.all, market);
                }
                add(Some(MarketChannel::Market), changes.all, stats);
            }
            if topics.has_catalogue() && quoted {
                add(None, view.changes.of_catalogue(), market);
            }
        }
        (told, at.0)
    }

    /// Takes out rings that nobody reads, and notes that everything is told.
    fn sweep(&mut self) {
        let now = Instant::now();
        self.swept = now;
        self.quoted.retain(|_, due| *due > now);
        let freed = Cell::new(0_u64);
        self.shared.sweep(|ring| {
            let mut state = ring.lock();
            if !state.readers.is_empty() {
                return false;
            }
            let since = *state.idle_since.get_or_insert(now);
            let old = now.saturating_duration_since(since) >= IDLE_MAX;
            if old {
                freed.set(freed.get().saturating_add(state.held()));
            }
            old
        });
        self.bytes = self.bytes.saturating_sub(freed.get());
        let published = self.engine.watermark();
        if self.shared.has_all_sent() {
            self.shared.set_complete(published);
        }
    }

    /// Wakes whoever waits for what this turn brought.
    fn wake(&mut self) {
        let mut wakers: Vec<Waker> = Vec::new();
        for ring in std::mem::take(&mut self.touched).into_values() {
            wakers.extend(ring.lock().readers.iter().filter_map(|bell| bell.ring()));
        }
        wakers.extend(self.bells.drain(..).filter_map(|bell| bell.ring()));
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/turn.rs"]
mod tests;
