//! Checks of a state read from an image, beyond the invariants: it must be a state that records can
//! lead to, so that an image cannot bring in any other.

use super::coding::BadImage;
use crate::Exchange;
use crate::command::TradingMode;
use crate::effect::Holding;
use crate::ending::Ending;
use crate::ids::{SEQUENCE_END, UserNo};
use crate::market::{Market, MarketStatus};
use crate::rules::{GROUP_HEARTBEATS_MAX, PROPOSALS_MAX, USER_TRANSFERS_MAX};
use crate::units::{MoneySum, Sequence};

/// An error that names the contradiction, unless `holds`.
pub(crate) const fn require(holds: bool, contradiction: &'static str) -> Result<(), BadImage> {
    if holds { Ok(()) } else { Err(BadImage::Contradiction(contradiction)) }
}

impl Exchange {
    /// Checked before orders are read: it bounds their numbers, and so the memory of their index.
    pub(super) fn check_sequence(&self) -> Result<(), BadImage> {
        require(self.sequence.get() < SEQUENCE_END, "more records than ids can tell apart")
    }

    /// Checks everything that must be true of a whole state.
    pub(super) fn check_image(&self) -> Result<(), BadImage> {
        self.check_opening()?;
        for key in &self.keys.keys {
            self.check_user(Some(key.user))?;
        }
        for user in self.sign_ins.users() {
            self.check_user(Some(user))?;
        }
        let mut markets = self.catalogue.market_slugs.owners();
        let mut events = self.catalogue.event_slugs.owners();
        let exist = markets.all(|market| market.index() < self.markets.len())
            && events.all(|event| self.catalogue.has_event(event));
        require(exist, "a slug of nothing")?;
        require(self.ledger.markets_count() == self.markets.len(), "positions of no market")?;
        for (market, state) in self.markets_numbered() {
            check_status(state)?;
            let positions = self.ledger.positions_sorted(market)?;
            self.check_ending(state, positions.first().map(|(user, _)| *user))?;
            let has_positions = match state.status {
                MarketStatus::Draft | MarketStatus::Settled | MarketStatus::Voided => false,
                MarketStatus::Active
                | MarketStatus::Suspended
                | MarketStatus::Closed
                | MarketStatus::Resolved
                | MarketStatus::Disputed => true,
            };
            require(has_positions || positions.is_empty(), "positions in a market that has none")?;
            for (user, position) in positions {
                self.check_user(Some(user))?;
                self.check_holding(&position.yes)?;
                self.check_holding(&position.no)?;
            }
        }
        self.check_orders()?;
        self.check_restrictions()?;
        self.check_transfers()?;
        self.check_proposals()?;
        self.check_disputes()?;
        let last = self.idempotency.last_record();
        require(last <= self.sequence, "a name of a record that is not yet")?;
        Ok(self.check()?)
    }

    /// Checks that an unopened venue is empty, and an open one within rules that are known.
    fn check_opening(&self) -> Result<(), BadImage> {
        let Some(rules) = &self.rules else {
            let empty = self.catalogue.categories_count() == 0
                && self.catalogue.events_count() == 0
                && self.ledger.users_count() == 0
                && self.ledger.fees() == MoneySum::ZERO
                && self.markets.is_empty()
                && self.restrictions.venue == TradingMode::Normal
                && self.idempotency.is_empty();
            return require(empty, "a venue that was never opened");
        };
        require(rules.known(), "rules that this program does not know")?;
        require(self.sequence > Sequence::ZERO, "an open venue before its first record")?;
        let supply = self.ledger.net_deposits().get();
        require(
            supply <= i128::from(rules.money_supply_max.get()),
            "more money than its rules allow",
        )
    }

    fn check_user(&self, user: Option<UserNo>) -> Result<(), BadImage> {
        let known = user.is_none_or(|user| user.index() < self.ledger.users_count());
        require(known, "a user that does not exist")
    }

    fn check_holding(&self, holding: &Holding) -> Result<(), BadImage> {
        self.check_user(holding.copy_from)?;
        let nothing = holding.held.is_zero() && holding.copy_from.is_some();
        require(!nothing, "a trader copied for nothing")
    }

