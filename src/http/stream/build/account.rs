//! What a record means to the accounts that it changes.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Fact, Facts, Told};
use crate::stream::channel::{Channel, Topic};
use crate::stream::topics::Topics;
use crate::wire::account::{BalanceJson, HeartbeatJson, PositionJson};
use crate::wire::order::{FillJson, OrderJson};
use crate::wire::statement::{LedgerLineJson, SettlementJson};
use crate::wire::stream::{Body, HeldJson};
use exchange::ahead::Ahead;
use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::units::{MoneySum, Tick};
use views::ReadModel;
use views::fills::{FillRow, Liquidity};
use views::orders::OrderRow;

/// An order that came to rest, and where.
type Rested = (OrderNo, (Direction, Tick));
use views::settlements::SettlementRow;

/// Adds what a record tells to the accounts that are listened to.
pub(super) fn tell(to: &mut Facts, topics: &Topics, view: &ReadModel, at: &Applied<'_>) {
    let mut users: Vec<UserNo> = Vec::new();
    for user in at.effects.iter().flat_map(users_of).flatten() {
        if topics.has_account(user) && !users.contains(&user) {
            users.push(user);
        }
    }
    for user in users {
        let account = Account { user, view, at };
        let before = view.changes.of_account(user).before;
        account.bodies(|body| {
            to.facts.push(Fact {
                topic: Topic::Account(user),
                channel: Channel::Account,
                at: (at.sequence, at.time),
                previous: before,
                told: Told::Body(body),
            });
        });
    }
}

/// The users whose accounts an effect changes.
const fn users_of(effect: &Effect) -> [Option<UserNo>; 2] {
    match effect {
        Effect::OrderAccepted { terms, .. } => [Some(terms.user), None],
        Effect::OrderRested { user, .. }
        | Effect::OrderCancelled { user, .. }
        | Effect::OrderAmended { user, .. }
        | Effect::PositionChanged { user, .. }
        | Effect::PositionSettled { user, .. }
        | Effect::AccountChanged { user, .. }
        | Effect::HeartbeatExpired { user }
        | Effect::GroupHeartbeatExpired { user, .. } => [Some(*user), None],
        Effect::TradeMade(trade) => [Some(trade.taker.user), Some(trade.maker.user)],
        _ => [None, None],
    }
}

/// A record and one account.
struct Account<'a> {
    user: UserNo,
    view: &'a ReadModel,
    at: &'a Applied<'a>,
}

