//! What a command would do now, without doing it.
//!
//! A trial passes the very checks of the real thing, on the state itself, which they only read.
//! What comes of an order that passes them is then carried out by the very code that would do it,
//! on an excerpt: a small exchange with nothing in it but the orders that can be met, their owners'
//! money and contracts in this one market, and their switches. So a trial costs what the order
//! would cost, cannot change the state, and follows every change in matching by itself.
//!
//! The excerpt numbers users and orders anew, from zero, because the tables of an exchange are as
//! long as their largest number; what it says is told in the venue's own numbers again.

pub mod several;

use rustc_hash::FxHashMap;

use super::book::Book;
use super::command::{Command, IdempotencyKey, PlaceOrder, Record};
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
        /// New price, in the owner's words.
        price: Option<Tick>,
        /// New total quantity.
        quantity: Option<Lots>,
    },
    /// Nothing: only whether the same was asked before under its key.
    Asked,
}

impl From<Tried> for Command {
    fn from(tried: Tried) -> Command {
        match tried {
            Tried::Place(terms) => Command::PlaceOrder(terms),
            Tried::Amend { user, order, price, quantity } => {
                Command::AmendOrder { user, order, price, quantity }
            }
            Tried::Asked => Command::AdvanceClock,
        }
    }
}

impl Exchange {
    /// The effects that a record with this command would have, were it the next and stamped `time`
    /// (or with the time of the last record, if that is later); `None` if it could meet more orders
    /// than `met_max`. Costs as much as the command.
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

    /// As `carry_out`, on an excerpt.
    fn attempt(
        &self,
        tried: Tried,
        record: &Record,
        at: Stamp,
        met_max: usize,
    ) -> Result<Option<Vec<Effect>>, Stop> {
        if let Some(first) = self.done_before(record, at)? {
            return Ok(Some(vec![Effect::Repeated { first }]));
        }
        self.admit_names(record)?;
        self.rules_in_force()?;
        let effects = match tried {
            Tried::Place(terms) => {
                let (order, purse) = self.admit_placing(&terms, at)?;
                Excerpt::of(self).place(&terms, &order, &purse, at, met_max)?
            }
            Tried::Amend { user, order, price, quantity } => {
                let amendment = self.admit_amending((user, order), price, quantity, at)?;
                Excerpt::of(self).amend(&amendment, at, met_max)?
            }
            Tried::Asked => return Ok(Some(Vec::new())),
        };
        let Some(mut effects) = effects else { return Ok(None) };
        effects.extend(self.kept_until(record, at)?);
        Ok(Some(effects))
    }
}

/// A small exchange that was cut out of a whole one.
struct Excerpt<'a> {
    whole: &'a Exchange,
    part: Exchange,
    /// The whole's number of each market here.
    markets: Vec<MarketNo>,
    /// The whole's number of each user here.
    users: Vec<UserNo>,
    /// The number here of each of the whole's users. Looked up, never walked.
    known: FxHashMap<UserNo, UserNo>,
    /// The whole's number of each order here.
    orders: Vec<OrderNo>,
    /// The number here of each of the whole's orders. Looked up, never walked.
    numbers: FxHashMap<OrderNo, OrderNo>,
}

