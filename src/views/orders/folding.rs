//! Applies effects to orders. The order that a record places is held apart until the record says
//! what becomes of it.

use super::open::OpenOrder;
use super::page::{Ending, Terms};
use super::traders::Traders;
use super::{JustEnded, Orders, UserOrders};
use crate::fault::{Fault, Faults, Projection, is_next};
use crate::fills::{FillRow, Liquidity};
use crate::history::stream::Row;
use crate::history::{History, PageKey};
use exchange::command::PlaceOrder;
use exchange::effect::{Applied, CancelReason, Effect, Party, Trade};
use exchange::ids::{OrderNo, UserNo};
use exchange::market::MarketStatus;
use exchange::units::{Lots, TimeMs};

impl Orders {
    /// Folds an effect of a record; `rest` are those that follow it.
    fn fold_effect(
        &mut self,
        at: &Applied<'_>,
        effect: &Effect,
        rest: &[Effect],
    ) -> Result<(), Fault> {
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
                traders.ok_or(Fault::UnknownMarket(*market))?.end();
                self.ended.push_back(*market);
                Ok(())
            }
            Effect::OrderAccepted { order, terms } => self.accept(at, *order, terms),
            Effect::OrderAmended { order, user, price, quantity, remaining, .. } => {
                let result = self.change(*user, *order, |open_order| {
                    open_order.price = open_order.wording.yes_price(*price);
                    open_order.quantity = *quantity;
                    open_order.updated_at = at.time;
                    open_order.check_parts(*remaining)
                });
                self.note_placed(result)
            }
            Effect::TradeMade(trade) => {
                let taker = self.fill(at, rest, trade, Liquidity::Taker);
                let maker = self.fill(at, rest, trade, Liquidity::Maker);
                let maker = self.note_placed(maker);
                taker.and_then(|(_, result)| result).and(maker)
            }
            Effect::OrderRested { order, user, remaining, .. } => {
                self.rest(at, (*user, *order), *remaining)
            }
            Effect::OrderCancelled { order, user, quantity, reason, .. } => {
                let result = self.cancel(at, (*user, *order), *quantity, *reason);
                self.note_placed(result)
            }
            _ => Ok(()),
        }
    }

    /// Records when an order was placed for readers of the latest record. Returns the nested
    /// result.
    fn note_placed(
        &mut self,
        result: Result<(TimeMs, Result<(), Fault>), Fault>,
    ) -> Result<(), Fault> {
        self.placed.push(result.as_ref().ok().map(|(placed, _)| *placed));
        result.and_then(|(_, result)| result)
    }

    /// Changes an open order. Returns when it was placed, and the result of `change`.
    fn change(
        &mut self,
        user: UserNo,
        order: OrderNo,
        change: impl FnOnce(&mut OpenOrder) -> Result<(), Fault>,
    ) -> Result<(TimeMs, Result<(), Fault>), Fault> {
        if let Some(incoming) = self.incoming.as_mut().filter(|incoming| incoming.no == order) {
            let result = change(incoming);
            return Ok((incoming.created_at, result));
        }
        let changed = self.open.change(user, order, change);
        let (open_order, result) = changed.ok_or(Fault::UnknownOrder(order))?;
        Ok((open_order.created_at, result))
    }

    /// Takes an open order, to end it.
    fn take(&mut self, user: UserNo, order: OrderNo) -> Result<OpenOrder, Fault> {
        let incoming = self.incoming.take_if(|incoming| incoming.no == order);
        let open_order = incoming.or_else(|| self.open.remove(user, order));
        open_order.ok_or(Fault::UnknownOrder(order))
    }

    fn rest(
        &mut self,
        at: &Applied<'_>,
        (user, order): (UserNo, OrderNo),
        remaining: Lots,
    ) -> Result<(), Fault> {
        let incoming = self.incoming.take_if(|incoming| incoming.no == order);
        let Some(open_order) = incoming else {
            let (_, result) = self.change(user, order, |open_order| {
                open_order.updated_at = at.time;
                open_order.check_parts(remaining)
            })?;
            return result;
        };
        self.open.add(&open_order)?;
        open_order.check_parts(remaining)
    }

    fn cancel(
        &mut self,
        at: &Applied<'_>,
        (user, order): (UserNo, OrderNo),
        quantity: Lots,
        reason: CancelReason,
    ) -> Result<(TimeMs, Result<(), Fault>), Fault> {
        let open_order = OpenOrder { updated_at: at.time, ..self.take(user, order)? };
        let ended = self.end(at, open_order, Some(reason));
        let whole = ended.and(open_order.check_parts(quantity));
        Ok((open_order.created_at, whole))
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
        let owner = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        let row_index = owner.tail.count();
        let traders = self.markets.get_mut(market.index());
        let in_market = traders.and_then(|own| own.change(user, |own| own.orders.push(row_index)));
        let open_order = OpenOrder::new(order, terms, at.time, row_index);
        let placed = Terms {
            no: order,
            market,
            wording: terms.wording,
            price: terms.price,
            quantity: terms.quantity,
            time_in_force: terms.time_in_force,
            created_at: at.time,
            client_id: open_order.client_id,
            group: open_order.group,
            in_market: in_market.ok_or(Fault::UnknownMarket(market))?,
        };
        owner.push(&self.history, user, &placed)?;
        self.newest = Some(order);
        self.settle_incoming()?;
        self.incoming = Some(open_order);
        Ok(())
    }

    /// Adds the incoming order to the open ones if the record neither rested nor ended it.
    fn settle_incoming(&mut self) -> Result<(), Fault> {
        self.incoming.take().map_or(Ok(()), |open_order| self.open.add(&open_order))
    }

    /// Applies one party's side of a trade. Returns when its order was placed.
    fn fill(
        &mut self,
        at: &Applied<'_>,
        rest: &[Effect],
        trade: &Trade,
        liquidity: Liquidity,
    ) -> Result<(TimeMs, Result<(), Fault>), Fault> {
        let party = match liquidity {
            Liquidity::Taker => trade.taker,
            Liquidity::Maker => trade.maker,
        };
        let Party { user, order, remaining, .. } = party;
        if remaining.is_zero() {
            let mut open_order = self.take(user, order)?;
            let filled = self.filled(&mut open_order, at, rest, trade, liquidity);
            let result = filled.and(open_order.check_parts(remaining));
            return Ok((open_order.created_at, result.and(self.end(at, open_order, None))));
        }
        let unknown = Fault::UnknownOrder(order);
        let incoming = self.incoming.filter(|incoming| incoming.no == order);
        let known = incoming.or_else(|| self.open.get(user, order));
        let mut open_order = known.ok_or(unknown)?;
        let filled = self.filled(&mut open_order, at, rest, trade, liquidity);
        if incoming.is_some() {
            self.incoming = Some(open_order);
        } else {
            self.open.change(user, order, |order| *order = open_order).ok_or(unknown)?;
        }
        Ok((open_order.created_at, filled.and(open_order.check_parts(remaining))))
    }

    /// Applies a trade to one of its orders, and adds its owner's fill.
    fn filled(
        &mut self,
        open_order: &mut OpenOrder,
        at: &Applied<'_>,
        rest: &[Effect],
        trade: &Trade,
        liquidity: Liquidity,
    ) -> Result<(), Fault> {
        let price = open_order.wording.yes_price(trade.price);
        open_order.filled = open_order.filled.plus(trade.quantity)?;
        open_order.filled_cost = open_order.filled_cost.plus(price.times(trade.quantity)?)?;
        open_order.updated_at = at.time;
        let OpenOrder { user, market, wording, created_at, client_id, .. } = *open_order;
        let of_order = (wording, created_at, client_id);
        let fill = FillRow::of((at, rest), trade, liquidity, of_order);
        let (unknown, fills) = (Fault::UnknownMarket(market), &mut self.fills);
        let traders = self.markets.get_mut(market.index()).ok_or(unknown)?;
        let of_order = &mut open_order.fills;
        let added = traders.change(user, |own| fills.add(user, fill, of_order, &mut own.fills));
        added.unwrap_or(Err(unknown))
    }

    /// Stores the ending of an order that is no longer open.
    fn end(
        &mut self,
        at: &Applied<'_>,
        order: OpenOrder,
        reason: Option<CancelReason>,
    ) -> Result<(), Fault> {
        let rows = self.history.rows_per_page();
        let OpenOrder { user, row_index, created_at, .. } = order;
        let ending = Ending::of(&order, reason, order.no.0 == at.sequence);
        self.just_ended.push(JustEnded { order, reason });
        let owner = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        let page = row_index / rows;
        let pack = |bytes: &mut Vec<u8>| ending.pack(row_index % rows, created_at, bytes);
        let packed = if page == owner.tail.page(rows) {
            owner.ended += 1;
            Some(pack(&mut owner.endings))
        } else {
            owner.unfinished.end(&self.history, (user, page), pack)
        };
        packed.and_then(Result::ok).ok_or(Fault::UnknownOrder(order.no))
    }

    /// Moves users of a market that ended to a page: one page for each record.
    fn store_traders(&mut self) {
        let Some(market) = self.ended.front() else { return };
        let traders = self.markets.get_mut(market.index());
        if traders.is_none_or(|traders| traders.store_page(&self.history, *market)) {
            self.ended.pop_front();
        }
    }
}

impl UserOrders {
    /// Adds an order. If the page before it is full, that page is written with its endings.
    fn push(&mut self, history: &History, user: UserNo, terms: &Terms) -> Result<(), Fault> {
        let rows = history.rows_per_page();
        let UserOrders { tail, endings, ended, unfinished, names } = self;
        let row_index = tail.push(rows, terms, |page, mut bytes| {
            bytes.append(endings);
            history.put(PageKey { kind: Terms::KIND, owner: user.0, page }, bytes);
            unfinished.add(page, rows.saturating_sub(std::mem::take(ended)));
        })?;
        if let Some(name) = &terms.client_id {
            names.add(history, user, name, row_index);
        }
        Ok(())
    }
}

impl Projection for Orders {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        self.just_ended.clear();
        self.placed.clear();
        self.store_traders();
        let mut effects = applied.effects;
        while let [effect, rest @ ..] = effects {
            faults.check(self.fold_effect(applied, effect, rest));
            effects = rest;
        }
        faults.check(self.settle_incoming());
    }
}
