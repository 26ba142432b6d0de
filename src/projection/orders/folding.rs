//! What effects make of orders. The one that a record places is held apart until the record has
//! said what comes of it; what is final is packed beside the rows of its page, or put there later.

use super::open::OpenOrders;
use super::page::{Ending, Terms, page_of, with_endings};
use super::traders::Traders;
use super::{Incoming, JustEnded, Orders, UserOrders};
use crate::exchange::command::PlaceOrder;
use crate::exchange::effect::{Applied, CancelReason, Effect, Party, Trade};
use crate::exchange::ids::{OrderNo, Token, UserNo};
use crate::exchange::lifecycle::MarketStatus;
use crate::exchange::units::{Lots, Sequence, TimeMs};
use crate::projection::Projection;
use crate::projection::fault::{Fault, Faults, is_next};
use crate::projection::fills::{FillRow, Fills, Liquidity};
use crate::projection::history::pack::RowBuffer;
use crate::projection::history::stream::{Row, append, room_after};
use crate::projection::history::{History, PageKey};

impl Orders {
    fn fold_effect(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::UserCreated { user, .. } => {
                is_next(user.index(), self.users.len())?;
                self.users.push(UserOrders::default());
                self.open.add_user();
                self.fills.add_user(*user)
            }
            Effect::MarketCreated { market, .. } => {
                is_next(market.index(), self.markets.len())?;
                self.markets.push(Traders::default());
                Ok(())
            }
            Effect::MarketMoved {
                market,
                to: MarketStatus::Settled | MarketStatus::Voided,
                ..
            } => {
                let traders = self.markets.get_mut(market.index());
                traders.ok_or(Fault::UnknownMarket(*market))?.put(&self.history, *market);
                Ok(())
            }
            Effect::OrderAccepted { order, terms } => self.accept(at, *order, terms),
            Effect::OrderAmended { order, user, price, quantity, remaining, .. } => {
                let told = self.change(*user, *order, |standing| {
                    standing.price = standing.wording.yes_price(*price);
                    standing.quantity = *quantity;
                    standing.updated_at = at.time;
                    standing.check_parts(*order, *remaining)
                });
                self.note_placed(told)
            }
            Effect::TradeMade(trade) => {
                let taker = self.fill(at, trade, trade.taker, Liquidity::Taker);
                let maker = self.fill(at, trade, trade.maker, Liquidity::Maker);
                let maker = self.note_placed(maker);
                taker.and_then(|(_, told)| told).and(maker)
            }
            Effect::OrderRested { order, user, remaining, .. } => {
                self.rest(at, (*user, *order), *remaining)
            }
            Effect::OrderCancelled { order, user, quantity, reason, .. } => {
                let told = self.cancel(at, (*user, *order), *quantity, *reason);
                self.note_placed(told)
            }
            _ => Ok(()),
        }
    }

    /// Keeps when an order was placed for whoever asks after the record; gives what was said of it.
    fn note_placed(
        &mut self,
        told: Result<(TimeMs, Result<(), Fault>), Fault>,
    ) -> Result<(), Fault> {
        self.placed.push(told.as_ref().ok().map(|(placed, _)| *placed));
        told.and_then(|(_, told)| told)
    }

    /// Changes an order that stands; gives when it was placed, and what `change` says.
    fn change(
        &mut self,
        user: UserNo,
        order: OrderNo,
        change: impl FnOnce(&mut OpenOrders) -> Result<(), Fault>,
    ) -> Result<(TimeMs, Result<(), Fault>), Fault> {
        let unknown = Fault::UnknownOrder(order);
        if let Some(incoming) = self.incoming.as_mut().filter(|incoming| incoming.no == order) {
            let told = change(&mut incoming.standing);
            return Ok((incoming.standing.created_at, told));
        }
        let spot = self.open.find(user, order).ok_or(unknown)?;
        let mut standing = self.open.at(user, &spot).ok_or(unknown)?;
        let told = change(&mut standing);
        self.open.set(spot, order, &standing).ok_or(unknown)?;
        Ok((standing.created_at, told))
    }

    fn rest(
        &mut self,
        at: &Applied<'_>,
        (user, order): (UserNo, OrderNo),
        remaining: Lots,
    ) -> Result<(), Fault> {
        let Some(incoming) = self.incoming.take_if(|incoming| incoming.no == order) else {
            let (_, told) = self.change(user, order, |standing| {
                standing.updated_at = at.time;
                standing.check_parts(order, remaining)
            })?;
            return told;
        };
        let Incoming { no, standing, client_id } = incoming;
        self.open.add(no, &standing, client_id)?;
        standing.check_parts(order, remaining)
    }

    fn cancel(
        &mut self,
        at: &Applied<'_>,
        (user, order): (UserNo, OrderNo),
        quantity: Lots,
        reason: CancelReason,
    ) -> Result<(TimeMs, Result<(), Fault>), Fault> {
        let unknown = Fault::UnknownOrder(order);
        let incoming = self.incoming.take_if(|incoming| incoming.no == order);
        let (standing, name) = if let Some(incoming) = incoming {
            (incoming.standing, incoming.client_id)
        } else {
            let spot = self.open.find(user, order).ok_or(unknown)?;
            let standing = self.open.at(user, &spot).ok_or(unknown)?;
            (standing, self.open.remove(user, order, spot))
        };
        let standing = OpenOrders { updated_at: at.time, ..standing };
        let ended = self.end(order, standing, name, Some(reason));
        let whole = ended.and(standing.check_parts(order, quantity));
        Ok((standing.created_at, whole))
    }

    fn accept(
        &mut self,
        at: &Applied<'_>,
        order: OrderNo,
        terms: &PlaceOrder,
    ) -> Result<(), Fault> {
        if self.newest.is_some_and(|newest| newest >= order) {
            return Err(Fault::NotNext(order.0.get()));
        }
        let PlaceOrder { user, market, .. } = *terms;
        let client_order_id = terms.client_order_id.as_deref().copied();
        let Orders { history, users, markets, desk, .. } = self;
        let owner = users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        let place = owner.tail.count();
        let traders = markets.get_mut(market.index());
        let in_market = traders.and_then(|own| own.change(user, |own| own.orders.push(place)));
        let packed = Terms {
            no: order,
            market,
            wording: terms.wording,
            price: terms.price,
            quantity: terms.quantity,
            time_in_force: terms.time_in_force,
            created_at: at.time,
            client_id: client_order_id,
            in_market: in_market.ok_or(Fault::UnknownMarket(market))?,
        };
        owner.push(history, user, &packed, desk)?;
        if let Some(name) = &client_order_id {
            owner.names.add(history, user, name, place);
        }
        let standing = OpenOrders::new(terms, at.time, place);
        self.newest = Some(order);
        self.settle_incoming()?;
        self.incoming = Some(Incoming { no: order, standing, client_id: client_order_id });
        Ok(())
    }

    /// Has the order stand of which the record said nothing more.
    fn settle_incoming(&mut self) -> Result<(), Fault> {
        match self.incoming.take() {
            None => Ok(()),
            Some(Incoming { no, standing, client_id }) => self.open.add(no, &standing, client_id),
        }
    }

    /// One party's side of a trade; gives when its order was placed.
    fn fill(
        &mut self,
        at: &Applied<'_>,
        trade: &Trade,
        party: Party,
        liquidity: Liquidity,
    ) -> Result<(TimeMs, Result<(), Fault>), Fault> {
        let Orders { open, incoming, markets, fills, .. } = self;
        let (user, order, unknown) = (party.user, party.order, Fault::UnknownOrder(party.order));
        let incoming = incoming.as_mut().filter(|incoming| incoming.no == order);
        let spot = match &incoming {
            Some(_) => None,
            None => Some(open.find(user, order).ok_or(unknown)?),
        };
        let known = match &spot {
            None => incoming.as_ref().map(|incoming| incoming.standing),
            Some(spot) => open.at(user, spot),
        };
        let mut standing = known.ok_or(unknown)?;
        let added = filled(&mut standing, markets, fills, (at, trade, party, liquidity));
        let whole = standing.check_parts(order, party.remaining);
        let mut told = added.and(whole);
        match (spot, incoming) {
            (Some(spot), _) if party.remaining.is_zero() => {
                let name = open.remove(user, order, spot);
                told = told.and(self.end(order, standing, name, None));
            }
            (Some(spot), _) => open.set(spot, order, &standing).ok_or(unknown)?,
            (None, Some(incoming)) if party.remaining.is_zero() => {
                let name = incoming.client_id;
                self.incoming = None;
                told = told.and(self.end(order, standing, name, None));
            }
            (None, Some(incoming)) => incoming.standing = standing,
            (None, None) => {}
        }
        Ok((standing.created_at, told))
    }

    /// Takes down what became of an order, which stands no more.
    fn end(
        &mut self,
        order: OrderNo,
        standing: OpenOrders,
        client_id: Option<Token>,
        reason: Option<CancelReason>,
    ) -> Result<(), Fault> {
        let rows = self.history.rows_per_page();
        let OpenOrders { user, place, created_at, .. } = standing;
        self.just_ended.push(JustEnded { no: order, standing, reason, client_id });
        let owner = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        self.desk.clear();
        Ending::of(&standing, reason).pack(place % rows, created_at, &mut self.desk);
        let (page, ending) = (place / rows, self.desk.row());
        if page == owner.tail.page(rows) {
            append(ending, &mut owner.endings);
        } else {
            self.late.add(user, page, |endings| append(ending, endings));
        }
        Ok(())
    }

    /// Puts endings on the pages where their orders are, if many have gathered.
    fn put_late(&mut self, after: Sequence) {
        for _ in 0..self.late.due(self.users.len()) {
            let Some(((user, page), late)) = self.late.take(after, self.users.len()) else {
                return;
            };
            let key = PageKey { kind: Terms::KIND, owner: user.0, page: u64::from(page) };
            self.history.amend(key, |bytes| with_endings(bytes, &late));
        }
    }
}