impl<'a> Excerpt<'a> {
    /// Nothing yet but the rules.
    fn of(whole: &'a Exchange) -> Excerpt<'a> {
        let part = Exchange { rules: whole.rules.clone(), ..Exchange::new() };
        let (users, markets, orders) = (Vec::new(), Vec::new(), Vec::new());
        let (known, numbers) = (FxHashMap::default(), FxHashMap::default());
        Excerpt { whole, part, markets, users, known, orders, numbers }
    }

    fn place(
        mut self,
        terms: &PlaceOrder,
        order: &Order,
        purse: &Purse,
        at: Stamp,
        met_max: usize,
    ) -> Result<Option<Vec<Effect>>, Broken> {
        if !self.take_in_met(order, at, met_max)? {
            return Ok(None);
        }
        let owner = self.take_in_owner(order.user, order.market)?;
        let (order, purse) = (self.order(order)?, self.purse(purse)?);
        let terms = PlaceOrder {
            user: owner,
            market: order.market,
            copy_from: self.name(terms.copy_from)?,
            ..terms.clone()
        };
        let mut effects = Vec::new();
        self.part.execute_new_order(&terms, order, purse, at, &mut effects)?;
        self.told(effects).map(Some)
    }

    fn amend(
        mut self,
        amendment: &Amendment,
        at: Stamp,
        met_max: usize,
    ) -> Result<Option<Vec<Effect>>, Broken> {
        let Amendment { before, order, purse, kept_place } = amendment;
        self.take_in(before)?;
        let most = self.orders.len().saturating_add(met_max);
        if !kept_place && !self.take_in_met(order, at, most)? {
            return Ok(None);
        }
        let number = self.numbers.get(&before.no).copied().ok_or(Broken::Dangling)?;
        let before = self.part.order(number).ok_or(Broken::Dangling)?;
        let order = Order { no: before.no, ..self.order(order)? };
        // The order has one number, not two.
        self.orders.pop();
        let amendment =
            Amendment { before, order, purse: self.purse(purse)?, kept_place: *kept_place };
        let mut effects = Vec::new();
        self.part.carry_amending(&amendment, at, &mut effects)?;
        self.told(effects).map(Some)
    }

    // -----------------------------------------------------------------------------------------
    // Cutting out.

    /// Takes in a market without orders or holders, once.
    fn market(&mut self, market: MarketNo) -> Result<MarketNo, Broken> {
        if let Some(place) = self.markets.iter().position(|known| *known == market) {
            return MarketNo::next(place).ok_or(Broken::Capacity);
        }
        let here = MarketNo::next(self.markets.len()).ok_or(Broken::Capacity)?;
        let state = self.whole.market_state(market)?;
        // Nothing that an order does looks at the other markets of the event.
        self.part.markets.push(Market { book: Book::default(), event: None, ..*state });
        self.part.ledger.add_market();
        self.markets.push(market);
        Ok(here)
    }

    /// Takes in the resting orders that this one can meet: those that its limit reaches, until they
    /// come to its quantity. False where that would be more orders than this in all.
    fn take_in_met(&mut self, order: &Order, at: Stamp, most: usize) -> Result<bool, Broken> {
        let (whole, wanted) = (self.whole, order.backing.remaining()?);
        let mut found = Lots::ZERO;
        for slot in whole.reachable(order)? {
            if self.orders.len() >= most {
                return Ok(false);
            }
            let maker = whole.orders.get(slot)?;
            self.take_in(&maker)?;
            if maker.user != order.user && whole.due_cancel_reason(&maker, at.time)?.is_none() {
                found = found.plus(maker.backing.remaining()?)?;
            }
            if found >= wanted {
                break;
            }
        }
        Ok(true)
    }

    /// Takes in a resting order, at the end of its queue.
    fn take_in(&mut self, order: &Order) -> Result<(), Broken> {
        self.take_in_owner(order.user, order.market)?;
        let order = self.order(order)?;
        let slot = self.part.orders.insert(&order)?;
        let state = self.part.markets.get_mut(order.market.index()).ok_or(Broken::Dangling)?;
        state.book.push(&mut self.part.orders, slot)
    }

    /// Takes in a user with all that they have in a market, once.
    fn take_in_owner(&mut self, user: UserNo, market: MarketNo) -> Result<UserNo, Broken> {
        let purse = self.whole.purse(user, market)?;
        let purse = self.purse(&purse)?;
        let (here, market) = (self.user(user)?, self.market(market)?);
        self.part.ledger.put(here, market, purse)?;
        Ok(here)
    }

    /// The number here of a user, who may so far be no more than a name.
    fn user(&mut self, user: UserNo) -> Result<UserNo, Broken> {
        if let Some(known) = self.known.get(&user) {
            return Ok(*known);
        }
        let here = UserNo::next(self.users.len()).ok_or(Broken::Capacity)?;
        self.users.push(user);
        self.known.insert(user, here);
        self.part.ledger.add_user();
        self.part.orders.add_user();
        let heartbeat = self.whole.standings.of(user).heartbeat;
        self.part
            .standings
            .users
            .push(UserRestrictions { heartbeat, ..UserRestrictions::default() });
        Ok(here)
    }

    fn name(&mut self, user: Option<UserNo>) -> Result<Option<UserNo>, Broken> {
        user.map(|user| self.user(user)).transpose()
    }

    fn holding(&mut self, holding: Holding) -> Result<Holding, Broken> {
        Ok(Holding { copy_from: self.name(holding.copy_from)?, ..holding })
    }

    fn purse(&mut self, purse: &Purse) -> Result<Purse, Broken> {
        let mut purse = purse.detached();
        purse.position.yes = self.holding(purse.position.yes)?;
        purse.position.no = self.holding(purse.position.no)?;
        Ok(purse)
    }

    /// The order in the numbers of the excerpt, under a new number of its own.
    fn order(&mut self, order: &Order) -> Result<Order, Broken> {
        let (user, copy_from) = (self.user(order.user)?, self.name(order.copy_from)?);
        let market = self.market(order.market)?;
        Ok(Order { no: self.number(order.no), user, market, copy_from, ..*order })
    }

    /// A number here for an order, or for a record, of the whole; the latest is that which counts.
    fn number(&mut self, order: OrderNo) -> OrderNo {
        let here = OrderNo(Sequence::new(self.orders.len() as u64));
        self.orders.push(order);
        self.numbers.insert(order, here);
        here
    }

    // -----------------------------------------------------------------------------------------
    // Telling.

    fn told(&self, effects: Vec<Effect>) -> Result<Vec<Effect>, Broken> {
        effects.into_iter().map(|effect| self.tell(effect)).collect()
    }

    /// An effect in the numbers of the whole. Placing, amending and cancelling have no others.
    fn tell(&self, mut effect: Effect) -> Result<Effect, Broken> {
        use Effect as E;
        match &mut effect {
            E::OrderAccepted { order, terms } => {
                *order = self.whole_order(*order)?;
                terms.user = self.whole_user(terms.user)?;
                terms.market = self.whole_market(terms.market)?;
                terms.copy_from = self.whole_name(terms.copy_from)?;
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
                    holding.copy_from = self.whole_name(holding.copy_from)?;
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

    fn whole_name(&self, user: Option<UserNo>) -> Result<Option<UserNo>, Broken> {
        user.map(|user| self.whole_user(user)).transpose()
    }

    fn whole_order(&self, order: OrderNo) -> Result<OrderNo, Broken> {
        let place = usize::try_from(order.0.get()).map_err(|_| Broken::Capacity)?;
        self.orders.get(place).copied().ok_or(Broken::Dangling)
    }
}
