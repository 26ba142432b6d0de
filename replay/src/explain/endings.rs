//! The end of an order that is not filled: why, and what of its backing was released.

use exchange::command::Record;
use exchange::effect::CancelReason;
use exchange::orders::Backing;
use exchange::units::{Lots, Money};
use serde_json::json;

use super::life::Life;
use super::story::Story;
use super::words::{backing, contracts, could_have, ending, still_ahead};
use crate::answer::Failure;
use crate::moment::elapsed;

impl Story {
    /// Its cancellation, by its owner or by the exchange.
    pub fn cancelled(
        &mut self,
        life: &mut Life,
        record: &Record,
        quantity: Lots,
        (rested, reason): (bool, CancelReason),
    ) -> Result<(), Failure> {
        let mut text = ending(life, reason, rested, record);
        if rested {
            let ahead = still_ahead(life.ahead_of_cancelled(reason, &record.command)?);
            let stood = elapsed(life.rested_at, record.time);
            text.extend([format!(" It had stood for {stood} where it was. {ahead}")]);
        }
        if !life.backing.contracts.is_zero() {
            self.holdings.freed();
        }
        if reason == CancelReason::FokNotFillable {
            text.extend([could_have(self.facing.tradable(&life.terms)?)]);
        }
        if let (CancelReason::SelfTrade, false, Some(own)) =
            (reason, rested, self.facing.others.first().filter(|o| o.user == life.terms.user))
        {
            text.extend([format!(" That was the order of record {}, at {}.", own.no.0, own.price)]);
        }
        let backed = backing(life, life.backing, &self.currency)?;
        let what = contracts(quantity);
        text.extend([match reason {
            CancelReason::FokNotFillable => {
                format!(" {what} will never be filled; nothing had been set aside.")
            }
            _ => format!(
                " {what} will never be filled; what had backed that, {backed}, was released."
            ),
        }]);
        life.cancelled = quantity;
        life.ended = true;
        let code = reason.code();
        let released = match reason {
            CancelReason::FokNotFillable => {
                life.backing = Backing::default();
                Money::ZERO
            }
            _ => life.release()?,
        };
        let figures = json!({
            "reason": code,
            "quantity": quantity.to_string(),
            "released": released.to_string(),
        });
        text.extend([format!(" Recorded reason: {code}.")]);
        self.tell(record, "CANCELLED", text, figures);
        Ok(())
    }
}
