//! Fills of the order: the counterparty, the reasons for time and price, and the money moved.

use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::Trade;
use exchange::ids::TradeId;
use exchange::units::Lots;
use serde_json::json;

use super::life::{Life, better};
use super::story::Story;
use super::words::{
    at_price, contracts, first_of, left, money, side_of_book, spoken_limit, turn_came,
};
use crate::answer::Failure;
use crate::moment::{elapsed, when};

impl Story {
    /// A fill as the taker.
    pub fn took(&mut self, life: &mut Life, record: &Record, trade: &Trade) -> Result<(), Failure> {
        let maker = *self.register.open_order(trade.maker.order)?;
        let there = self.facing.size_at(trade.price)?;
        let first = self.facing.others.first().is_some_and(|other| other.no == trade.maker.order);
        let owner = self.name(trade.maker.user);
        let side = side_of_book(life.direction().opposite());
        let (price, quantity) = (trade.price, contracts(trade.quantity));
        let mut text = format!(
            "{quantity} filled {}. It met the resting order {} of {owner} ({}; record {}), which \
             had stood at {price} since {}. Why that order: {price} was the best {side}, and {}. \
             Why that price: a trade is made at the price of the order that was resting.",
            at_price(life.terms.wording, price),
            maker.id,
            spoken_limit(maker.wording, maker.limit),
            trade.maker.order.0,
            when(maker.since.1),
            first_of(there),
        );
        if !first {
            text.push_str(&contradiction("another order was ahead of it"));
        }
        self.filled(life, record, trade, (text, trade.taker.remaining))
    }

    /// A fill as the maker.
    pub fn made(
        &mut self,
        life: &mut Life,
        exchange: &Exchange,
        record: &Record,
        trade: &Trade,
    ) -> Result<(), Failure> {
        let taker = *self.register.open_order(trade.taker.order)?;
        let owner = self.name(trade.taker.user);
        let side = side_of_book(life.direction());
        let (price, quantity) = (trade.price, contracts(trade.quantity));
        let mut text = format!(
            "{quantity} filled {}, {} after it had come to rest. The incoming order {} of {owner} \
             ({}; record {}) reached it. Why this order: {price} was then the best {side}, and {}. \
             Why that price: this order was resting, and a trade is made at the price of the \
             order that was resting.",
            at_price(life.terms.wording, price),
            elapsed(life.rested_at, record.time),
            taker.id,
            spoken_limit(taker.wording, taker.limit),
            trade.taker.order.0,
            turn_came(life.ahead_at_rest, &life.ahead, life.reached)
        );
        life.reached = true;
        if !life.ahead.others.is_empty() {
            text.push_str(&contradiction("other orders were still ahead of it"));
        }
        let book = exchange.market(life.terms.market).map(|market| &market.book);
        let best = book.and_then(|book| book.best(life.direction()));
        if best.is_some_and(|best| better(life.direction(), best, life.limit)) {
            text.push_str(&contradiction("orders at better prices were passed over"));
        }
        self.filled(life, record, trade, (text, trade.maker.remaining))
    }

    fn filled(
        &mut self,
        life: &mut Life,
        record: &Record,
        trade: &Trade,
        (mut text, rest): (String, Lots),
    ) -> Result<(), Failure> {
        let own = life.direction().own_price(trade.price);
        let took = trade.taker.order == self.no;
        let rate = if took { life.fees.taker } else { life.fees.maker };
        let moved = life.fill(trade.price, trade.quantity, rate)?;
        self.holdings.filled(life.direction(), &moved)?;
        let id = TradeId::of(record.time, record.sequence, trade.index);
        text.extend([format!(" {}", money(life, moved, own, &self.currency)?)]);
        let kind = if rest.is_zero() { "FILLED" } else { "PARTLY FILLED" };
        if rest.is_zero() {
            life.ended = true;
            text.push_str(" With that nothing of it was left, and it ended as filled.");
        } else {
            text.extend([format!(" {}.", left(rest))]);
        }
        text.extend([format!(" This is trade {id}.")]);
        let figures = json!({
            "trade_id": id.to_string(),
            "yes_price": trade.price.to_string(),
            "price": life.terms.wording.yes_price(trade.price).to_string(),
            "quantity": trade.quantity.to_string(),
            "remaining": rest.to_string(),
            "paid": moved.paid.to_string(),
            "received": moved.received.to_string(),
            "returned": moved.returned.to_string(),
            "fee": moved.charge.fee()?.to_string(),
            "fee_from_received": moved.charge.from_proceeds.to_string(),
            "fee_from_set_aside": moved.charge.from_reserve.to_string(),
            "fee_returned": moved.charge.released.to_string(),
            "liquidity": if took { "TAKER" } else { "MAKER" },
        });
        self.tell(record, kind, text, figures);
        Ok(())
    }
}

/// A text that must never appear: the journal's effects contradict the rule just stated.
fn contradiction(what: &str) -> String {
    format!(" THIS CONTRADICTS PRICE-TIME PRIORITY: {what}.")
}
