//! Drafts: snapshots of orders, copied from the exchange a slice at a time: no command waits for a
//! whole book. What happens to the levels that were copied already is applied to the copy, so that
//! in the end all of it is as of one record.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::thread::Builder;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use rustc_hash::FxHashMap;

use super::announcing::Task;
use super::build::{Fact, Told};
use super::channel::{Channel, MarketChannel, Topic};
use super::drawing::Asker;
use super::message::Message;
use super::printing::message;
use super::snapshot;
use crate::wire::stream::{Body, OnBook, OrderOnBookJson, OrdersOnBookJson};
use engine::Engine;
use engine::background::give_way;
use engine::matcher::Trying;
use engine::pending::Refusal;
use exchange::Exchange;
use exchange::command::Direction;
use exchange::ids::{MarketNo, OrderNo};
use exchange::orders::Order;
use exchange::units::{Lots, Sequence, Tick, TimeMs};

/// Orders copied while commands wait, but for the rest of a level: some hundred microseconds.
const SLICE_ORDERS: usize = 1024;
/// Markets looked at meanwhile.
const SLICE_MARKETS: usize = 4096;
/// How long the exchange is left alone after a draft, in times of what that took.
const REST: u32 = 4;
/// How long to wait if it has no room for another trial.
const AGAIN: Duration = Duration::from_millis(10);
/// A draft with more orders is printed by a thread of its own: others do not wait for it.
const PRINTED_HERE_MAX: usize = 1024;
const SIDES: [Direction; 2] = [Direction::Up, Direction::Down];

/// All drafts, of which the first is drawn.
#[derive(Debug)]
pub struct Drafts {
    waiting: VecDeque<Draft>,
    rest_until: Instant,
    /// Of the first draft, to know its slices by.
    number: u64,
    /// Whether there was no room to pass a slice on.
    is_lost: Arc<AtomicBool>,
}

/// A draft.
#[derive(Debug)]
struct Draft {
    topic: Topic,
    channel: Channel,
    askers: Vec<Asker>,
    /// How far its slices have come.
    place: Place,
    /// Whether one is being copied.
    is_asked: bool,
    levels: BTreeMap<Level, Vec<(OrderNo, Lots)>>,
    places: FxHashMap<OrderNo, Level>,
    worked: Duration,
}

/// A price level: its market, whether it is of the asks, and its rank from the best price on.
type Level = (MarketNo, bool, u8);

/// What was copied: all before this market, and of it this level and those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    market: MarketNo,
    level: Option<Level>,
}

/// A slice.
#[derive(Debug)]
pub struct Slice {
    levels: Vec<(Level, Vec<(OrderNo, Lots)>)>,
    place: Place,
    took: Duration,
    /// If it is the last: what it is all as of.
    end: Option<End>,
}

/// The end of a draft: its record, what comes before the orders, and the books.
#[derive(Debug)]
struct End {
    at: (Sequence, TimeMs),
    begin: Vec<Fact>,
    books: Vec<(Topic, Channel, Sequence)>,
}

fn level(market: MarketNo, side: Direction, price: Tick) -> Level {
    match side {
        Direction::Up => (market, false, u8::MAX.saturating_sub(price.get())),
        Direction::Down => (market, true, price.get()),
    }
}

impl Place {
    fn has(self, level: Level) -> bool {
        level.0 < self.market || self.level.is_some_and(|last| level <= last)
    }
}

impl Drafts {
    /// None.
    pub fn new() -> Drafts {
        let (waiting, is_lost) = (VecDeque::new(), Arc::default());
        Drafts { waiting, rest_until: Instant::now(), number: 0, is_lost }
    }

    /// Adds who asks for a topic's orders, after the last record that was told.
    pub fn ask(&mut self, topic: Topic, channel: Channel, asker: Asker) {
        if let Some(draft) = self.waiting.iter_mut().find(|draft| draft.topic == topic) {
            return draft.askers.push(asker);
        }
        self.waiting.push_back(Draft::of(topic, channel, vec![asker]));
    }

    /// Applies what is told of an order.
    pub fn see(&mut self, fact: &Fact) {
        if let (Some(draft), Told::Body(body)) = (self.waiting.front_mut(), &fact.told)
            && let Topic::Market(MarketChannel::Orders, market) = fact.topic
            && let Some(change) = body.on_book()
            && [fact.topic, Topic::EveryMarket(MarketChannel::Orders)].contains(&draft.topic)
        {
            draft.change(market, change);
        }
    }

