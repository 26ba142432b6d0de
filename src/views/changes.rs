//! When what readers follow last changed: each market's book, trades and activity, each user's
//! account, the scores, the keys. A response cache uses it to decide whether a cached response is
//! still valid, and a reader who follows a market or an account learns from it what came before.

use super::fault::{Fault, View};
use super::saved::{Saved, Sink, Sizes, Source, hold, saved};
use super::table::Table;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::Sequence;

/// The last two records that changed something; [`Sequence::ZERO`] where there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changed {
    /// The last.
    pub last: Sequence,
    /// The one before it.
    pub before: Sequence,
}

saved!(Changed { last, before } made {} by checked);

impl Changed {
    #[inline]
    fn at(&mut self, now: Sequence) {
        if self.last != now {
            *self = Changed { last: now, before: self.last };
        }
    }

    /// The last record before `now` that changed something.
    pub fn prior(self, now: Sequence) -> Sequence {
        if self.last < now { self.last } else { self.before }
    }

    fn checked(self, _: Sizes) -> Result<Self, BadImage> {
        hold(self.before <= self.last, "changes out of order")?;
        Ok(self)
    }
}

/// The records that changed what is public of a market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarketChanges {
    /// The orders on its book, and so its levels. Once the market has ended its book is empty,
    /// whatever is still to be cancelled.
    pub book: Changed,
    /// Its public trades.
    pub trades: Changed,
    /// Its activity: trades and changes of status.
    pub activity: Changed,
    /// The best bid and the best ask.
    pub top: Changed,
    /// Anything of it: also its texts, flags or deadline, what is held of it, or that it was
    /// created.
    pub all: Changed,
    /// Whether it has ended.
    ended: bool,
}

saved!(MarketChanges { book, trades, activity, top, all, ended });

impl MarketChanges {
    /// An order came on the book, left it or was changed there.
    #[inline]
    fn book_at(&mut self, now: Sequence) {
        if !self.ended {
            self.book.at(now);
            self.all.at(now);
        }
    }
}

/// The records that changed an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct AccountChanges {
    /// Anything of it.
    all: Changed,
    /// Its orders.
    orders: Sequence,
    /// Its contracts.
    positions: Sequence,
}

saved!(AccountChanges { all, orders, positions });

/// The records of the last changes. Those of markets and accounts are in the image, so that they
/// are the same after a restart, and in a replay.
#[derive(Debug, Default)]
pub struct Changes {
    markets: Table<MarketNo, MarketChanges>,
    accounts: Table<UserNo, AccountChanges>,
    /// What is told of all public markets: texts, status or displayed probability of any.
    catalogue: Changed,
    /// Of these two a reader of a model just read has cached nothing.
    scores: Sequence,
    keys: Sequence,
}

impl Saved for Changes {
    fn save(&self, sink: &mut Sink<'_>) {
        let Changes { markets, accounts, catalogue, scores: _, keys: _ } = self;
        markets.save(sink);
        accounts.save(sink);
        catalogue.save(sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        let (markets, accounts) = (Table::load(source)?, Table::load(source)?);
        let catalogue = Changed::load(source)?;
        Ok(Changes { markets, accounts, catalogue, ..Changes::default() })
    }
}

impl Changes {
    /// The records that changed a market; none if it does not exist.
    pub fn of_market(&self, market: MarketNo) -> MarketChanges {
        self.markets.at(market)
    }

    /// The records that changed anything of a user's orders, fills, positions or money, or ended
    /// a heartbeat of the user's.
    pub fn of_account(&self, user: UserNo) -> Changed {
        self.accounts.at(user).all
    }

    /// The records that changed what is told of all public markets.
    pub const fn of_catalogue(&self) -> Changed {
        self.catalogue
    }

    /// The record that last changed the levels of a market's book.
    pub fn of_book(&self, market: MarketNo) -> Sequence {
        self.of_market(market).book.last
    }

    /// The record that last placed or changed an order of a user.
    pub fn of_orders(&self, user: UserNo) -> Sequence {
        self.accounts.at(user).orders
    }

    /// The record that last changed a user's contracts.
    pub fn of_positions(&self, user: UserNo) -> Sequence {
        self.accounts.at(user).positions
    }

    /// The record that last changed anyone's realised profit or traded volume.
    pub const fn of_scores(&self) -> Sequence {
        self.scores
    }

    /// The record that last added or revoked a key.
    pub const fn of_keys(&self) -> Sequence {
        self.keys
    }

    /// What is told of all public markets has changed.
    pub(crate) fn catalogue_at(&mut self, now: Sequence) {
        self.catalogue.at(now);
    }

    /// The best prices of a market have changed, or what stands there; whether anybody sees that.
    pub(crate) fn top_at(&mut self, market: MarketNo, now: Sequence) -> Result<bool, Fault> {
        let row = self.markets.row(market)?;
        if !row.ended {
            row.top.at(now);
        }
        Ok(!row.ended)
    }

    #[inline]
    fn account(&mut self, user: UserNo, now: Sequence) -> Result<(), Fault> {
        self.accounts.row(user)?.all.at(now);
        Ok(())
    }

    #[inline]
    fn order(&mut self, user: UserNo, now: Sequence) -> Result<(), Fault> {
        self.accounts.row(user)?.orders = now;
        self.account(user, now)
    }
}

impl View for Changes {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        let now = at.sequence;
        match effect {
            Effect::MarketCreated { market, .. } => {
                let mut row = MarketChanges::default();
                row.all.at(now);
                self.markets.add(*market, row)?;
            }
            Effect::UserCreated { user, .. } => {
                self.accounts.add(*user, AccountChanges::default())?;
            }
            Effect::OrderAccepted { terms, .. } => self.order(terms.user, now)?,
            Effect::OrderRested { user, market, .. }
            | Effect::OrderAmended { user, market, .. }
            | Effect::OrderCancelled { user, market, rested: true, .. } => {
                self.markets.row(*market)?.book_at(now);
                self.order(*user, now)?;
            }
            Effect::OrderCancelled { user, rested: false, .. } => self.order(*user, now)?,
            Effect::AccountChanged { user, .. }
            | Effect::HeartbeatExpired { user }
            | Effect::GroupHeartbeatExpired { user, .. } => {
                self.account(*user, now)?;
            }
            Effect::TradeMade(trade) => {
                let market = self.markets.row(trade.market)?;
                market.book.at(now);
                market.trades.at(now);
                market.activity.at(now);
                market.all.at(now);
                self.order(trade.taker.user, now)?;
                self.order(trade.maker.user, now)?;
                self.scores = now;
            }
            // The scores: conservative, as some of these do not change any.
            Effect::PositionChanged { user, market, .. }
            | Effect::PositionSettled { user, market, .. } => {
                self.markets.row(*market)?.all.at(now);
                self.accounts.row(*user)?.positions = now;
                self.account(*user, now)?;
                self.scores = now;
            }
            Effect::MarketMoved { market, from, to, .. } => {
                let market = self.markets.row(*market)?;
                market.activity.at(now);
                market.all.at(now);
                if from.keeps_orders() && !to.keeps_orders() {
                    market.book.at(now);
                    market.top.at(now);
                }
                market.ended = !to.keeps_orders();
            }
            Effect::MarketRevised { market, .. } => self.markets.row(*market)?.all.at(now),
            Effect::KeyAdded { .. }
            | Effect::KeyRevoked { .. }
            | Effect::PasswordSet { .. }
            | Effect::SignedOut { .. } => self.keys = now,
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/changes.rs"]
mod tests;
