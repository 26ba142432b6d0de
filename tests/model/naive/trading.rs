//! The twin's trading: place, match, amend, cancel (semantics 4 and 5).

use exchange::command::{Direction, PlaceOrder, SeenTerms, SelfTradePrevention, TimeInForce};
use exchange::effect::{CancelReason, Effect, Party, Trade};
use exchange::ids::{Group, KeyNo, MarketNo, OrderNo, TradeIndex, UserNo};
use exchange::reject::Reject;
use exchange::units::{Lots, Sequence, Tick, TimeMs};

use super::book::QueuePosition;
use super::ledger::{Backing, Bet, Rates, Unbacked, lots, money};
use super::markets::Due;
use super::{Naive, Order, number};
use exchange::market::MarketStatus;

pub fn order_no(number: u64) -> OrderNo {
    OrderNo(Sequence::new(number))
}

pub fn tick(ticks: u8) -> Tick {
    Tick::new(ticks).expect("prices are 1 to 99")
}

/// First moment at which an order is expired.
pub const fn expiry(terms: &PlaceOrder) -> Option<TimeMs> {
    match terms.time_in_force {
        TimeInForce::GoodTillCancelled { expires_at } => expires_at,
        TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => None,
    }
}

/// Ticks of the owner's side when yes trades at `yes`.
pub fn own_ticks(direction: Direction, yes: u8) -> i128 {
    match direction {
        Direction::Up => i128::from(yes),
        Direction::Down => 100 - i128::from(yes),
    }
}

fn bet(terms: &PlaceOrder, price: u8, rates: Rates) -> Bet {
    let direction = terms.wording.direction();
    Bet {
        user: terms.user.0,
        market: terms.market.0,
        direction,
        own_limit: own_ticks(direction, price),
        rates,
        reduce_only: terms.condition.reduce_only(),
        copy_from: terms.copy_from,
    }
}

fn unbacked(why: Unbacked) -> Reject {
    match why {
        Unbacked::NotByContractsAlone => Reject::ReduceOnlyExceeded,
        Unbacked::NotEnoughMoney => Reject::InsufficientFunds,
    }
}

impl Naive {
    pub fn order(&self, number: u64) -> &Order {
        &self.orders[&number]
    }

    fn order_mut(&mut self, number: u64) -> &mut Order {
        self.orders.get_mut(&number).expect("a known order")
    }

    fn bet_of(&self, number: u64) -> Bet {
        let order = self.order(number);
        bet(&order.terms, order.price, self.rates(order.terms.market))
    }

    fn rates(&self, market: MarketNo) -> Rates {
        self.markets[market.index()].rates
    }

    fn over(&self, terms: &PlaceOrder) -> bool {
        expiry(terms).is_some_and(|at| self.now >= at)
    }

    /// The numbers of a user's resting orders, oldest first.
    pub fn open_orders(&self, user: UserNo) -> Vec<u64> {
        let mut open: Vec<u64> = self
            .markets
            .iter()
            .flat_map(|market| market.book.ups.iter().chain(&market.book.downs))
            .map(|place| place.order)
            .filter(|number| self.order(*number).terms.user == user)
            .collect();
        open.sort_unstable();
        open
    }

    /// Whether the sender may place orders in the market, open or not.
    fn may_send(&self, terms: &PlaceOrder) -> Result<(), Reject> {
        self.known_user(terms.user)?;
        if let Some(copied) = terms.copy_from {
            self.known_user(copied)?;
        }
        self.may_trade(terms.user)?;
        if self.silent(terms.user, terms.group.as_deref()) {
            return Err(Reject::HeartbeatExpired);
        }
        self.own_key(terms.user, terms.key)?;
        self.public_market(terms.market)
    }

    pub(super) fn replace(&mut self, old: OrderNo, terms: &PlaceOrder) -> Result<(), Reject> {
        self.may_send(terms)?;
        let number = self.own_open(terms.user, old)?;
        if self.due_reason(number).is_some() {
            return Err(Reject::OrderNotOpen);
        }
        // Either both happen or nothing does: what a cancel touches is kept to be put back.
        let before = self.order(number).clone();
        let market = before.terms.market.index();
        let (book, ledger) = (self.markets[market].book.clone(), self.ledger.clone());
        let effects = self.effects.len();
        self.cancel(terms.user, old)?;
        self.place(terms).inspect_err(|_| {
            self.orders.insert(number, before);
            self.markets[market].book = book;
            self.ledger = ledger;
            self.effects.truncate(effects);
        })
    }

