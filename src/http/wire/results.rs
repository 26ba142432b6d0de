//! Serialises the results of a batch one by one. Most of them are placed orders, which are written
//! by hand here, byte for byte as serde would: serde's shapes would be copied several times.

use super::order::{PlacedJson, ResultJson, TradeJson};
use super::print::{Unprintable, print};
use super::{Text, Timestamp, quoted_id};
use exchange::decimal::{Decimal, DecimalText};
use exchange::effect::Applied;
use exchange::units::{Money, TimeMs};

/// Initial buffer capacity per result.
const RESULT_BYTES_USUAL: usize = 512;

/// The results of a batch (semantics 8) serialised so far.
#[derive(Debug)]
pub struct PrintedResults {
    text: Vec<u8>,
    /// The last timestamp written: the next one is probably the same.
    moment: Option<(TimeMs, [u8; Timestamp::BYTES])>,
}

impl PrintedResults {
    /// No results yet, with capacity for `count`.
    pub fn expecting(count: usize) -> PrintedResults {
        let mut text = Vec::with_capacity(count.saturating_mul(RESULT_BYTES_USUAL));
        text.extend_from_slice(br#"{"results":["#);
        PrintedResults { text, moment: None }
    }

    /// Appends a result.
    ///
    /// # Errors
    /// It has no JSON.
    pub fn print(&mut self, result: &ResultJson) -> Result<(), Unprintable> {
        self.separate();
        print(&mut self.text, result)
    }

    /// Appends the order that a record placed. False if it placed none; then nothing is written.
    ///
    /// # Errors
    /// It has no JSON.
    pub fn print_placed(&mut self, applied: &Applied<'_>) -> Result<bool, Unprintable> {
        let Applied { sequence, time, effects } = *applied;
        let Ok(Some(placed)) = PlacedJson::of(sequence, time, effects) else { return Ok(false) };
        self.separate();
        self.put(br#"{"order":"#);
        self.placed(&placed)?;
        self.put(b"}");
        Ok(true)
    }

    /// Closes the list and returns the whole text.
    pub fn close(mut self) -> Vec<u8> {
        self.put(b"]}");
        self.text
    }

    fn separate(&mut self) {
        if self.text.last() != Some(&b'[') {
            self.put(b",");
        }
    }

    #[inline]
    fn placed(&mut self, placed: &PlacedJson) -> Result<(), Unprintable> {
        self.put(br#"{"orderId":"#);
        self.put(&quoted_id(placed.order_id.0.uuid()));
        self.put(br#","status":""#);
        self.put(placed.status.as_bytes());
        let Text(filled) = placed.filled_quantity;
        let (Text(cancelled), Text(cost)) = (placed.cancelled_quantity, placed.filled_cost);
        let untouched = filled.is_zero() && cancelled.is_zero() && cost == Money::ZERO;
        if untouched
            && placed.trades.is_empty()
            && placed.cancel_reason.is_none()
            && placed.client_order_id.is_none()
        {
            // Resting without fills, as most orders do.
            self.put(br#"","filledQuantity":"0","remainingQuantity":"#);
            self.decimal(placed.remaining_quantity);
            self.put(br#","averageFillPrice":"0.00","trades":[],"cancelledQuantity":"0","#);
            self.put(br#""cancelReason":null,"filledCost":"0.00","clientOrderId":null"#);
        } else {
            self.fills_of(placed)?;
        }
        self.put(br#","sequence":"#);
        self.put(DecimalText::of_integer(placed.sequence).as_bytes());
        self.put(b"}");
        Ok(())
    }

    /// The members for fills, cancellation and the client order id.
    fn fills_of(&mut self, placed: &PlacedJson) -> Result<(), Unprintable> {
        self.put(br#"","filledQuantity":"#);
        self.decimal(placed.filled_quantity);
        self.put(br#","remainingQuantity":"#);
        self.decimal(placed.remaining_quantity);
        self.put(br#","averageFillPrice":"#);
        self.decimal(placed.average_fill_price);
        self.put(br#","trades":["#);
        for (number, trade) in placed.trades.iter().enumerate() {
            if number > 0 {
                self.put(b",");
            }
            self.trade(trade);
        }
        self.put(br#"],"cancelledQuantity":"#);
        self.decimal(placed.cancelled_quantity);
        self.put(br#","cancelReason":"#);
        match placed.cancel_reason {
            None => self.put(b"null"),
            Some(reason) => {
                self.put(b"\"");
                self.put(reason.as_bytes());
                self.put(b"\"");
            }
        }
        self.put(br#","filledCost":"#);
        self.decimal(placed.filled_cost);
        self.put(br#","clientOrderId":"#);
        match &placed.client_order_id {
            None => self.put(b"null"),
            Some(name) => print(&mut self.text, name)?,
        }
        Ok(())
    }

    fn trade(&mut self, trade: &TradeJson) {
        self.put(br#"{"id":"#);
        self.put(&quoted_id(trade.id.0.uuid()));
        self.put(br#","price":"#);
        self.decimal(trade.price);
        self.put(br#","quantity":"#);
        self.decimal(trade.quantity);
        self.put(br#","timestamp":"#);
        let Timestamp(time) = trade.timestamp;
        let text = match self.moment {
            Some((moment, text)) if moment == time => text,
            _ => Timestamp(time).quoted(),
        };
        self.moment = Some((time, text));
        self.put(&text);
        self.put(b"}");
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    #[inline]
    fn decimal(&mut self, Text(value): Text<impl Decimal>) {
        self.put(value.decimal().quoted());
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/wire/results.rs"]
mod tests;
