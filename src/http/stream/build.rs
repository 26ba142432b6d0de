//! What a record means on each channel: a pure function of the record, its effects and the read
//! model just after it, so that a replay gives the same messages as the live feed.

mod account;

use super::channel::{Channel, MarketChannel, Markets, Topic};
use super::topics::Topics;
use crate::wire::catalogue::{ActivityJson, MarketDetailJson};
use crate::wire::record::OrdersNamed;
use crate::wire::stream::{
    Body, BookJson, BookLevelJson, OrderOnBookJson, OrdersOnBookJson, ReducedJson, RemovedJson,
    ResultsJson, TradedJson,
};
use crate::wire::tape::{Figures, PublicTradeJson};
use exchange::command::{Direction, Record};
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, TradeId};
use exchange::results::Results;
use exchange::units::{Lots, Ratio, Sequence, Tick, TimeMs};
use views::ReadModel;
use views::activity::ActivityRow;
use views::catalogue::MarketRow;
use views::tape::TradeRow;
use views::verdicts::Came;

/// What is told on one channel, not printed yet.
#[derive(Debug)]
pub struct Fact {
    /// Where it belongs: of one market, not of all.
    pub topic: Topic,
    /// The same as its readers name it.
    pub channel: Channel,
    /// The record, and its time.
    pub at: (Sequence, TimeMs),
    /// The record that changed the channel before, or that made the state with which a reader
    /// begins.
    pub previous: Sequence,
    /// What is told.
    pub told: Told,
}

/// What a fact tells.
#[derive(Debug)]
pub enum Told {
    /// All that is needed to print it.
    Body(Body),
    /// A record, and what became of it. Ids of its orders may have to be looked up in history.
    Record(Box<Record>, OrdersNamed, Option<Came>),
    /// A market's figures, and its displayed probability.
    Stats(Box<Figures>, Ratio),
}

/// Facts in the order of their messages, and markets whose quote may have changed.
#[derive(Debug, Default)]
pub struct Facts {
    /// The facts.
    pub facts: Vec<Fact>,
    /// The markets; their state is told later.
    pub quotes: Vec<MarketNo>,
}

impl Facts {
    /// How many there are of both.
    pub fn count(&self) -> usize {
        self.facts.len().saturating_add(self.quotes.len())
    }

    /// Adds what a record tells on the topics that are listened to.
    pub fn see(&mut self, topics: &Topics, view: &ReadModel, record: &Record, at: &Applied<'_>) {
        if topics.has_markets() {
            for effects in by_market(at.effects).chunk_by(|(one, _), (other, _)| one == other) {
                let market = effects.first().map(|(market, _)| *market);
                if let Some(row) = market.and_then(|market| view.catalogue.market(market)) {
                    InMarket { topics, view, row, at, effects }.tell(self);
                }
            }
        }
        if topics.has_accounts() {
            account::tell(self, topics, view, at);
        }
        if topics.has_journal() {
            let named = OrdersNamed::of(view, std::slice::from_ref(record));
            let came = Came::of(at.effects);
            let told = Told::Record(Box::new(record.clone()), named, came);
            self.add_journal((at.sequence, at.time), told);
        }
    }

    /// Adds what the end of a block tells.
    pub fn end_block(&mut self, topics: &Topics, view: &ReadModel, results: Results) {
        if topics.has_journal() {
            let body = Body::Results(ResultsJson::of(results.through, results.hash));
            self.add_journal((view.watermark(), view.time()), Told::Body(body));
        }
    }

    fn add_journal(&mut self, at: (Sequence, TimeMs), told: Told) {
        let previous = Sequence::new(at.0.get().saturating_sub(1));
        let (topic, channel) = (Topic::Journal, Channel::Journal);
        self.facts.push(Fact { topic, channel, at, previous, told });
    }
}

/// The effects that change something of a market, together for each market, in their order.
fn by_market(effects: &[Effect]) -> Vec<(MarketNo, &Effect)> {
    let of_market = |effect| market_of(effect).map(|market| (market, effect));
    let mut all: Vec<_> = effects.iter().filter_map(of_market).collect();
    all.sort_by_key(|(market, _)| *market);
    all
}

/// The market of which an effect changes something.
const fn market_of(effect: &Effect) -> Option<MarketNo> {
    match effect {
        Effect::OrderRested { market, .. }
        | Effect::OrderCancelled { market, rested: true, .. }
        | Effect::OrderAmended { market, .. }
        | Effect::MarketMoved { market, .. }
        | Effect::MarketRevised { market, .. }
        // The open interest.
        | Effect::PositionChanged { market, .. }
        | Effect::PositionSettled { market, .. } => Some(*market),
        Effect::TradeMade(trade) => Some(trade.market),
        _ => None,
    }
}

/// A record in one of the markets that it changes.
struct InMarket<'a> {
    topics: &'a Topics,
    view: &'a ReadModel,
    row: &'a MarketRow,
    at: &'a Applied<'a>,
    /// Those of this market.
    effects: &'a [(MarketNo, &'a Effect)],
}

/// What its effects tell, by channel.
#[derive(Default)]
struct Parts {
    /// Whether more of the market changed than its book.
    is_revised: bool,
    /// Prices at which something changed, each once, and a bit for each that is there, by side.
    places: Vec<(Direction, Tick)>,
    seen: [u128; 2],
    orders: Vec<Body>,
    trades: Vec<Body>,
    activity: Vec<Body>,
}

impl Parts {
    fn place(&mut self, side: Direction, price: Tick) {
        let [up, down] = &mut self.seen;
        let seen = if side == Direction::Up { up } else { down };
        let bit = 1_u128 << price.get();
        if *seen & bit == 0 {
            *seen |= bit;
            self.places.push((side, price));
        }
    }
}