    pub(super) fn place(&mut self, terms: &PlaceOrder) -> Result<(), Reject> {
        self.may_send(terms)?;
        self.takes_orders(terms.market)?;
        let stale = terms.valid_until.is_some_and(|until| self.now > until);
        if stale || self.over(terms) {
            return Err(Reject::OrderTooLate);
        }
        let rules = self.rules.as_ref().expect("an open venue");
        let own = self.open_orders(terms.user).len();
        let everybodys: usize = self.markets.iter().map(|market| market.book.len()).sum();
        if matches!(terms.time_in_force, TimeInForce::GoodTillCancelled { .. })
            && (own >= rules.user_open_orders_max as usize
                || everybodys >= rules.venue_open_orders_max as usize)
        {
            return Err(Reject::OpenOrderLimit);
        }
        let price = terms.wording.yes_price(terms.price).get();
        let wanted = number(terms.quantity);
        let bet = bet(terms, price, self.rates(terms.market));
        // Tried on a copy: a refusal must change nothing.
        let mut tried = self.ledger.copy_of(terms.user.0, terms.market.0);
        let backing = tried.back(&bet, wanted).map_err(unbacked)?;
        self.within_limit(terms.user, &tried, backing.cash_lots > 0)?;
        if terms.condition.post_only() && !self.live_met_by(terms, price).is_empty() {
            return Err(Reject::PostOnlyWouldCross);
        }
        let order = Order {
            number: self.sequence,
            terms: terms.clone(),
            price,
            original: wanted,
            filled: 0,
            cancelled: 0,
            filled_cost: 0,
            backing: Backing::default(),
            rests: false,
        };
        let number = self.sequence;
        self.orders.insert(number, order);
        self.emit(Effect::OrderAccepted { order: order_no(number), terms: terms.clone() });
        if terms.time_in_force == TimeInForce::FillOrKill && self.reachable(terms, price) < wanted {
            self.cancel_rest(number, CancelReason::FokNotFillable);
            return Ok(());
        }
        self.ledger.adopt(tried);
        self.order_mut(number).backing = backing;
        self.enter(number);
        Ok(())
    }

    /// Resting orders, not due to be cancelled, that an order with these terms would match, best
    /// first.
    fn live_met_by(&self, terms: &PlaceOrder, price: u8) -> Vec<u64> {
        self.markets[terms.market.index()]
            .book
            .met_by(terms.wording.direction(), price)
            .into_iter()
            .filter(|number| self.due_reason(*number).is_none())
            .collect()
    }

    /// The quantity that a fill-or-kill order can fill under its self-trade mode.
    fn reachable(&self, terms: &PlaceOrder, price: u8) -> i128 {
        let mut sum = 0;
        for number in self.live_met_by(terms, price) {
            let order = self.order(number);
            if order.terms.user != terms.user {
                sum += order.remaining();
            } else if terms.self_trade != SelfTradePrevention::CancelMaker {
                break;
            }
        }
        sum
    }

    /// Matches a backed order; then its remainder rests or is cancelled.
    fn enter(&mut self, number: u64) {
        let Order { terms, price, .. } = self.order(number).clone();
        let direction = terms.wording.direction();
        let mut trades = 0;
        for maker in self.markets[terms.market.index()].book.met_by(direction, price) {
            if self.order(number).remaining() == 0 {
                break;
            }
            let maker_user = self.order(maker).terms.user;
            if let Some(reason) = self.due_reason(maker) {
                self.cancel_rest(maker, reason);
            } else if maker_user == terms.user {
                if terms.self_trade != SelfTradePrevention::CancelTaker {
                    self.cancel_rest(maker, CancelReason::SelfTrade);
                }
                if terms.self_trade != SelfTradePrevention::CancelMaker {
                    self.cancel_rest(number, CancelReason::SelfTrade);
                    return;
                }
            } else {
                self.trade(number, maker, TradeIndex(trades));
                trades += 1;
            }
        }
        if self.order(number).remaining() == 0 {
            return;
        }
        match terms.time_in_force {
            TimeInForce::GoodTillCancelled { .. } => self.rest(number),
            TimeInForce::ImmediateOrCancel => {
                self.cancel_rest(number, CancelReason::IocRemainder);
            }
            TimeInForce::FillOrKill => unreachable!("it was found fillable"),
        }
    }

