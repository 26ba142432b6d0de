//! Pairs of free yes and no contracts of the order's owner, which are merged into money at once.

use exchange::catalogue::Outcome;
use exchange::command::{Direction, Record};
use exchange::effect::Holding;
use exchange::ledger::Position;
use exchange::units::{Lots, Overflow, SettlementPrice};
use serde_json::json;

use super::life::{Life, Moved};
use super::story::Story;
use super::words::contracts;
use crate::answer::Failure;

/// The owner's holdings in the market, and whether this order changed them in the current record.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnHoldings {
    yes: Lots,
    no: Lots,
    /// Whether the order filled or released contracts since the last `PositionChanged` of its
    /// owner.
    changed_by_order: bool,
}

impl OwnHoldings {
    /// The holdings of a position.
    pub const fn holding(position: &Position) -> OwnHoldings {
        OwnHoldings { yes: position.yes.held, no: position.no.held, changed_by_order: false }
    }

    /// Ends a record.
    pub const fn end_record(&mut self) {
        self.changed_by_order = false;
    }

    /// Whether the owner's next `PositionChanged` results from this order.
    pub const fn changed_by_order(&self) -> bool {
        self.changed_by_order
    }

    /// The order released contracts, which may pair with opposite ones.
    pub const fn freed(&mut self) {
        self.changed_by_order = true;
    }

    /// The order filled.
    pub fn filled(&mut self, direction: Direction, moved: &Moved) -> Result<(), Overflow> {
        self.changed_by_order = true;
        let closes = self.side(direction.closes());
        *closes = closes.minus(moved.part.contracts)?;
        let gains = self.side(direction.gains());
        *gains = gains.plus(moved.part.cash)?;
        Ok(())
    }

    /// Sets the holdings; returns the number of pairs that were merged beyond what fills explain.
    fn update(&mut self, yes: Lots, no: Lots) -> Lots {
        let gone = self.yes.saturating_minus(yes).min(self.no.saturating_minus(no));
        let pairs = if self.changed_by_order { gone } else { Lots::ZERO };
        *self = OwnHoldings { yes, no, changed_by_order: false };
        pairs
    }

    const fn side(&mut self, outcome: Outcome) -> &mut Lots {
        match outcome {
            Outcome::Yes => &mut self.yes,
            Outcome::No => &mut self.no,
        }
    }
}

impl Story {
    /// Handles the owner's `PositionChanged` in the market.
    pub fn holds(
        &mut self,
        life: &Life,
        record: &Record,
        (yes, no): (&Holding, &Holding),
    ) -> Result<(), Failure> {
        let pairs = self.holdings.update(yes.held, no.held);
        if pairs.is_zero() {
            return Ok(());
        }
        let received = SettlementPrice::ONE.times(pairs)?;
        let currency = &self.currency;
        let why = if life.cancelled.is_zero() && life.fills > 0 {
            "After that its owner held"
        } else {
            "With the contracts that were released its owner held"
        };
        let text = format!(
            "{why} both yes and no contracts that backed no order. One of each pays 1.00 \
             together, whatever happens, so they do not stay: {} of yes and as many of no became \
             {received} {currency} at once.",
            contracts(pairs)
        );
        let figures = json!({ "pairs": pairs.to_string(), "received": received.to_string() });
        self.tell(record, "PAIRS MERGED", text, figures);
        Ok(())
    }
}
