//! One fill as both of its parties saw it, and the text forms of it.

use std::io::{self, Write};

use exchange::command::Wording;
use exchange::ids::{MarketId, OrderId, TradeId, UserId};
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};
use serde_json::json;

use crate::moment::rfc3339;
use crate::register::spoken;

/// One party of a fill.
#[derive(Debug, Clone, Copy)]
pub struct Party {
    /// Order.
    pub order: OrderId,
    /// Its owner.
    pub user: UserId,
    /// Outcome and side as the owner stated them.
    pub wording: Wording,
    /// Price of the fill, of the stated outcome.
    pub price: Tick,
    /// Fee paid by the owner.
    pub fee: Money,
}

/// A fill.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The record that made it.
    pub sequence: Sequence,
    /// When.
    pub time: TimeMs,
    /// Trade.
    pub trade: TradeId,
    /// Market.
    pub market: MarketId,
    /// Price of yes.
    pub yes_price: Tick,
    /// Contracts.
    pub quantity: Lots,
    /// The maker.
    pub maker: Party,
    /// The taker.
    pub taker: Party,
}

/// Names of the columns.
pub const HEADINGS: &str = "sequence,time,trade_id,market_id,yes_price,quantity,\
    maker_order_id,maker_user_id,maker_outcome,maker_side,maker_price,maker_fee,\
    taker_order_id,taker_user_id,taker_outcome,taker_side,taker_price,taker_fee";

/// The headings of the table form.
pub fn table_headings(out: &mut impl Write) -> io::Result<()> {
    write!(out, "{:>10}  {:24}  {:36}  ", "sequence", "time", "trade")?;
    write!(out, "{:36}  {:5}  {:>16}  ", "market", "yes", "contracts")?;
    write!(out, "{:36}  {:36}  {:13}  ", "maker's order", "maker", "makes")?;
    write!(out, "{:>12}  {:36}  {:36}  ", "fee", "taker's order", "taker")?;
    writeln!(out, "{:13}  {:>12}", "takes", "fee")
}

impl Row {
    /// A line of the table.
    pub fn table(&self, out: &mut impl Write) -> io::Result<()> {
        let Row { trade, market, maker, taker, .. } = self;
        let (time, quantity) = (rfc3339(self.time), self.quantity.to_string());
        write!(out, "{:>10}  {time:24}  {trade}  {market}  ", self.sequence.get())?;
        write!(out, "{:5}  {quantity:>16}  ", self.yes_price.to_string())?;
        let words = |party: &Party| format!("{} {}", spoken(party.wording), party.price);
        let [resting, incoming] = [maker, taker].map(words);
        let [makers_fee, takers_fee] = [maker, taker].map(|party| party.fee.to_string());
        write!(out, "{}  {}  {resting:13}  {makers_fee:>12}  ", maker.order, maker.user)?;
        writeln!(out, "{}  {}  {incoming:13}  {takers_fee:>12}", taker.order, taker.user)
    }

    /// A CSV line; no value can contain a comma.
    pub fn csv(&self, out: &mut impl Write) -> io::Result<()> {
        let Row { sequence, trade, market, yes_price, quantity, maker, taker, .. } = self;
        let time = rfc3339(self.time);
        write!(out, "{sequence},{time},{trade},{market},{yes_price},{quantity}")?;
        for Party { order, user, wording, price, fee } in [maker, taker] {
            let (outcome, side) = (wording.outcome.id(), wording.side.name());
            write!(out, ",{order},{user},{outcome},{side},{price},{fee}")?;
        }
        writeln!(out)
    }

    /// A JSON object.
    pub fn ndjson(&self, out: &mut impl Write) -> io::Result<()> {
        let side = |party: &Party| {
            json!({
                "order_id": party.order.to_string(),
                "user_id": party.user.to_string(),
                "outcome": party.wording.outcome.id(),
                "side": party.wording.side.name(),
                "price": party.price.to_string(),
                "fee": party.fee.to_string(),
            })
        };
        let row = json!({
            "sequence": self.sequence.get(),
            "time": rfc3339(self.time),
            "trade_id": self.trade.to_string(),
            "market_id": self.market.to_string(),
            "yes_price": self.yes_price.to_string(),
            "quantity": self.quantity.to_string(),
            "maker": side(&self.maker),
            "taker": side(&self.taker),
        });
        writeln!(out, "{row}")
    }
}