    /// Checks that an unfinished end can be one, and that nobody is left whose turn it was.
    fn check_ending(&self, market: &Market, first: Option<UserNo>) -> Result<(), BadImage> {
        let Some(Ending { since, by_void, void_at, paid_below }) = market.ending else {
            return Ok(());
        };
        let ends = match market.status {
            MarketStatus::Closed | MarketStatus::Resolved | MarketStatus::Disputed => true,
            MarketStatus::Draft
            | MarketStatus::Active
            | MarketStatus::Suspended
            | MarketStatus::Settled
            | MarketStatus::Voided => false,
        };
        require(ends && since <= self.time, "an end of a market that does not end")?;
        require(!by_void || void_at.is_some(), "a void without a price")?;
        let Some(next) = paid_below else { return Ok(()) };
        let decided =
            matches!(market.status_at(self.time), MarketStatus::Settled | MarketStatus::Voided);
        require(decided && market.book.is_empty(), "a payment before its time")?;
        require(first.is_some_and(|first| first >= next), "a payment that was left out")
    }

    /// Checks that a heartbeat that ran out was armed, and that no order is left that it guards,
    /// unless those are cancelled in slices; and that no user has too many.
    fn check_restrictions(&self) -> Result<(), BadImage> {
        let users = &self.restrictions.users;
        require(users.len() == self.ledger.users_count(), "switches of nobody")?;
        for (whose, heartbeat) in self.restrictions.heartbeats() {
            self.check_user(Some(whose.0))?;
            let few = self.restrictions.groups_of(whose.0).count() <= GROUP_HEARTBEATS_MAX;
            let armed = whose.1.is_none() || heartbeat.until.is_some();
            require(few && armed, "heartbeats that nobody can have")?;
            let done = self.ends_in_slices() || !self.orders.has_guarded(whose);
            let ran_out = heartbeat.over(self.time) && done;
            require(!heartbeat.expired || ran_out, "a heartbeat that ran out too early")?;
        }
        Ok(())
    }

    /// Checks that those who ask exist and have not asked too often or in the future.
    fn check_transfers(&self) -> Result<(), BadImage> {
        for &(user, asked) in self.transfers.0.keys() {
            let few = self.transfers.of(user).count() <= USER_TRANSFERS_MAX;
            let known = self.known_user(user).is_ok() && asked <= self.sequence;
            require(known && few, "a transfer that nobody can have asked for")?;
        }
        Ok(())
    }

    /// Checks that those that wait are of records and operators that exist.
    fn check_proposals(&self) -> Result<(), BadImage> {
        let waiting = &self.proposals.waiting;
        require(waiting.len() <= PROPOSALS_MAX, "too many proposals")?;
        for (proposal, found) in waiting {
            let known = self.known_user(found.operator).is_ok() && *proposal <= self.sequence;
            require(known, "a proposal of nobody")?;
        }
        Ok(())
    }

    /// Checks that those who dispute exist, and that a bond waits where an outcome is in doubt.
    fn check_disputes(&self) -> Result<(), BadImage> {
        for ((market, user), bond) in self.disputes.all() {
            let state = self.market(market).map(|state| state.status);
            let live = match state {
                Some(MarketStatus::Disputed) => true,
                Some(MarketStatus::Resolved) => bond.is_none(),
                _ => false,
            };
            let known = live && self.known_user(user).is_ok();
            require(known, "a dispute that nobody can have filed")?;
        }
        Ok(())
    }

    fn check_orders(&self) -> Result<(), BadImage> {
        let Some(rules) = &self.rules else { return Ok(()) };
        for order in self.orders.all() {
            self.check_user(order.copy_from)?;
            let known = order.key.map_or(Ok(()), |key| self.known_key(order.user, key));
            require(known.is_ok(), "an order sent with the key of another")?;
            let count = self.orders.count_of(order.user);
            require(count <= rules.user_open_orders_max, "more orders than a user may have")?;
        }
        require(
            self.orders.count() <= rules.venue_open_orders_max,
            "more orders than the venue may",
        )
    }
}

/// Checks that window, settlement price and winner fit the status: a window only while RESOLVED, a
/// price only when final, a winner from RESOLVED on.
fn check_status(market: &Market) -> Result<(), BadImage> {
    let resolved = market.status == MarketStatus::Resolved && !market.is_being_voided();
    require(market.window_end.is_some() == resolved, "a dispute window without an outcome")?;
    require(
        market.settled_at.is_some() == market.is_final(),
        "a price that does not fit the status",
    )?;
    let winner = market.winner.is_some();
    let fits = match market.status {
        MarketStatus::Draft
        | MarketStatus::Active
        | MarketStatus::Suspended
        | MarketStatus::Closed => !winner,
        MarketStatus::Resolved | MarketStatus::Disputed | MarketStatus::Settled => winner,
        MarketStatus::Voided => true,
    };
    require(fits, "an outcome that does not fit the status")
}