impl InMarket<'_> {
    fn tell(&self, to: &mut Facts) {
        let InMarket { topics, view, row, at, .. } = *self;
        let bits = topics.of_market(row.no);
        let has = |channel: MarketChannel| bits & channel.bit() != 0;
        let changes = view.changes.of_market(row.no);
        let (now, catalogue) = (at.sequence, topics.has_catalogue());
        let Parts { is_revised, places, orders, trades, activity, .. } = self.parts(has);
        if row.status.public() && is_revised && (has(MarketChannel::Market) || catalogue) {
            self.tell_market(to, has(MarketChannel::Market), catalogue);
        }
        if changes.book.last == now {
            let (before, ended) = (changes.book.before, !row.status.keeps_orders());
            if has(MarketChannel::Book) {
                let body = if ended {
                    Body::Book(BookJson::of(Vec::new()))
                } else {
                    Body::Levels(BookJson::of(self.levels(places)))
                };
                self.add(to, MarketChannel::Book, before, body);
            }
            if has(MarketChannel::Orders) && ended {
                let body = Body::Orders(OrdersOnBookJson::of(Vec::new()));
                self.add(to, MarketChannel::Orders, before, body);
            } else {
                self.add_all(to, MarketChannel::Orders, before, orders);
            }
        }
        // Whatever of it the record changed: the hub tells what shows.
        let quoted = MarketChannel::Top.bit() | MarketChannel::Market.bit();
        let listened = bits & quoted != 0 || catalogue;
        if row.status.public() && listened && to.quotes.last() != Some(&row.no) {
            to.quotes.push(row.no);
        }
        if changes.trades.last == now {
            self.add_all(to, MarketChannel::Trades, changes.trades.before, trades);
        }
        if changes.activity.last == now {
            self.add_all(to, MarketChannel::Activity, changes.activity.before, activity);
        }
    }

    /// Goes through the effects once.
    fn parts(&self, has: impl Fn(MarketChannel) -> bool) -> Parts {
        let InMarket { view, at, .. } = *self;
        let mut parts = Parts::default();
        let [of_orders, of_trades, of_activity] =
            [MarketChannel::Orders, MarketChannel::Trades, MarketChannel::Activity].map(has);
        for (_, effect) in self.effects {
            let on_book = match **effect {
                Effect::OrderRested { order, direction, price, remaining, .. } => {
                    parts.place(direction, price);
                    Some(Body::Added(OrderOnBookJson::of(order.0, direction, price, remaining)))
                }
                Effect::OrderCancelled { order, direction, price, .. } => {
                    parts.place(direction, price);
                    Some(Body::Removed(RemovedJson::of(order.0)))
                }
                Effect::OrderAmended {
                    order,
                    direction,
                    price_before,
                    remaining,
                    kept_place,
                    ..
                } => {
                    parts.place(direction, price_before);
                    Some(if kept_place {
                        Body::Reduced(ReducedJson::of(order.0, remaining))
                    } else {
                        Body::Removed(RemovedJson::of(order.0))
                    })
                }
                Effect::TradeMade(trade) => {
                    parts.place(trade.taker_direction.opposite(), trade.price);
                    if of_trades {
                        let trade = PublicTradeJson::of(&TradeRow::of(at, &trade));
                        parts.trades.push(Body::Trade(trade));
                    }
                    let id = TradeId::of(at.time, at.sequence, trade.index);
                    let (order, left) = (trade.maker.order.0, trade.maker.remaining);
                    Some(Body::Traded(TradedJson::of(order, id, trade.quantity, left)))
                }
                Effect::MarketMoved { .. } | Effect::MarketRevised { .. } => {
                    parts.is_revised = true;
                    None
                }
                _ => None,
            };
            if of_orders {
                parts.orders.extend(on_book);
            }
            if of_activity && let Ok(Some((_, activity))) = ActivityRow::told(at, effect) {
                parts.activity.push(Body::Activity(ActivityJson::of(view, &activity)));
            }
        }
        parts
    }

    fn tell_market(&self, to: &mut Facts, own: bool, catalogue: bool) {
        let changes = &self.view.changes;
        let body = || Body::Market(Box::new(MarketDetailJson::now(self.view, self.row)));
        if own {
            let previous = changes.of_market(self.row.no).all.before;
            self.add(to, MarketChannel::Market, previous, body());
        }
        if catalogue {
            to.facts.push(Fact {
                topic: Topic::Catalogue,
                channel: Channel::Markets,
                at: (self.at.sequence, self.at.time),
                previous: changes.of_catalogue().before,
                told: Told::Body(body()),
            });
        }
    }

    /// What now stands at these prices.
    fn levels(&self, places: Vec<(Direction, Tick)>) -> Vec<BookLevelJson> {
        let level = |(side, price): (Direction, Tick)| {
            let level = self.view.book(self.row.no, side).find(|level| level.price == price);
            let (quantity, orders) =
                level.map_or((Lots::ZERO, 0), |level| (level.quantity, level.orders));
            BookLevelJson::of(side, price, quantity, orders)
        };
        places.into_iter().map(level).collect()
    }

    fn add_all(&self, to: &mut Facts, channel: MarketChannel, previous: Sequence, all: Vec<Body>) {
        for body in all {
            self.add(to, channel, previous, body);
        }
    }

    fn add(&self, to: &mut Facts, channel: MarketChannel, previous: Sequence, body: Body) {
        to.facts.push(Fact {
            topic: Topic::Market(channel, self.row.no),
            channel: Channel::Of(channel, Markets::One(self.row.id)),
            at: (self.at.sequence, self.at.time),
            previous,
            told: Told::Body(body),
        });
    }
}
