//! What everybody has after a record: by the twin, in a state, and in a read model.

use exchange::Exchange;
use exchange::catalogue::Outcome;
use exchange::ids::{MarketNo, UserNo};
use exchange::units::{Sequence, TimeMs};
use views::ReadModel;

use crate::chance::Chance;
use crate::naive::Naive;

/// What is remembered of the state after a record.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// The record.
    pub at: Sequence,
    /// Its time.
    pub time: TimeMs,
    /// How many there are.
    pub users: u32,
    /// The same.
    pub markets: u32,
    /// What everybody has.
    pub worth: u64,
}

/// A number that two states share only if everybody has the same money and contracts in both.
pub struct Worth(Chance);

impl Worth {
    fn add(&mut self, number: impl Into<i128>) {
        let bytes = number.into().to_le_bytes();
        let low = bytes.first_chunk().copied().map(u64::from_le_bytes).unwrap_or_default();
        self.0 = Chance::of(self.0.number() ^ low);
    }

    fn add_held(&mut self, market: u32, outcome: Outcome, held: i128) {
        if held > 0 {
            let no = u8::from(outcome == Outcome::No);
            self.add(market);
            self.add(no);
            self.add(held);
        }
    }

    /// By the twin.
    pub fn of_twin(twin: &Naive) -> u64 {
        let mut worth = Worth(Chance::of(0));
        for user in 0..twin.users_count {
            let account = twin.ledger.account(user);
            worth.add(account.available);
            worth.add(account.reserved);
            for ((_, market), held) in twin.ledger.positions.range((user, 0)..=(user, u32::MAX)) {
                worth.add_held(*market, Outcome::Yes, held.yes.held());
                worth.add_held(*market, Outcome::No, held.no.held());
            }
        }
        worth.0.number()
    }

    /// In a state as of what is remembered.
    pub fn of_state(exchange: &Exchange, of: &Kept) -> Result<u64, String> {
        let mut worth = Worth(Chance::of(0));
        for user in (0..of.users).map(UserNo) {
            for market in 0..of.markets {
                let purse = exchange.purse(user, MarketNo(market));
                let purse = purse.map_err(|broken| format!("PAST: {broken}"))?;
                if market == 0 {
                    worth.add(purse.account.available.get());
                    worth.add(purse.account.reserved.get());
                }
                worth.add_held(market, Outcome::Yes, purse.position.yes.held.get().into());
                worth.add_held(market, Outcome::No, purse.position.no.held.get().into());
            }
        }
        Ok(worth.0.number())
    }

    /// In a read model as of what is remembered.
    pub fn of_view(view: &ReadModel, of: &Kept) -> u64 {
        let mut worth = Worth(Chance::of(0));
        for user in (0..of.users).map(UserNo) {
            let balance = view.accounts.user(user).map(|row| row.balance).unwrap_or_default();
            worth.add(balance.available.get());
            worth.add(balance.reserved.get());
            for row in view.positions.held(user) {
                worth.add_held(row.market.0, row.outcome, row.quantity.get().into());
            }
        }
        worth.0.number()
    }
}
