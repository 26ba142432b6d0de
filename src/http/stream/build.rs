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

/// What is told on one channel, not printed yet.
#[derive(Debug)]
pub struct Fact {
    /// Where it belongs: of one market, not of all.
    pub topic: Topic,
    /// The same as its readers name it.
    pub channel: Channel,
    /// The record, and its time.
    pub at: (Sequence, TimeMs),
    /// The record that changed the channel before. Of those whose state is told now and then the
    /// hub knows it.
    pub previous: Sequence,
    /// What is told.
    pub told: Told,
}

/// What a fact tells.
#[derive(Debug)]
pub enum Told {
    /// All that is needed to print it.
    Body(Body),
    /// A record. Ids of its orders may have to be looked up in history.
    Record(Box<Record>, OrdersNamed),
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
            for market in markets_of(at.effects) {
                if let Some(row) = view.catalogue.market(market) {
                    InMarket { topics, view, row, at }.tell(self);
                }
            }
        }
        if topics.has_accounts() {
            account::tell(self, topics, view, at);
        }
        if topics.has_journal() {
            let named = OrdersNamed::of(view, std::slice::from_ref(record));
            let told = Told::Record(Box::new(record.clone()), named);
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

/// The markets that a record changes, in the order of its effects.
fn markets_of(effects: &[Effect]) -> Vec<MarketNo> {
    let mut markets = Vec::new();
    for effect in effects {
        let market = match effect {
            Effect::OrderRested { market, .. }
            | Effect::OrderCancelled { market, rested: true, .. }
            | Effect::OrderAmended { market, .. }
            | Effect::MarketMoved { market, .. }
            | Effect::MarketRevised { market, .. }
            // The open interest.
            | Effect::PositionChanged { market, .. }
            | Effect::PositionSettled { market, .. } => *market,
            Effect::TradeMade(trade) => trade.market,
            _ => continue,
        };
        if !markets.contains(&market) {
            markets.push(market);
        }
    }
    markets
}

/// A record in one of the markets that it changes.
struct InMarket<'a> {
    topics: &'a Topics,
    view: &'a ReadModel,
    row: &'a MarketRow,
    at: &'a Applied<'a>,
}