    fn trade(&mut self, taker: u64, maker: u64, index: TradeIndex) {
        let quantity = self.order(taker).remaining().min(self.order(maker).remaining());
        let price = self.order(maker).price;
        let rates = self.rates(self.order(taker).terms.market);
        let mut fees = Vec::new();
        for (number, rate) in [(maker, rates.maker), (taker, rates.taker)] {
            let bet = self.bet_of(number);
            let mut backing = self.order(number).backing;
            let traded = (quantity, own_ticks(bet.direction, price));
            fees.push(self.ledger.fill(&bet, &mut backing, traded, rate));
            let order = self.order_mut(number);
            order.backing = backing;
            order.filled += quantity;
            let worded = order.terms.wording.yes_price(tick(price));
            order.filled_cost += quantity * i128::from(worded.get());
        }
        if self.order(maker).remaining() == 0 {
            self.take_off(maker);
        }
        let party = |number: u64, fee: i128| Party {
            order: order_no(number),
            user: self.order(number).terms.user,
            remaining: lots(self.order(number).remaining()),
            fee: money(fee),
        };
        let trade = Trade {
            index,
            market: self.order(taker).terms.market,
            price: tick(price),
            quantity: lots(quantity),
            taker_direction: self.order(taker).terms.wording.direction(),
            taker: party(taker, fees[1]),
            maker: party(maker, fees[0]),
        };
        self.emit(Effect::TradeMade(trade));
    }

    fn rest(&mut self, number: u64) {
        self.arrivals += 1;
        let place = QueuePosition {
            order: number,
            price: self.order(number).price,
            arrival: self.arrivals,
        };
        let Order { terms, price, .. } = self.order(number).clone();
        let direction = terms.wording.direction();
        self.markets[terms.market.index()].book.add(direction, place);
        self.order_mut(number).rests = true;
        let remaining = lots(self.order(number).remaining());
        self.emit(Effect::OrderRested {
            order: order_no(number),
            user: terms.user,
            market: terms.market,
            direction,
            price: tick(price),
            remaining,
        });
    }

    fn take_off(&mut self, number: u64) {
        let terms = self.order(number).terms.clone();
        self.markets[terms.market.index()].book.remove(terms.wording.direction(), number);
        self.order_mut(number).rests = false;
    }

    /// Cancels an order's remainder, whether it rests or was just taken in.
    pub(super) fn cancel_rest(&mut self, number: u64, reason: CancelReason) {
        let Order { terms, price, backing, rests, .. } = self.order(number).clone();
        let left = self.order(number).remaining();
        assert!(left > 0, "nothing to cancel");
        if rests {
            self.take_off(number);
        }
        let bet = self.bet_of(number);
        self.ledger.release(&bet, backing);
        let order = self.order_mut(number);
        order.backing = Backing::default();
        order.cancelled += left;
        self.emit(Effect::OrderCancelled {
            order: order_no(number),
            user: terms.user,
            market: terms.market,
            direction: terms.wording.direction(),
            price: tick(price),
            quantity: lots(left),
            rested: rests,
            reason,
        });
    }

    /// The order's number, if it is the user's and rests. Whether a closed order ever existed is a
    /// question for the read model: the exchange does not remember closed orders.
    fn own_open(&self, user: UserNo, order: OrderNo) -> Result<u64, Reject> {
        match self.orders.get(&order.0.get()) {
            Some(found) if found.rests && found.terms.user == user => Ok(found.number),
            Some(found) if found.rests => Err(Reject::OrderNotFound),
            _ => Err(Reject::OrderNotOpen),
        }
    }

    pub(super) fn cancel(&mut self, user: UserNo, order: OrderNo) -> Result<(), Reject> {
        self.known_user(user)?;
        self.may_cancel(user)?;
        let number = self.own_open(user, order)?;
        self.cancel_in_time(number, CancelReason::User);
        Ok(())
    }

    pub(super) fn cancel_all(
        &mut self,
        user: UserNo,
        market: Option<MarketNo>,
        group: Option<&Group>,
        key: Option<KeyNo>,
    ) -> Result<(), Reject> {
        self.known_user(user)?;
        self.may_cancel(user)?;
        self.own_key(user, key)?;
        if let Some(market) = market {
            self.public_market(market)?;
        }
        for number in self.open_orders(user) {
            let terms = &self.order(number).terms;
            let here = market.is_none_or(|market| terms.market == market)
                && key.is_none_or(|key| terms.key == Some(key));
            if here && group.is_none_or(|group| terms.group.as_deref() == Some(group)) {
                self.cancel_in_time(number, CancelReason::User);
            }
        }
        Ok(())
    }

    /// Cancels with the reason that is due first in the clock's order, journaled or not; `asked`
    /// applies only if nothing is due.
    pub(super) fn cancel_in_time(&mut self, number: u64, asked: CancelReason) {
        let reason = self.due_reason(number).unwrap_or(asked);
        self.cancel_rest(number, reason);
    }

    /// Why a resting order is due to be cancelled by now, though no clock record has done so yet.
    pub(super) fn due_reason(&self, number: u64) -> Option<CancelReason> {
        self.due_reason_at(number, self.now)
    }

