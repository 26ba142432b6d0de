//! Trials: the effects that a command would have now, without changing the state.
//!
//! A trial runs the real checks on the state, which they only read. An order that passes them is
//! then executed by the real code on an *excerpt*: a small exchange with only the resting orders
//! that it can meet, their owners' money and contracts in this one market, and their heartbeats. So
//! a trial costs as much as the order, cannot change the state, and never differs from matching.
//!
//! The excerpt renumbers users, markets and orders from zero, because the tables of an exchange
//! are as long as their largest number. Its effects are translated back to the venue's numbers.

pub mod several;

use rustc_hash::FxHashMap;

use super::book::Book;
use super::command::{Command, IdempotencyKey, PlaceOrder, Record};
use super::due::Due;
use super::effect::{Effect, Holding, Party, Trade};
use super::ids::{MarketNo, OrderNo, UserNo};
use super::invariant::Broken;
use super::ledger::Purse;
use super::market::Market;
use super::matching::Amendment;
use super::orders::Order;
use super::restrictions::UserRestrictions;
use super::units::{Lots, Sequence, Tick, TimeMs};
use super::{Exchange, Stamp, Stop};

/// What can be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// [`Command::PlaceOrder`].
    Place(PlaceOrder),
    /// [`Command::AmendOrder`].
    Amend {
        /// Owner.
        user: UserNo,
        /// Order.
        order: OrderNo,
        /// New price, of the outcome that the order names.
        price: Option<Tick>,
        /// New total quantity.
        quantity: Option<Lots>,
    },
    /// Nothing: only whether its idempotency key was used before.
    Asked,
}

impl From<Tried> for Command {
    fn from(tried: Tried) -> Command {
        match tried {
            Tried::Place(terms) => Command::PlaceOrder(terms),
            Tried::Amend { user, order, price, quantity } => {
                Command::AmendOrder { user, order, price, quantity, seen: None }
            }
            Tried::Asked => Command::AdvanceClock,
        }
    }
}

impl Exchange {
    /// The effects that this command would have as the next record, at `time` (or at the time of
    /// the last record, if that is later); `None` if it could meet more than `met_max` resting
    /// orders. Costs as much as the command.
    ///
    /// # Errors
    /// [`Broken`] if the state contradicts itself.
    pub fn trial(
        &self,
        tried: Tried,
        once: Option<Box<IdempotencyKey>>,
        time: TimeMs,
        met_max: usize,
    ) -> Result<Option<Vec<Effect>>, Broken> {
        let at = Stamp { sequence: self.sequence.next(), time: time.max(self.time) };
        let command = Command::from(tried.clone());
        let record = Record { sequence: at.sequence, time: at.time, once, command };
        match self.attempt(tried, &record, at, met_max) {
            Ok(effects) => Ok(effects),
            Err(Stop::Refused(reject)) => Ok(Some(vec![Effect::Refused(reject)])),
            Err(Stop::Broken(broken)) => Err(broken),
        }
    }

    /// As `execute`, on an excerpt.
    fn attempt(
        &self,
        tried: Tried,
        record: &Record,
        at: Stamp,
        met_max: usize,
    ) -> Result<Option<Vec<Effect>>, Stop> {
        if let Some(first) = self.first_execution(record, at)? {
            return Ok(Some(vec![Effect::Repeated { first }]));
        }
        self.admit_names(record)?;
        self.rules_in_force()?;
        let effects = match tried {
            Tried::Place(terms) => {
                let (order, purse) = self.admit_new_order(&terms, at)?;
                Excerpt::of(self).place(&terms, &order, &purse, at, met_max)?
            }
            Tried::Amend { user, order, price, quantity } => {
                match self.admit_amend((user, order), price, quantity, at)? {
                    Some(amendment) => Excerpt::of(self).amend(&amendment, at, met_max)?,
                    None => return Ok(Some(Vec::new())),
                }
            }
            Tried::Asked => return Ok(Some(Vec::new())),
        };
        let Some(mut effects) = effects else { return Ok(None) };
        effects.extend(self.answer_kept(record, at)?);
        Ok(Some(effects))
    }
}

/// A small exchange copied out of a whole one.
struct Excerpt<'a> {
    whole: &'a Exchange,
    part: Exchange,
    /// The whole's number of each market here.
    markets: Vec<MarketNo>,
    /// The whole's number of each user here.
    users: Vec<UserNo>,
    /// The number here of each of the whole's users. Looked up, never iterated.
    user_numbers: FxHashMap<UserNo, UserNo>,
    /// The whole's number of each order here.
    orders: Vec<OrderNo>,
    /// The number here of each of the whole's orders. Looked up, never iterated.
    order_numbers: FxHashMap<OrderNo, OrderNo>,
}