impl InMarket<'_> {
    fn tell(&self, to: &mut Facts) {
        let InMarket { topics, view, row, at } = *self;
        let bits = topics.of_market(row.no);
        let has = |channel: MarketChannel| bits & channel.bit() != 0;
        let changes = view.changes.of_market(row.no);
        let (now, catalogue) = (at.sequence, topics.has_catalogue());
        if row.status.public() && self.is_revised() && (has(MarketChannel::Market) || catalogue) {
            self.tell_market(to, has(MarketChannel::Market), catalogue);
        }
        if changes.book.last == now {
            let ended = !row.status.keeps_orders();
            if has(MarketChannel::Book) {
                let body = if ended {
                    Body::Book(BookJson::of(Vec::new()))
                } else {
                    Body::Levels(BookJson::of(self.levels()))
                };
                self.add(to, MarketChannel::Book, changes.book.before, body);
            }
            if has(MarketChannel::Orders) {
                self.tell_orders(to, ended, changes.book.before);
            }
        }
        // Whatever of it the record changed: the hub tells what shows.
        let quoted = MarketChannel::Top.bit() | MarketChannel::Market.bit();
        let listened = bits & quoted != 0 || catalogue;
        if row.status.public() && listened && to.quotes.last() != Some(&row.no) {
            to.quotes.push(row.no);
        }
        let told = at.effects.iter().filter(|effect| market_of(effect) == Some(row.no));
        if has(MarketChannel::Trades) && changes.trades.last == now {
            for effect in told.clone() {
                if let Effect::TradeMade(trade) = effect {
                    let body = Body::Trade(PublicTradeJson::of(&TradeRow::of(at, trade)));
                    self.add(to, MarketChannel::Trades, changes.trades.before, body);
                }
            }
        }
        if has(MarketChannel::Activity) && changes.activity.last == now {
            for effect in told {
                if let Ok(Some((_, activity))) = ActivityRow::told(at, effect) {
                    let body = Body::Activity(ActivityJson::of(view, &activity));
                    self.add(to, MarketChannel::Activity, changes.activity.before, body);
                }
            }
        }
    }

    /// Whether it changes more of the market than its book.
    fn is_revised(&self) -> bool {
        self.at.effects.iter().any(|effect| match effect {
            Effect::MarketMoved { market, .. } | Effect::MarketRevised { market, .. } => {
                *market == self.row.no
            }
            _ => false,
        })
    }

    fn tell_market(&self, to: &mut Facts, own: bool, catalogue: bool) {
        let body = || Body::Market(Box::new(MarketDetailJson::now(self.view, self.row)));
        if own {
            self.add(to, MarketChannel::Market, Sequence::ZERO, body());
        }
        if catalogue {
            to.facts.push(Fact {
                topic: Topic::Catalogue,
                channel: Channel::Markets,
                at: (self.at.sequence, self.at.time),
                previous: Sequence::ZERO,
                told: Told::Body(body()),
            });
        }
    }

    /// What now stands at each price that the record changed.
    fn levels(&self) -> Vec<BookLevelJson> {
        let mut changed: Vec<(Direction, Tick)> = Vec::new();
        for effect in self.at.effects.iter().filter(|effect| market_of(effect) == Some(self.row.no))
        {
            let place = match effect {
                Effect::OrderRested { direction, price, .. }
                | Effect::OrderCancelled { direction, price, rested: true, .. }
                | Effect::OrderAmended { direction, price_before: price, .. } => {
                    (*direction, *price)
                }
                Effect::TradeMade(trade) => (trade.taker_direction.opposite(), trade.price),
                _ => continue,
            };
            if !changed.contains(&place) {
                changed.push(place);
            }
        }
        let level = |(side, price): (Direction, Tick)| {
            let level = self.view.book(self.row.no, side).find(|level| level.price == price);
            let (quantity, orders) =
                level.map_or((Lots::ZERO, 0), |level| (level.quantity, level.orders));
            BookLevelJson::of(side, price, quantity, orders)
        };
        changed.into_iter().map(level).collect()
    }

    fn tell_orders(&self, to: &mut Facts, ended: bool, previous: Sequence) {
        let mut add = |body| self.add(to, MarketChannel::Orders, previous, body);
        if ended {
            return add(Body::Orders(OrdersOnBookJson::of(Vec::new())));
        }
        for effect in self.at.effects.iter().filter(|effect| market_of(effect) == Some(self.row.no))
        {
            match *effect {
                Effect::OrderRested { order, direction, price, remaining, .. } => {
                    let order = OrderOnBookJson::of(order.0, direction, price, remaining);
                    add(Body::Added(order));
                }
                Effect::OrderCancelled { order, rested: true, .. }
                | Effect::OrderAmended { order, kept_place: false, .. } => {
                    add(Body::Removed(RemovedJson::of(order.0)));
                }
                Effect::OrderAmended { order, remaining, kept_place: true, .. } => {
                    add(Body::Reduced(ReducedJson::of(order.0, remaining)));
                }
                Effect::TradeMade(trade) => {
                    let id = TradeId::of(self.at.time, self.at.sequence, trade.index);
                    let (order, left) = (trade.maker.order.0, trade.maker.remaining);
                    add(Body::Traded(TradedJson::of(order, id, trade.quantity, left)));
                }
                _ => {}
            }
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

/// The market whose book, trades or status an effect changes.
const fn market_of(effect: &Effect) -> Option<MarketNo> {
    match effect {
        Effect::OrderRested { market, .. }
        | Effect::OrderCancelled { market, .. }
        | Effect::OrderAmended { market, .. }
        | Effect::MarketMoved { market, .. }
        | Effect::MarketRevised { market, .. } => Some(*market),
        Effect::TradeMade(trade) => Some(trade.market),
        _ => None,
    }
}