    /// The same at another moment, if no record comes before it.
    pub fn due_reason_at(&self, number: u64, now: TimeMs) -> Option<CancelReason> {
        let terms = &self.order(number).terms;
        let market = &self.markets[terms.market.index()];
        let deadline = market.deadline;
        let mut dues = vec![(deadline, Due::Deadline(terms.market.0), CancelReason::MarketClosed)];
        if let Some(at) = expiry(terms) {
            dues.push((at, Due::Expiry(number), CancelReason::Expired));
        }
        for group in [None, terms.group.as_deref().copied()] {
            let whose = (terms.user.0, group);
            if let Some(beat) = self.beats.get(&whose) {
                let due = Due::Heartbeat(whose);
                dues.push((beat.silent_from, due, CancelReason::HeartbeatExpired));
            }
        }
        if let Some((at, reason)) = market.unfinished.map(|unfinished| unfinished.ended) {
            dues.push((at, Due::Unfinished(terms.market.0), reason));
        }
        dues.retain(|(at, ..)| *at <= now);
        dues.sort_unstable_by_key(|(at, due, _)| (*at, *due));
        dues.first().map(|(.., reason)| *reason)
    }

    /// Refuses an amend of an order that is not as its owner saw it.
    pub(super) fn as_seen(
        &self,
        user: UserNo,
        order: OrderNo,
        seen: Option<SeenTerms>,
    ) -> Result<(), Reject> {
        let (Some(seen), Ok(number)) = (seen, self.own_open(user, order)) else { return Ok(()) };
        let now = self.order(number);
        let same = now.price == now.terms.wording.yes_price(seen.price).get()
            && now.original == super::number(seen.quantity)
            && now.filled == super::number(seen.filled);
        if same { Ok(()) } else { Err(Reject::PreconditionFailed) }
    }

    pub(super) fn amend(
        &mut self,
        user: UserNo,
        order: OrderNo,
        price: Option<Tick>,
        quantity: Option<Lots>,
    ) -> Result<(), Reject> {
        self.known_user(user)?;
        let second = self.rules.as_ref().is_some_and(|rules| rules.version >= 2);
        if second && self.stands_as(user, order, price, quantity) {
            return Ok(());
        }
        self.may_trade(user)?;
        let number = self.own_open(user, order)?;
        let before = self.order(number).clone();
        let terms = before.terms.clone();
        if self.over(&terms) || self.silent(user, terms.group.as_deref()) {
            return Err(Reject::OrderNotOpen);
        }
        self.takes_orders(terms.market)?;
        let price = price.map_or(before.price, |price| terms.wording.yes_price(price).get());
        let original = quantity.map_or(before.original, super::number);
        if original <= before.filled {
            return Err(Reject::QuantityFilled);
        }
        let remaining = original - before.filled;
        // On a copy: a refusal must change nothing.
        let mut tried = self.ledger.copy_of(terms.user.0, terms.market.0);
        let (old, new) = (self.bet_of(number), bet(&terms, price, self.rates(terms.market)));
        let backing = if second {
            tried.back_anew((&old, before.backing), &new, remaining)
        } else {
            tried.release(&old, before.backing);
            tried.back(&new, remaining)
        };
        let backing = backing.map_err(unbacked)?;
        self.within_limit(user, &tried, backing.cash_lots > 0)?;
        let kept_place = price == before.price && remaining <= before.remaining();
        if !kept_place && terms.condition.post_only() && !self.live_met_by(&terms, price).is_empty()
        {
            return Err(Reject::PostOnlyWouldCross);
        }
        self.ledger.adopt(tried);
        let order = self.order_mut(number);
        order.backing = backing;
        order.price = price;
        order.original = original;
        self.emit(Effect::OrderAmended {
            order: order_no(number),
            user,
            market: terms.market,
            direction: terms.wording.direction(),
            price_before: tick(before.price),
            price: tick(price),
            remaining_before: lots(before.remaining()),
            quantity: lots(original),
            remaining: lots(remaining),
            kept_place,
        });
        if !kept_place {
            self.take_off(number);
            self.enter(number);
        }
        Ok(())
    }

    /// Whether an amend to these would change nothing of an open order.
    fn stands_as(
        &self,
        user: UserNo,
        order: OrderNo,
        price: Option<Tick>,
        quantity: Option<Lots>,
    ) -> bool {
        let Ok(number) = self.own_open(user, order) else { return false };
        let Order { terms, price: yes_price, original, .. } = self.order(number);
        self.due_reason(number).is_none()
            && price.is_none_or(|price| terms.wording.yes_price(price).get() == *yes_price)
            && quantity.is_none_or(|lots| super::number(lots) == *original)
    }

    fn takes_orders(&self, market: MarketNo) -> Result<(), Reject> {
        match self.markets[market.index()].status_at(self.now) {
            MarketStatus::Active => Ok(()),
            _ => Err(Reject::MarketNotActive),
        }
    }
}