    /// Begins the first one anew: something was lost.
    pub fn begin_anew(&mut self) {
        self.number = self.number.saturating_add(1);
        if let Some(draft) = self.waiting.front_mut() {
            *draft = Draft::of(draft.topic, draft.channel, std::mem::take(&mut draft.askers));
        }
    }

    /// When there is more to copy, if there is.
    pub fn due(&self) -> Option<Instant> {
        self.waiting.front().filter(|draft| !draft.is_asked).map(|_| self.rest_until)
    }

    /// Has the next slice copied, if it is due.
    pub fn go_on(&mut self, engine: &Engine, tasks: &Sender<Task>) {
        if self.is_lost.swap(false, Ordering::SeqCst) {
            self.begin_anew();
        }
        let (now, number) = (Instant::now(), self.number);
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        let Some(draft) = self.waiting.front_mut() else { return };
        let (tasks, is_lost) = (tasks.clone(), Arc::clone(&self.is_lost));
        let copying = Copying { number, tasks, slice: None, is_lost };
        let (topic, channel, place) = (draft.topic, draft.channel, draft.place);
        match engine.try_out(move |trying| copying.copy(trying, (topic, channel), place)) {
            Ok(()) => draft.is_asked = true,
            Err(Refusal::Overloaded) => self.rest_until = now.checked_add(AGAIN).unwrap_or(now),
            // All who ask are told.
            Err(_) => self.waiting.clear(),
        }
    }

    /// Takes a slice, or that there will be none; returns whom to wake.
    pub fn take(&mut self, number: u64, slice: Option<Box<Slice>>, engine: &Engine) -> Vec<Waker> {
        if number != self.number {
            return Vec::new();
        }
        let (Some(slice), Some(draft)) = (slice, self.waiting.front_mut()) else {
            self.waiting.clear();
            return Vec::new();
        };
        let Slice { levels, place, took, end, .. } = *slice;
        draft.add(levels);
        (draft.place, draft.is_asked) = (place, false);
        draft.worked = draft.worked.saturating_add(took);
        let rest = if end.is_some() { draft.worked.saturating_mul(REST) } else { took };
        let now = Instant::now();
        self.rest_until = now.checked_add(rest).unwrap_or(now);
        let Some(end) = end else { return Vec::new() };
        self.number = self.number.saturating_add(1);
        self.waiting.pop_front().map(|draft| draft.finish(end, engine)).unwrap_or_default()
    }
}

impl Draft {
    fn of(topic: Topic, channel: Channel, askers: Vec<Asker>) -> Draft {
        Draft {
            topic,
            channel,
            askers,
            place: Place { market: topic.market().unwrap_or(MarketNo(0)), level: None },
            is_asked: false,
            levels: BTreeMap::new(),
            places: FxHashMap::default(),
            worked: Duration::ZERO,
        }
    }

    fn add(&mut self, levels: Vec<(Level, Vec<(OrderNo, Lots)>)>) {
        for (level, orders) in levels {
            self.places.extend(orders.iter().map(|(order, _)| (*order, level)));
            self.levels.insert(level, orders);
        }
    }

    fn change(&mut self, market: MarketNo, change: OnBook) {
        match change {
            OnBook::Added(order, side, price, quantity) => {
                let level = level(market, side, price);
                if self.place.has(level) {
                    self.places.insert(OrderNo(order), level);
                    self.levels.entry(level).or_default().push((OrderNo(order), quantity));
                }
            }
            OnBook::Left(order, left) => {
                let order = OrderNo(order);
                let Some(orders) = self.places.get(&order).and_then(|of| self.levels.get_mut(of))
                else {
                    return;
                };
                if left.is_zero() {
                    orders.retain(|(other, _)| *other != order);
                    self.places.remove(&order);
                } else if let Some(it) = orders.iter_mut().find(|(other, _)| *other == order) {
                    it.1 = left;
                }
            }
            OnBook::Cleared => {
                let of = (market, false, 0)..=(market, true, u8::MAX);
                for level in self.levels.range(of).map(|(level, _)| *level).collect::<Vec<_>>() {
                    self.levels.remove(&level);
                }
                self.places.retain(|_, of| of.0 != market);
            }
        }
    }

