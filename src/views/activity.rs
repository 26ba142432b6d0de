//! The activity feed of each market: its trades and its status changes (semantics 6).

use super::fault::{Fault, View};
use super::history::chain::{RowIndex, length};
use super::history::onward::Made;
use super::history::stream::{Newest, Row, Streams};
use super::history::{Coder, History, Kind, Refers};
use super::saved::saved;
use exchange::catalogue::Outcome;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::market::MarketStatus;
use exchange::units::{Money, Overflow, Sequence, Tick, TimeMs};

/// One event of a market's activity feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityRow {
    /// A trade, from the taker's point of view.
    Trade {
        /// The outcome that the taker bets on.
        outcome: Outcome,
        /// Price x quantity at the price of that outcome.
        stake: Money,
        /// The price of that outcome; the odds are 1 over it.
        price: Tick,
        /// The taker.
        user: UserNo,
        /// The record that made it.
        sequence: Sequence,
        /// When.
        time: TimeMs,
    },
    /// The market changed its status.
    Moved {
        /// Status before.
        from: MarketStatus,
        /// Status since.
        to: MarketStatus,
        /// The record that moved it.
        sequence: Sequence,
        /// When.
        time: TimeMs,
    },
}

impl ActivityRow {
    /// What an effect tells of a market, and which.
    ///
    /// # Errors
    /// A stake leaves the range of its type.
    pub fn told(
        at: &Applied<'_>,
        effect: &Effect,
    ) -> Result<Option<(MarketNo, ActivityRow)>, Overflow> {
        let Applied { sequence, time, .. } = *at;
        Ok(match *effect {
            Effect::MarketMoved { market, from, to, .. } => {
                Some((market, ActivityRow::Moved { from, to, sequence, time }))
            }
            Effect::TradeMade(trade) => {
                let price = trade.taker_direction.own_price(trade.price);
                let row = ActivityRow::Trade {
                    outcome: trade.taker_direction.gains(),
                    stake: price.times(trade.quantity)?,
                    price,
                    user: trade.taker.user,
                    sequence,
                    time,
                };
                Some((trade.market, row))
            }
            _ => None,
        })
    }

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

    /// The record that made it.
    pub const fn sequence(&self) -> Sequence {
        match self {
            ActivityRow::Trade { sequence, .. } | ActivityRow::Moved { sequence, .. } => *sequence,
        }
    }
}

/// The name of a transition, given by its target, except for the two transitions to ACTIVE.
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

/// Every market's rows.
#[derive(Debug, Default)]
pub struct Activity {
    markets: Streams<ActivityRow>,
}

saved!(Activity { markets });

impl Activity {
    /// No rows yet; pages go to `history`.
    pub(super) const fn on(history: History) -> Activity {
        Activity { markets: Streams::on(history) }
    }

    /// A market's activity, newest first.
    pub fn of(&self, market: MarketNo) -> Newest<ActivityRow> {
        self.markets.pages(market.0).newest_first()
    }

    /// Number of activity rows of a market. O(1).
    pub fn count(&self, market: MarketNo) -> usize {
        length(self.markets.count(market.0))
    }

    fn add(&mut self, market: MarketNo, row: ActivityRow) -> Result<(), Fault> {
        self.markets.push(market.0, &row, Fault::UnknownMarket(market)).map(drop)
    }
}

impl View for Activity {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match *effect {
            Effect::MarketCreated { market, .. } => self.markets.add_owner(market.index()),
            _ => match ActivityRow::told(at, effect)? {
                Some((market, row)) => self.add(market, row),
                None => Ok(()),
            },
        }
    }
}

// Packing of activity rows.

impl Row for ActivityRow {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Activity;

    fn base(&self) -> Self::Base {
        self.made()
    }

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &Self::Base,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        let trade = row.and_then(|row| match *row {
            ActivityRow::Trade { outcome, stake, price, user, .. } => {
                Some((outcome, stake, price, user))
            }
            ActivityRow::Moved { .. } => None,
        });
        let moved = row.and_then(|row| match *row {
            ActivityRow::Moved { from, to, .. } => Some((from, to)),
            ActivityRow::Trade { .. } => None,
        });
        let kind = row.map(|_| if trade.is_some() { 1 } else { 2 });
        let kind = coder.imaged::<u8>(kind)?;
        let sequence = coder.sequence(before.0, row.map(ActivityRow::sequence))?;
        let time = coder.time(before.1, row.map(ActivityRow::time))?;
        match kind {
            1 => Ok(ActivityRow::Trade {
                outcome: coder.imaged(trade.map(|trade| trade.0))?,
                stake: coder.money(trade.map(|trade| trade.1))?,
                price: coder.imaged(trade.map(|trade| trade.2))?,
                user: UserNo(coder.short(trade.map(|trade| trade.3.0))?),
                sequence,
                time,
            }),
            2 => Ok(ActivityRow::Moved {
                from: coder.imaged(moved.map(|moved| moved.0))?,
                to: coder.imaged(moved.map(|moved| moved.1))?,
                sequence,
                time,
            }),
            _ => Err(BadImage::Value("ActivityRow")),
        }
    }
}

impl Made for ActivityRow {
    fn made(&self) -> (Sequence, TimeMs) {
        (self.sequence(), self.time())
    }
}

impl Refers for ActivityRow {
    type Owner = MarketNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        match self {
            ActivityRow::Trade { user, .. } => (Some(*user), None),
            ActivityRow::Moved { .. } => (None, None),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/activity.rs"]
mod tests;
