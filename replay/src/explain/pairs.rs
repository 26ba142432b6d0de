//! Pairs of free yes and no contracts of the order's owner, which become money at once.

use openoutcry::exchange::catalogue::Outcome;
use openoutcry::exchange::command::{Direction, Record};
use openoutcry::exchange::effect::Holding;
use openoutcry::exchange::ledger::Position;
use openoutcry::exchange::units::{Lots, Overflow, SettlementPrice};
use serde_json::json;

use super::life::{Life, Moved};
use super::story::Story;
use super::words::contracts;
use crate::answer::Failure;

/// What the owner holds in the market, and what this order has moved of it in the record at hand.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hands {
    yes: Lots,
    no: Lots,
    /// Whether the order has filled, or freed contracts, since the owner's holdings were told.
    stirred: bool,
}

impl Hands {
    /// Hands that hold a position.
    pub const fn holding(position: &Position) -> Hands {
        Hands { yes: position.yes.held, no: position.no.held, stirred: false }
    }

    /// A record is over.
    pub const fn rest(&mut self) {
        self.stirred = false;
    }

    /// Whether the next that is told of the owner's holdings is this order's doing.
    pub const fn stirred(&self) -> bool {
        self.stirred
    }

    /// The order gave contracts free, whose like may already be there.
    pub const fn freed(&mut self) {
        self.stirred = true;
    }

    /// The order filled.
    pub fn filled(&mut self, direction: Direction, moved: &Moved) -> Result<(), Overflow> {
        self.stirred = true;
        let closes = self.side(direction.closes());
        *closes = closes.minus(moved.part.contracts)?;
        let gains = self.side(direction.gains());
        *gains = gains.plus(moved.part.cash)?;
        Ok(())
    }

    /// What is held now; how many pairs are gone that no fill has taken.
    fn told(&mut self, yes: Lots, no: Lots) -> Lots {
        let gone = self.yes.saturating_minus(yes).min(self.no.saturating_minus(no));
        let pairs = if self.stirred { gone } else { Lots::ZERO };
        *self = Hands { yes, no, stirred: false };
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
    /// The owner's holdings in the market as they stand now.
    pub fn holds(
        &mut self,
        life: &Life,
        record: &Record,
        (yes, no): (&Holding, &Holding),
    ) -> Result<(), Failure> {
        let pairs = self.hands.told(yes.held, no.held);
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
