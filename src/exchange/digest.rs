//! The state's image in canonical order, and its hash: equal states, equal digests, on any
//! machine.

use std::fmt;

use sha2::{Digest, Sha256};

use super::Exchange;
use super::catalogue::Outcome;
use super::command::{Condition, Direction, Role, SelfTradePrevention, Side, TradingMode};
use super::effect::Holding;
use super::ids::{MarketNo, UserNo};
use super::invariant::Broken;
use super::market::Market;
use super::orders::Order;
use super::repeats::Repeats;
use super::units::{Money, TimeMs};

/// SHA-256 of a state's image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateDigest(pub [u8; 32]);

impl fmt::Display for StateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

/// Version of the image below; a change of what it holds, or of its order, gets a new one.
const IMAGE_VERSION: u64 = 1;

/// Feeds the image to the hash: integers little-endian, lists and texts after their length.
struct Image(Sha256);

impl Image {
    fn u64(&mut self, value: u64) {
        self.0.update(value.to_le_bytes());
    }

    fn i64(&mut self, value: i64) {
        self.0.update(value.to_le_bytes());
    }

    fn i128(&mut self, value: i128) {
        self.0.update(value.to_le_bytes());
    }

    fn count(&mut self, count: usize) {
        self.u64(u64::try_from(count).unwrap_or(u64::MAX));
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    /// Nothing is -1: times and numbers are never negative.
    fn time(&mut self, time: Option<TimeMs>) {
        self.i64(time.map_or(-1, TimeMs::get));
    }

    fn user(&mut self, user: Option<UserNo>) {
        self.i64(user.map_or(-1, |user| i64::from(user.0)));
    }

    fn holding(&mut self, holding: &Holding) {
        self.u64(holding.held.get());
        self.u64(holding.locked.get());
        self.i64(holding.cost.get());
        self.user(holding.copy_from);
    }

    fn repeats(&mut self, repeats: &Repeats) {
        let names = repeats.all();
        self.count(names.len());
        for name in names {
            self.time(Some(name.at));
            self.0.update(name.name.0);
            self.u64(name.first.get());
            self.0.update(name.body.unwrap_or_default().0);
            self.time(Some(name.until));
            self.u64(u64::from(name.order));
            self.count(name.firsts.len());
            for (part, first) in name.firsts {
                self.u64(u64::from(*part));
                self.u64(first.get());
            }
        }
    }

    fn order(&mut self, order: &Order) {
        self.u64(order.no.0.get());
        self.user(Some(order.user));
        self.u64(match order.wording.outcome {
            Outcome::Yes => 1,
            Outcome::No => 2,
        });
        self.u64(match order.wording.side {
            Side::Buy => 1,
            Side::Sell => 2,
        });
        self.u64(u64::from(order.price.get()));
        self.u64(order.quantity.get());
        self.u64(order.filled.get());
        self.u64(order.backing.contracts.get());
        self.u64(order.backing.cash.get());
        self.time(order.expires_at);
        self.u64(match order.self_trade {
            SelfTradePrevention::CancelTaker => 1,
            SelfTradePrevention::CancelMaker => 2,
            SelfTradePrevention::CancelBoth => 3,
        });
        self.u64(match order.condition {
            Condition::Unconditional => 0,
            Condition::PostOnly => 1,
            Condition::ReduceOnly => 2,
            Condition::PostOnlyReduceOnly => 3,
        });
        self.user(order.copy_from);
    }
}

const fn mode_number(mode: TradingMode) -> u64 {
    match mode {
        TradingMode::Normal => 1,
        TradingMode::CancelOnly => 2,
        TradingMode::ReadOnly => 3,
    }
}

impl Exchange {
    /// The hash of the whole state. Takes time in proportion to its size.
    pub fn digest(&self) -> Result<StateDigest, Broken> {
        let mut image = Image(Sha256::new());
        image.u64(IMAGE_VERSION);
        image.u64(self.sequence.get());
        image.i64(self.time.get());
        image.count(usize::from(self.rules.is_some()));
        if let Some(rules) = &self.rules {
            image.u64(u64::from(rules.version));
            image.text(&rules.currency);
            image.u64(u64::from(rules.user_open_orders_max));
            image.u64(u64::from(rules.venue_open_orders_max));
            image.i64(rules.money_supply_max.get());
            image.u64(u64::from(rules.repeat_window_seconds));
        }
        let slugs = self.catalogue.slugs_sorted();
        image.count(slugs.len());
        for slug in slugs {
            image.text(slug);
        }
        image.count(self.catalogue.categories_count());
        image.count(self.catalogue.events_count());
        image.count(self.keys.keys.len());
        for key in &self.keys.keys {
            image.user(Some(key.user));
            image.u64(match key.role {
                Role::Trader => 1,
                Role::Operator => 2,
            });
            image.0.update(key.hash.0);
            image.u64(u64::from(key.revoked));
        }
        image.i128(self.ledger.net_deposits().get());
        image.count(self.ledger.users_count());
        for (_, account) in self.ledger.accounts() {
            image.i64(account.available.get());
            image.i64(account.reserved.get());
        }
        image.u64(mode_number(self.standings.venue));
        image.count(self.standings.users.len());
        for standing in &self.standings.users {
            image.u64(mode_number(standing.mode));
            image.i64(standing.exposure_limit.map_or(-1, Money::get));
            image.time(standing.heartbeat.until);
            image.u64(u64::from(standing.heartbeat.expired));
        }
        image.count(self.markets.len());
        for (market, state) in self.markets_numbered() {
            self.market_image(&mut image, market, state)?;
        }
        image.repeats(&self.repeats);
        Ok(StateDigest(image.0.finalize().into()))
    }

    fn market_image(
        &self,
        image: &mut Image,
        market: MarketNo,
        state: &Market,
    ) -> Result<(), Broken> {
        image.text(state.status.name());
        image.time(Some(state.deadline));
        image.u64(u64::from(state.dispute_window_seconds));
        image.time(state.window_end);
        image.text(state.winner.map_or("", Outcome::id));
        for side in [Direction::Up, Direction::Down] {
            image.count(state.book.levels(side).count());
            for (tick, level) in state.book.levels(side) {
                image.u64(u64::from(tick.get()));
                image.u64(u64::from(level.orders));
                for slot in state.book.queue(&self.orders, side, tick) {
                    image.order(self.orders.get(slot)?);
                }
            }
        }
        let positions = self.ledger.positions_sorted(market)?;
        image.count(positions.len());
        for (user, position) in positions {
            image.user(Some(user));
            image.holding(&position.yes);
            image.holding(&position.no);
            image.i128(position.realised.get());
        }
        Ok(())
    }
}
