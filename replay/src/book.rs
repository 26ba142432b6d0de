//! `book`: a market's order book at a moment, as traders of yes and of no saw it.

use std::path::Path;

use exchange::Exchange;
use exchange::catalogue::Outcome;
use exchange::command::{Direction, Record};
use exchange::effect::Effect;
use exchange::ids::MarketNo;
use exchange::units::{Lots, Tick};
use serde_json::{Value, json};

use crate::answer::{Answer, Failure};
use crate::moment::{Moment, rfc3339};
use crate::pass::{Listener, pass_to};
use crate::reference::Reference;
use crate::register::Register;
use crate::source::Source;

/// Names of users and markets, and each market's last trade.
#[derive(Default)]
struct Watcher {
    register: Register,
    last_trades: std::collections::BTreeMap<MarketNo, Tick>,
}

impl Listener for Watcher {
    fn after(
        &mut self,
        _exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        for effect in effects {
            if let Effect::TradeMade(trade) = effect {
                self.last_trades.insert(trade.market, trade.price);
            }
            self.register.follow(record, effect);
        }
        Ok(())
    }
}

/// One price level, in prices of the outcome of its view.
struct Level {
    price: Tick,
    quantity: Lots,
    orders: u32,
}

/// A book as traders of one outcome see it: bids and asks, best first.
struct View {
    outcome: Outcome,
    bids: Vec<Level>,
    asks: Vec<Level>,
}

impl View {
    fn of(exchange: &Exchange, market: MarketNo, outcome: Outcome, levels: usize) -> View {
        let side = |direction| {
            let book = exchange.market(market).map(|market| market.book.levels(direction));
            let level = |(price, level): (Tick, exchange::book::Level)| Level {
                price: match outcome {
                    Outcome::Yes => price,
                    Outcome::No => price.complement(),
                },
                quantity: level.quantity,
                orders: level.orders,
            };
            book.into_iter().flatten().map(level).take(levels).collect()
        };
        // A bid for yes is an ask for no.
        let (bids, asks) = match outcome {
            Outcome::Yes => (side(Direction::Up), side(Direction::Down)),
            Outcome::No => (side(Direction::Down), side(Direction::Up)),
        };
        View { outcome, bids, asks }
    }

    fn fields(&self) -> Value {
        let side = |levels: &[Level]| -> Vec<Value> {
            let level = |level: &Level| {
                json!({
                    "price": level.price.to_string(),
                    "quantity": level.quantity.to_string(),
                    "orders": level.orders,
                })
            };
            levels.iter().map(level).collect()
        };
        json!({ "bids": side(&self.bids), "asks": side(&self.asks) })
    }

    fn draw(&self, text: &mut String) {
        text.extend([format!("\n{}\n", self.outcome.id())]);
        text.extend([format!("{:>8} {:>18}  {:>5} | ", "orders", "contracts", "bid")]);
        text.extend([format!("{:<5}  {:<18} orders\n", "ask", "contracts")]);
        for row in 0..self.bids.len().max(self.asks.len()) {
            let bid = self.bids.get(row).map_or_else(
                || " ".repeat(34),
                |level| {
                    let (price, quantity) = (level.price.to_string(), level.quantity.to_string());
                    format!("{:>8} {quantity:>18}  {price:>5}", level.orders)
                },
            );
            let ask = self.asks.get(row).map_or_else(String::new, |level| {
                let (price, quantity) = (level.price.to_string(), level.quantity.to_string());
                format!("{price:<5}  {quantity:<18} {}", level.orders)
            });
            text.extend([format!("{}\n", format!("{bid} | {ask}").trim_end())]);
        }
        if self.bids.is_empty() && self.asks.is_empty() {
            text.push_str("(no orders)\n");
        }
    }
}

/// Shows a market's order book at a moment.
pub fn book(
    path: &Path,
    market: Reference,
    at: Option<Moment>,
    levels: Option<usize>,
) -> Result<Answer, Failure> {
    let mut source = Source::open(path)?;
    let mut watcher = Watcher::default();
    let exchange = pass_to(&mut source, at, &mut watcher)?.exchange;
    let market = watcher.register.find_market(market)?;
    let listing = watcher.register.listing(market)?;
    let last = watcher.last_trades.get(&market).map(ToString::to_string);
    let levels = levels.unwrap_or(usize::MAX);
    let [yes, no] =
        [Outcome::Yes, Outcome::No].map(|outcome| View::of(&exchange, market, outcome, levels));
    let (sequence, time) = (exchange.sequence(), rfc3339(exchange.time()));
    let mut text = format!(
        "{} ({})\n{} after record {sequence}, of {time}\nlast trade: {}\n",
        listing.question,
        listing.id,
        listing.status.name(),
        last.as_ref().map_or_else(|| "none".to_owned(), |price| format!("yes at {price}")),
    );
    yes.draw(&mut text);
    no.draw(&mut text);
    let value = json!({
        "ok": true,
        "sequence": sequence.get(),
        "time": time,
        "market_id": listing.id.to_string(),
        "question": listing.question,
        "status": listing.status.name(),
        "last_trade": last,
        "yes": yes.fields(),
        "no": no.fields(),
    });
    Ok(Answer::Text { value, text, sound: true })
}
