//! What happened in each market: its trades and its moves (semantics 6).

use super::Projection;
use super::fault::{Fault, Faults, is_next};
use crate::exchange::catalogue::Outcome;
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::{MarketNo, UserNo};
use crate::exchange::lifecycle::MarketStatus;
use crate::exchange::units::{Money, Tick, TimeMs};

/// One thing that happened in a market.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityRow {
    /// A fill, told for the incoming order's owner.
    Trade {
        /// The outcome betted on.
        outcome: Outcome,
        /// That side's price x quantity.
        stake: Money,
        /// That side's price; the odds are 1 over it.
        price: Tick,
        /// The incoming order's owner.
        user: UserNo,
        /// When.
        time: TimeMs,
    },
    /// The market went from one status to another.
    Moved {
        /// Status before.
        from: MarketStatus,
        /// Status since.
        to: MarketStatus,
        /// When.
        time: TimeMs,
    },
}

impl ActivityRow {
    /// The interface's name of the kind (interface 2.10, semantics 3).
    pub const fn name(&self) -> &'static str {
        match self {
            ActivityRow::Trade { .. } => "TRADE",
            ActivityRow::Moved { from, to, .. } => move_name(*from, *to),
        }
    }

    /// When it happened.
    pub const fn time(&self) -> TimeMs {
        match self {
            ActivityRow::Trade { time, .. } | ActivityRow::Moved { time, .. } => *time,
        }
    }
}

/// The name of a transition: by where it leads, but for the two ways to ACTIVE.
const fn move_name(from: MarketStatus, to: MarketStatus) -> &'static str {
    match (from, to) {
        // No transition leads to DRAFT.
        (MarketStatus::Draft, MarketStatus::Active) | (_, MarketStatus::Draft) => {
            "MARKET_PUBLISHED"
        }
        (_, MarketStatus::Active) => "MARKET_REOPENED",
        (_, MarketStatus::Suspended) => "MARKET_SUSPENDED",
        (_, MarketStatus::Closed) => "MARKET_CLOSED",
        (_, MarketStatus::Resolved) => "MARKET_RESOLVED",
        (_, MarketStatus::Disputed) => "MARKET_DISPUTED",
        (_, MarketStatus::Settled) => "MARKET_SETTLED",
        (_, MarketStatus::Voided) => "MARKET_VOIDED",
    }
}

/// Every market's rows, oldest first.
#[derive(Debug, Default)]
pub struct Activity {
    markets: Vec<Vec<ActivityRow>>,
}

impl Activity {
    /// What happened in a market, newest first.
    pub fn of(
        &self,
        market: MarketNo,
    ) -> impl DoubleEndedIterator<Item = &ActivityRow> + ExactSizeIterator {
        self.rows(market).iter().rev()
    }

    /// How many things happened in a market. O(1).
    pub fn count(&self, market: MarketNo) -> usize {
        self.rows(market).len()
    }

    fn rows(&self, market: MarketNo) -> &[ActivityRow] {
        self.markets.get(market.index()).map_or(&[], Vec::as_slice)
    }

    fn fold_effect(&mut self, time: TimeMs, effect: &Effect) -> Result<(), Fault> {
        match *effect {
            Effect::MarketCreated { market, .. } => {
                is_next(market.index(), self.markets.len())?;
                self.markets.push(Vec::new());
                Ok(())
            }
            Effect::MarketMoved { market, from, to, .. } => {
                self.add(market, ActivityRow::Moved { from, to, time })
            }
            Effect::TradeMade(trade) => {
                let price = trade.taker_direction.own_price(trade.price);
                let row = ActivityRow::Trade {
                    outcome: trade.taker_direction.gains(),
                    stake: price.times(trade.quantity)?,
                    price,
                    user: trade.taker.user,
                    time,
                };
                self.add(trade.market, row)
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, market: MarketNo, row: ActivityRow) -> Result<(), Fault> {
        let rows = self.markets.get_mut(market.index()).ok_or(Fault::UnknownMarket(market))?;
        rows.push(row);
        Ok(())
    }
}

impl Projection for Activity {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        for effect in applied.effects {
            faults.check(self.fold_effect(applied.time, effect));
        }
    }
}