/// What a trade makes of one of its orders, and its owner's fill.
fn filled(
    standing: &mut OpenOrders,
    markets: &mut [Traders],
    fills: &mut Fills,
    (at, trade, party, liquidity): (&Applied<'_>, &Trade, Party, Liquidity),
) -> Result<(), Fault> {
    let price = standing.wording.yes_price(trade.price);
    standing.filled = standing.filled.plus(trade.quantity)?;
    standing.filled_cost = standing.filled_cost.plus(price.times(trade.quantity)?)?;
    standing.updated_at = at.time;
    let OpenOrders { user, market, wording, created_at, .. } = *standing;
    let fill = FillRow {
        index: trade.index,
        order: party.order,
        placed: created_at,
        market,
        wording,
        price,
        quantity: trade.quantity,
        liquidity,
        fee: party.fee,
        time: at.time,
        sequence: at.sequence,
    };
    let traders = markets.get_mut(market.index()).ok_or(Fault::UnknownMarket(market))?;
    let of_order = &mut standing.fills;
    let added = traders.change(user, |own| fills.add(user, fill, of_order, &mut own.fills));
    added.unwrap_or(Err(Fault::UnknownMarket(market)))
}

impl UserOrders {
    /// Adds an order, packed on `desk`. If the page is full, it is put away with what became of the
    /// orders on it.
    fn push(
        &mut self,
        history: &History,
        user: UserNo,
        terms: &Terms,
        desk: &mut RowBuffer,
    ) -> Result<(), Fault> {
        let endings = &mut self.endings;
        let pushed = self.tail.push(history.rows_per_page(), terms, desk, |page, asked| {
            let key = PageKey { kind: Terms::KIND, owner: user.0, page: u64::from(page) };
            history.put(key, page_of(&asked, endings));
            *endings = room_after(endings);
        });
        pushed.map(drop)
    }
}

impl Projection for Orders {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        self.just_ended.clear();
        self.placed.clear();
        self.put_late(applied.sequence);
        for effect in applied.effects {
            faults.check(self.fold_effect(applied, effect));
        }
        faults.check(self.settle_incoming());
    }
}
