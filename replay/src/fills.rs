//! `fills`: every trade of a journal, a row each, as its parties saw it.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::ValueEnum;
use openoutcry::exchange::Exchange;
use openoutcry::exchange::command::Record;
use openoutcry::exchange::effect::{Effect, Trade};
use openoutcry::exchange::ids::{OrderId, TradeId, UserId};
use openoutcry::exchange::units::Tick;
use serde_json::json;

use crate::answer::{Answer, Failure};
use crate::moment::{Moment, rfc3339};
use crate::pass::{Listener, pass};
use crate::reference::Reference;
use crate::register::{Register, Standing, side_name, spoken};
use crate::source::Source;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns for people, with one line of headings.
    Table,
    /// Comma-separated values with one line of headings.
    Csv,
    /// An object of JSON a line.
    Ndjson,
}

/// Which fills are asked for; `None` asks for all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// Of this market.
    pub market: Option<Reference>,
    /// Of this user, on either side.
    pub user: Option<Reference>,
    /// Of this order, on either side.
    pub order: Option<Reference>,
    /// Not before.
    pub from: Option<Moment>,
    /// Not after.
    pub to: Option<Moment>,
}

const HEADINGS: &str = "sequence,time,trade_id,market_id,yes_price,quantity,\
    maker_order_id,maker_user_id,maker_outcome,maker_side,maker_price,\
    taker_order_id,taker_user_id,taker_outcome,taker_side,taker_price";

/// One side of a fill, in its owner's words.
struct Party {
    order: OrderId,
    user: UserId,
    standing: Standing,
    price: Tick,
}

/// Writes rows as trades are made.
struct Rows<W> {
    out: W,
    format: Format,
    wanted: Wanted,
    register: Register,
    /// Whether the order asked for was placed; only then can no rows mean no fills.
    order_seen: bool,
}

impl<W: Write> Rows<W> {
    fn headings(&mut self) -> Result<(), Failure> {
        match self.format {
            Format::Csv => writeln!(self.out, "{HEADINGS}")?,
            Format::Table => {
                write!(self.out, "{:>10}  {:24}  {:36}  ", "sequence", "time", "trade")?;
                write!(self.out, "{:36}  {:5}  {:>16}  ", "market", "yes", "contracts")?;
                write!(self.out, "{:36}  {:36}  {:13}  ", "maker's order", "maker", "makes")?;
                writeln!(self.out, "{:36}  {:36}  takes", "taker's order", "taker")?;
            }
            Format::Ndjson => {}
        }
        Ok(())
    }

    fn party(&self, trade: &Trade, taker: bool) -> Result<Party, Failure> {
        let party = if taker { trade.taker } else { trade.maker };
        let standing = *self.register.standing(party.order)?;
        let (order, user) = (standing.id, self.register.person(party.user)?.id);
        let price = standing.wording.yes_price(trade.price);
        Ok(Party { order, user, standing, price })
    }

    fn wants(&self, parties: [&Party; 2]) -> bool {
        let Wanted { user, order, .. } = self.wanted;
        let any = |named: &dyn Fn(&Party) -> bool| parties.iter().any(|party| named(party));
        user.is_none_or(|user| any(&|party| user.names_user(party.user)))
            && order.is_none_or(|order| any(&|party| order.names_order(party.order)))
    }

    fn row(&mut self, record: &Record, trade: &Trade) -> Result<(), Failure> {
        let market = self.register.listing(trade.market)?.id;
        if self.wanted.market.is_some_and(|wanted| !wanted.names_market(market)) {
            return Ok(());
        }
        let (maker, taker) = (self.party(trade, false)?, self.party(trade, true)?);
        if !self.wants([&maker, &taker]) {
            return Ok(());
        }
        let (sequence, time) = (record.sequence, rfc3339(record.time));
        let id = TradeId::of(record.time, record.sequence, trade.index);
        let Trade { price, quantity, .. } = trade;
        match self.format {
            Format::Ndjson => {
                let side = |party: &Party| {
                    json!({
                        "order_id": party.order.to_string(),
                        "user_id": party.user.to_string(),
                        "outcome": party.standing.wording.outcome.id(),
                        "side": side_name(party.standing.wording.side),
                        "price": party.price.to_string(),
                    })
                };
                let row = json!({
                    "sequence": sequence.get(),
                    "time": time,
                    "trade_id": id.to_string(),
                    "market_id": market.to_string(),
                    "yes_price": price.to_string(),
                    "quantity": quantity.to_string(),
                    "maker": side(&maker),
                    "taker": side(&taker),
                });
                writeln!(self.out, "{row}")?;
            }
            Format::Csv => {
                write!(self.out, "{sequence},{time},{id},{market},{price},{quantity}")?;
                for party in [&maker, &taker] {
                    let wording = party.standing.wording;
                    let (outcome, side) = (wording.outcome.id(), side_name(wording.side));
                    let Party { order, user, price, .. } = party;
                    write!(self.out, ",{order},{user},{outcome},{side},{price}")?;
                }
                writeln!(self.out)?;
            }
            Format::Table => {
                let quantity = quantity.to_string();
                write!(self.out, "{:>10}  {time:24}  {id}  {market}  ", sequence.get())?;
                write!(self.out, "{:5}  {quantity:>16}  ", price.to_string())?;
                let words =
                    |party: &Party| format!("{} {}", spoken(party.standing.wording), party.price);
                let [resting, incoming] = [&maker, &taker].map(words);
                write!(self.out, "{}  {}  {resting:13}  ", maker.order, maker.user)?;
                writeln!(self.out, "{}  {}  {incoming}", taker.order, taker.user)?;
            }
        }
        Ok(())
    }
}

impl<W: Write> Listener for Rows<W> {
    fn after(
        &mut self,
        _exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        let early = self.wanted.from.is_some_and(|from| from.is_after(record));
        for effect in effects {
            match effect {
                Effect::OrderAccepted { order, .. } => {
                    let id = order.id(record.time);
                    self.order_seen |= self.wanted.order.is_some_and(|named| named.names_order(id));
                }
                Effect::TradeMade(trade) if !early => self.row(record, trade)?,
                _ => {}
            }
            self.register.follow(record, effect);
        }
        Ok(())
    }
}

/// Prints the fills that are wanted, each as soon as it is made. Whoever or whatever was asked for
/// and never existed is an error: no rows would look like no fills.
pub fn fills(path: &Path, wanted: Wanted, format: Format) -> Result<Answer, Failure> {
    let mut source = Source::open(path)?;
    let out = BufWriter::new(io::stdout().lock());
    let register = Register::default();
    let mut rows = Rows { out, format, wanted, register, order_seen: false };
    rows.headings()?;
    let passed = pass(&mut source, wanted.to, true, &mut rows);
    rows.out.flush()?;
    passed?;
    if let Some(market) = wanted.market {
        rows.register.find_market(market)?;
    }
    if let Some(user) = wanted.user {
        rows.register.find_user(user)?;
    }
    match wanted.order {
        Some(order) if !rows.order_seen => {
            Err(Failure::Failed(format!("{order} made no order by then")))
        }
        _ => Ok(Answer::Streamed),
    }
}