impl<'a> Excerpt<'a> {
    /// An excerpt with the rules only.
    fn of(whole: &'a Exchange) -> Excerpt<'a> {
        let part = Exchange { rules: whole.rules.clone(), ..Exchange::new() };
        let (users, markets, orders) = (Vec::new(), Vec::new(), Vec::new());
        let (user_numbers, order_numbers) = (FxHashMap::default(), FxHashMap::default());
        Excerpt { whole, part, markets, users, user_numbers, orders, order_numbers }
    }

    fn place(
        mut self,
        terms: &PlaceOrder,
        order: &Order,
        purse: &Purse,
        at: Stamp,
        met_max: usize,
    ) -> Result<Option<Vec<Effect>>, Broken> {
        if !self.copy_reachable(order, at, met_max)? {
            return Ok(None);
        }
        let owner = self.copy_owner(order.user, order.market)?;
        let (order, purse) = (self.order(order)?, self.purse(purse)?);
        let terms = PlaceOrder {
            user: owner,
            market: order.market,
            copy_from: self.optional_user(terms.copy_from)?,
            ..terms.clone()
        };
        let mut effects = Vec::new();
        self.part.execute_new_order(&terms, order, purse, at, &mut effects)?;
        self.all_to_whole(effects).map(Some)
    }

    fn amend(
        mut self,
        amendment: &Amendment,
        at: Stamp,
        met_max: usize,
    ) -> Result<Option<Vec<Effect>>, Broken> {
        let Amendment { before, order, purse, kept_place } = amendment;
        self.copy_order(before)?;
        let most = self.orders.len().saturating_add(met_max);
        if !kept_place && !self.copy_reachable(order, at, most)? {
            return Ok(None);
        }
        let number = self.order_numbers.get(&before.no).copied().ok_or(Broken::Dangling)?;
        let before = self.part.order(number).ok_or(Broken::Dangling)?;
        let order = Order { no: before.no, ..self.order(order)? };
        // `Self::order` numbered the order a second time; it keeps its first number.
        self.orders.pop();
        let amendment =
            Amendment { before, order, purse: self.purse(purse)?, kept_place: *kept_place };
        let mut effects = Vec::new();
        self.part.execute_amend(&amendment, at, &mut effects)?;
        self.all_to_whole(effects).map(Some)
    }

    // -----------------------------------------------------------------------------------------
    // From the whole to the excerpt.

    /// The number here of a market, copied at first use, without orders or positions.
    fn market(&mut self, market: MarketNo) -> Result<MarketNo, Broken> {
        if let Some(index) = self.markets.iter().position(|known| *known == market) {
            return MarketNo::next(index).ok_or(Broken::Capacity);
        }
        let here = MarketNo::next(self.markets.len()).ok_or(Broken::Capacity)?;
        let state = self.whole.market_state(market)?;
        // No order depends on the other markets of the event.
        self.part.markets.push(Market { book: Book::default(), event: None, ..*state });
        self.part.ledger.add_market();
        self.markets.push(market);
        Ok(here)
    }

    /// Copies the resting orders that this one can meet: those that its limit reaches, until they
    /// add up to its quantity. False if the excerpt would then hold more than `most` orders.
    fn copy_reachable(&mut self, order: &Order, at: Stamp, most: usize) -> Result<bool, Broken> {
        let (whole, wanted) = (self.whole, order.backing.remaining()?);
        let mut found = Lots::ZERO;
        for slot in whole.reachable(order)? {
            if self.orders.len() >= most {
                return Ok(false);
            }
            let maker = whole.orders.get(slot)?;
            self.copy_order(&maker)?;
            if maker.user != order.user && whole.due_cancel_reason(&maker, at.time)?.is_none() {
                found = found.plus(maker.backing.remaining()?)?;
            }
            if found >= wanted {
                break;
            }
        }
        Ok(true)
    }

    /// Copies a resting order to the end of its queue.
    fn copy_order(&mut self, order: &Order) -> Result<(), Broken> {
        self.copy_owner(order.user, order.market)?;
        let order = self.order(order)?;
        if let Some(expires_at) = order.expires_at {
            self.part.schedule.add(expires_at, Due::Expiry(order.no));
        }
        let slot = self.part.orders.insert(&order)?;
        let state = self.part.markets.get_mut(order.market.index()).ok_or(Broken::Dangling)?;
        state.book.push(&mut self.part.orders, slot)
    }

    /// Copies a user's money and position in a market.
    fn copy_owner(&mut self, user: UserNo, market: MarketNo) -> Result<UserNo, Broken> {
        let purse = self.whole.purse(user, market)?;
        let purse = self.purse(&purse)?;
        let (here, market) = (self.user(user)?, self.market(market)?);
        self.part.ledger.put(here, market, purse)?;
        Ok(here)
    }

    /// The number here of a user, added at first use with a heartbeat and no money.
    fn user(&mut self, user: UserNo) -> Result<UserNo, Broken> {
        if let Some(known) = self.user_numbers.get(&user) {
            return Ok(*known);
        }
        let here = UserNo::next(self.users.len()).ok_or(Broken::Capacity)?;
        self.users.push(user);
        self.user_numbers.insert(user, here);
        self.part.ledger.add_user();
        self.part.orders.add_user();
        let heartbeat = self.whole.restrictions.of(user).heartbeat;
        if let Some(until) = heartbeat.until {
            self.part.schedule.add(until, Due::Heartbeat(here));
        }
        self.part
            .restrictions
            .users
            .push(UserRestrictions { heartbeat, ..UserRestrictions::default() });
        Ok(here)
    }

    fn optional_user(&mut self, user: Option<UserNo>) -> Result<Option<UserNo>, Broken> {
        user.map(|user| self.user(user)).transpose()
    }

    fn holding(&mut self, holding: Holding) -> Result<Holding, Broken> {
        Ok(Holding { copy_from: self.optional_user(holding.copy_from)?, ..holding })
    }

    fn purse(&mut self, purse: &Purse) -> Result<Purse, Broken> {
        let mut purse = purse.detached();
        purse.position.yes = self.holding(purse.position.yes)?;
        purse.position.no = self.holding(purse.position.no)?;
        Ok(purse)
    }

    /// The order in the excerpt's numbers, with a new order number.
    fn order(&mut self, order: &Order) -> Result<Order, Broken> {
        let (user, copy_from) = (self.user(order.user)?, self.optional_user(order.copy_from)?);
        let market = self.market(order.market)?;
        Ok(Order { no: self.number(order.no), user, market, copy_from, ..*order })
    }

    /// A new number here for an order or record of the whole; it replaces an earlier one.
    fn number(&mut self, order: OrderNo) -> OrderNo {
        let here = OrderNo(Sequence::new(self.orders.len() as u64));
        self.orders.push(order);
        self.order_numbers.insert(order, here);
        here
    }

    // -----------------------------------------------------------------------------------------
    // From the excerpt back to the whole.

    fn all_to_whole(&self, effects: Vec<Effect>) -> Result<Vec<Effect>, Broken> {
        effects.into_iter().map(|effect| self.to_whole(effect)).collect()
    }

    /// An effect in the whole's numbers. Placing, amending and cancelling have no other effects.
    fn to_whole(&self, mut effect: Effect) -> Result<Effect, Broken> {
        use Effect as E;
        match &mut effect {
            E::OrderAccepted { order, terms } => {
                *order = self.whole_order(*order)?;
                terms.user = self.whole_user(terms.user)?;
                terms.market = self.whole_market(terms.market)?;
                terms.copy_from = self.whole_optional_user(terms.copy_from)?;
            }
            E::OrderAmended { order, user, market, .. }
            | E::OrderRested { order, user, market, .. }
            | E::OrderCancelled { order, user, market, .. } => {
                *order = self.whole_order(*order)?;
                (*user, *market) = (self.whole_user(*user)?, self.whole_market(*market)?);
            }
            E::TradeMade(Trade { market, taker, maker, .. }) => {
                *market = self.whole_market(*market)?;
                for Party { order, user, .. } in [taker, maker] {
                    (*order, *user) = (self.whole_order(*order)?, self.whole_user(*user)?);
                }
            }
            E::PositionChanged { user, market, yes, no, .. } => {
                (*user, *market) = (self.whole_user(*user)?, self.whole_market(*market)?);
                for holding in [yes, no] {
                    holding.copy_from = self.whole_optional_user(holding.copy_from)?;
                }
            }
            E::AccountChanged { user, .. } => *user = self.whole_user(*user)?,
            E::Repeated { first } => *first = self.whole_order(OrderNo(*first))?.0,
            E::Refused(_) | E::AnswerKept { .. } => {}
            _ => return Err(Broken::Dangling),
        }
        Ok(effect)
    }

    fn whole_user(&self, user: UserNo) -> Result<UserNo, Broken> {
        self.users.get(user.index()).copied().ok_or(Broken::Dangling)
    }

    fn whole_market(&self, market: MarketNo) -> Result<MarketNo, Broken> {
        self.markets.get(market.index()).copied().ok_or(Broken::Dangling)
    }

    fn whole_optional_user(&self, user: Option<UserNo>) -> Result<Option<UserNo>, Broken> {
        user.map(|user| self.whole_user(user)).transpose()
    }

    fn whole_order(&self, order: OrderNo) -> Result<OrderNo, Broken> {
        let index = usize::try_from(order.0.get()).map_err(|_| Broken::Capacity)?;
        self.orders.get(index).copied().ok_or(Broken::Dangling)
    }
}