impl Account<'_> {
    /// What the record tells, each as a read shows it after the record.
    fn bodies(&self, mut add: impl FnMut(Body)) {
        let Account { user, view, at } = *self;
        let (orders, rested) = self.orders();
        for row in &orders {
            let order = OrderJson::seen(view, row);
            let order = match rested.iter().find(|it| it.0 == row.no) {
                Some((_, place)) => order.queued(self.ahead(row, *place)),
                None => order,
            };
            add(Body::Order(Box::new(order)));
        }
        for fill in self.fills(&orders) {
            add(Body::Fill(Box::new(FillJson::of(view, &fill))));
        }
        for (market, realised) in self.positions() {
            if let Some(held) = self.held(market, realised) {
                add(Body::Position(Box::new(held)));
            }
        }
        let its = |effect: &&Effect| users_of(effect).contains(&Some(user));
        let is_money = |effect: &Effect| matches!(effect, Effect::AccountChanged { .. });
        if at.effects.iter().filter(its).any(is_money)
            && let Some(row) = view.accounts.user(user)
        {
            add(Body::Balance(BalanceJson::of(row.balance, view.accounts.currency())));
        }
        for (_, change) in view.statements.just_added().iter().filter(|(owner, _)| *owner == user) {
            add(Body::Ledger(Box::new(LedgerLineJson::of(view, change))));
        }
        for effect in at.effects.iter().filter(its) {
            if let Some((_, row)) = SettlementRow::told(at, effect) {
                add(Body::Settlement(Box::new(SettlementJson::of(view, &row))));
            }
            let group = match effect {
                Effect::HeartbeatExpired { .. } => None,
                Effect::GroupHeartbeatExpired { group, .. } => Some(**group),
                _ => continue,
            };
            let heartbeat = view.accounts.heartbeat((user, group));
            add(Body::HeartbeatExpired(HeartbeatJson::of(heartbeat, group)));
        }
    }

    /// What stands before an order that the record put at the end of its queue. It puts no other
    /// there: one record has one order come on the book.
    fn ahead(&self, row: &OrderRow, (side, price): (Direction, Tick)) -> Option<Ahead> {
        let level = self.view.book(row.market, side).find(|level| level.price == price)?;
        let quantity = level.quantity.minus(row.remaining).ok()?;
        Some(Ahead { quantity, orders: level.orders.checked_sub(1)? })
    }

    /// Its orders that the record placed or changed, as the record left them, and the places of
    /// those that it put on a book.
    fn orders(&self) -> (Vec<OrderRow>, Vec<Rested>) {
        // A record may be about thousands of them.
        let (mut numbers, mut seen) = (Vec::new(), FxHashSet::default());
        let mut rested = Vec::new();
        for effect in self.at.effects {
            let orders = match effect {
                Effect::OrderAccepted { order, terms } => [Some((terms.user, *order)), None],
                Effect::OrderRested { order, user, direction, price, .. } => {
                    if *user == self.user {
                        rested.push((*order, (*direction, *price)));
                    }
                    [Some((*user, *order)), None]
                }
                Effect::OrderCancelled { order, user, .. }
                | Effect::OrderAmended { order, user, .. } => [Some((*user, *order)), None],
                Effect::TradeMade(trade) => {
                    [trade.taker, trade.maker].map(|party| Some((party.user, party.order)))
                }
                _ => continue,
            };
            for (user, order) in orders.into_iter().flatten() {
                if user == self.user && seen.insert(order) {
                    numbers.push(order);
                }
            }
        }
        // The record left each open or has just ended it: no history is read.
        let row = |order| self.view.orders.order(self.user, order).row().ok().flatten();
        (numbers.into_iter().filter_map(row).collect(), rested)
    }

    /// Its fills, in the order of the trades.
    fn fills(&self, orders: &[OrderRow]) -> Vec<FillRow> {
        let by_number: FxHashMap<OrderNo, &OrderRow> =
            orders.iter().map(|order| (order.no, order)).collect();
        let (mut fills, mut effects) = (Vec::new(), self.at.effects);
        while let [effect, rest @ ..] = effects {
            effects = rest;
            let Effect::TradeMade(trade) = effect else { continue };
            let parties = [(trade.taker, Liquidity::Taker), (trade.maker, Liquidity::Maker)];
            for (party, liquidity) in parties {
                let order = by_number.get(&party.order);
                if let Some(order) = order.filter(|_| party.user == self.user) {
                    let of_order = (order.wording, order.created_at, order.client_id);
                    fills.push(FillRow::of((self.at, rest), trade, liquidity, of_order));
                }
            }
        }
        fills
    }

    /// The markets in which what it holds changed, with what was realised in each so far.
    fn positions(&self) -> Vec<(MarketNo, MoneySum)> {
        let mut changed: Vec<(MarketNo, MoneySum)> = Vec::new();
        for effect in self.at.effects {
            let (Effect::PositionChanged { user, market, realised, .. }
            | Effect::PositionSettled { user, market, realised, .. }) = effect
            else {
                continue;
            };
            if *user == self.user {
                changed.retain(|(other, _)| other != market);
                changed.push((*market, *realised));
            }
        }
        changed
    }

    fn held(&self, market: MarketNo, realised: MoneySum) -> Option<HeldJson> {
        let market = self.view.catalogue.market(market)?;
        let positions = [Outcome::Yes, Outcome::No].into_iter().filter_map(|outcome| {
            let row = self.view.positions.position(self.user, market.no, outcome)?;
            PositionJson::in_market(self.view, row, market)
        });
        Some(HeldJson::of(market.id, positions.collect(), realised))
    }
}
