//! What is true of every state that records can lead to, beyond the invariants: a state read from
//! an image is held to it, so that nothing else gets in that way.

use super::coding::BadImage;
use crate::exchange::Exchange;
use crate::exchange::command::TradingMode;
use crate::exchange::effect::Holding;
use crate::exchange::ids::{SEQUENCE_END, UserNo};
use crate::exchange::lifecycle::MarketStatus;
use crate::exchange::market::Market;
use crate::exchange::units::{MoneySum, Sequence};

/// Errs with what contradicts, unless it holds.
const fn hold(holds: bool, contradiction: &'static str) -> Result<(), BadImage> {
    if holds { Ok(()) } else { Err(BadImage::Contradiction(contradiction)) }
}

impl Exchange {
    /// Checked before orders are read: their numbers, not above it, take memory to look up.
    pub(super) fn check_sequence(&self) -> Result<(), BadImage> {
        hold(self.sequence.get() < SEQUENCE_END, "more records than ids can tell apart")
    }

    /// Everything that is always true of a whole state.
    pub(super) fn check_image(&self) -> Result<(), BadImage> {
        self.check_opening()?;
        for key in &self.keys.keys {
            self.check_user(Some(key.user))?;
        }
        hold(self.ledger.markets_count() == self.markets.len(), "positions of no market")?;
        for (market, state) in self.markets_numbered() {
            check_life(state)?;
            let positions = self.ledger.positions_sorted(market)?;
            let trades = match state.status {
                MarketStatus::Draft | MarketStatus::Settled | MarketStatus::Voided => false,
                MarketStatus::Active
                | MarketStatus::Suspended
                | MarketStatus::Closed
                | MarketStatus::Resolved
                | MarketStatus::Disputed => true,
            };
            hold(trades || positions.is_empty(), "positions in a market that has none")?;
            for (user, position) in positions {
                self.check_user(Some(user))?;
                self.check_holding(&position.yes)?;
                self.check_holding(&position.no)?;
            }
        }
        self.check_orders()?;
        self.check_standings()?;
        let last = self.repeats.last_record();
        hold(last <= self.sequence, "a name of a record that is not yet")?;
        Ok(self.check()?)
    }

    /// Nothing is before the venue was opened, and it was opened under rules that are kept.
    fn check_opening(&self) -> Result<(), BadImage> {
        let Some(rules) = &self.rules else {
            let empty = self.catalogue.categories_count() == 0
                && self.catalogue.events_count() == 0
                && self.ledger.users_count() == 0
                && self.ledger.fees() == MoneySum::ZERO
                && self.markets.is_empty()
                && self.standings.venue == TradingMode::Normal
                && self.repeats.is_empty();
            return hold(empty, "a venue that was never opened");
        };
        hold(rules.known(), "rules that this program does not know")?;
        hold(self.sequence > Sequence::ZERO, "an open venue before its first record")?;
        let supply = self.ledger.net_deposits().get();
        hold(supply <= i128::from(rules.money_supply_max.get()), "more money than its rules allow")
    }

    fn check_user(&self, user: Option<UserNo>) -> Result<(), BadImage> {
        let known = user.is_none_or(|user| user.index() < self.ledger.users_count());
        hold(known, "a user that does not exist")
    }

    fn check_holding(&self, holding: &Holding) -> Result<(), BadImage> {
        self.check_user(holding.copy_from)?;
        let nothing = holding.held.is_zero() && holding.copy_from.is_some();
        hold(!nothing, "a trader copied for nothing")
    }

    /// A switch that ran out was set, and left no order.
    fn check_standings(&self) -> Result<(), BadImage> {
        let users = &self.standings.users;
        hold(users.len() == self.ledger.users_count(), "switches of nobody")?;
        for (user, standing) in (0..).map(UserNo).zip(users) {
            let heartbeat = standing.heartbeat;
            let ran_out = heartbeat.over(self.time) && self.orders.count_of(user) == 0;
            hold(!heartbeat.expired || ran_out, "a heartbeat that ran out too early")?;
        }
        Ok(())
    }

    fn check_orders(&self) -> Result<(), BadImage> {
        let Some(rules) = &self.rules else { return Ok(()) };
        for order in self.orders.all() {
            self.check_user(order.copy_from)?;
            let count = self.orders.count_of(order.user);
            hold(count <= rules.user_open_orders_max, "more orders than a user may have")?;
        }
        hold(self.orders.count() <= rules.venue_open_orders_max, "more orders than the venue may")
    }
}

/// A dispute window runs while the outcome is announced; only a status after that has a winner.
fn check_life(market: &Market) -> Result<(), BadImage> {
    let resolved = market.status == MarketStatus::Resolved;
    hold(market.window_end.is_some() == resolved, "a dispute window without an outcome")?;
    hold(market.settled_at.is_some() == market.is_final(), "a price that does not fit the status")?;
    let winner = market.winner.is_some();
    let fits = match market.status {
        MarketStatus::Draft
        | MarketStatus::Active
        | MarketStatus::Suspended
        | MarketStatus::Closed => !winner,
        MarketStatus::Resolved | MarketStatus::Disputed | MarketStatus::Settled => winner,
        MarketStatus::Voided => true,
    };
    hold(fits, "an outcome that does not fit the status")
}