    /// Gives it to all who asked.
    fn finish(self, end: End, engine: &Engine) -> Vec<Waker> {
        let Draft { topic, askers, levels, places, .. } = self;
        let End { at, begin, books } = end;
        let engine = engine.clone();
        let print = move || {
            let orders = |(book, channel, previous): (Topic, Channel, Sequence)| {
                let market = book.market().unwrap_or(MarketNo(0));
                let of = levels.range((market, false, 0)..=(market, true, u8::MAX));
                let order = |(level, orders): (&Level, &Vec<(OrderNo, Lots)>)| {
                    let (_, is_ask, rank) = *level;
                    let side = if is_ask { Direction::Down } else { Direction::Up };
                    let price = Tick::new(if is_ask { rank } else { u8::MAX.saturating_sub(rank) });
                    let json = move |(order, left): &(OrderNo, Lots)| {
                        Some(OrderOnBookJson::of(order.0, side, price?, *left))
                    };
                    orders.iter().filter_map(json).collect::<Vec<_>>()
                };
                let all = OrdersOnBookJson::of(of.flat_map(order).collect());
                Fact { topic, channel, at, previous, told: Told::Body(Body::Orders(all)) }
            };
            let facts = begin.into_iter().chain(books.into_iter().map(orders));
            let messages: Vec<Arc<Message>> =
                facts.filter_map(|fact| message(&engine, fact, u64::MAX, false)).collect();
            askers.iter().filter_map(|asker| asker.give((at.0, messages.clone()))).collect()
        };
        if places.len() <= PRINTED_HERE_MAX {
            return print();
        }
        let wake = || {
            give_way();
            print().into_iter().for_each(Waker::wake);
        };
        if let Err(error) = Builder::new().name("draft".to_owned()).spawn(wake) {
            tracing::error!(%error, "no thread to print the orders of a book");
        }
        Vec::new()
    }
}

/// A slice that is being copied; the hub is told when this is dropped, done or not.
struct Copying {
    number: u64,
    tasks: Sender<Task>,
    slice: Option<Box<Slice>>,
    is_lost: Arc<AtomicBool>,
}

impl Copying {
    fn copy(mut self, trying: &Trying<'_>, (topic, channel): (Topic, Channel), mut place: Place) {
        let began = Instant::now();
        let (levels, is_end) = copy(trying.exchange, topic.market(), &mut place);
        let end = is_end.then(|| {
            let view = trying.read();
            let at = (view.watermark(), view.time());
            let first = snapshot::of(&view, (topic, channel), at.1);
            End { at, begin: first, books: snapshot::books(&view, topic) }
        });
        self.slice = Some(Box::new(Slice { levels, place, took: began.elapsed(), end }));
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        // After everything that was told up to here, and before all else; never waiting for room.
        let task = Task::Copied(self.number, self.slice.take());
        if self.tasks.try_send(task).is_err() {
            self.is_lost.store(true, Ordering::SeqCst);
        }
    }
}

/// A level, and its orders with what is left of each, in their turn.
type Copied = (Level, Vec<(OrderNo, Lots)>);

/// Copies the next levels, of this market only or of all; whether these were the last.
fn copy(exchange: &Exchange, only: Option<MarketNo>, place: &mut Place) -> (Vec<Copied>, bool) {
    let (mut levels, mut copied) = (Vec::new(), 0_usize);
    for _ in 0..SLICE_MARKETS {
        let no = place.market;
        let market = exchange.market(no).filter(|_| only.is_none_or(|only| only == no));
        let Some(market) = market else { return (levels, true) };
        for side in SIDES.into_iter().filter(|_| market.status.keeps_orders()) {
            for (price, _) in market.book.levels(side) {
                let level = level(no, side, price);
                if place.has(level) {
                    continue;
                }
                if copied >= SLICE_ORDERS {
                    return (levels, false);
                }
                let order = |order: Order| Some((order.no, order.backing.remaining().ok()?));
                let orders: Vec<_> = exchange.queue(no, side, price).filter_map(order).collect();
                copied = copied.saturating_add(orders.len());
                levels.push((level, orders));
                place.level = Some(level);
            }
        }
        *place = Place { market: MarketNo(no.0.saturating_add(1)), level: None };
    }
    (levels, false)
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/draft.rs"]
mod tests;
