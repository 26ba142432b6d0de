//! Applies effects to orders. The order that a record places is held apart until the record says
//! what becomes of it. An ending goes into the tail page that holds its order, or to
//! [`Late`](super::late::Late) if that page was already written.

use super::open::OpenOrder;
use super::page::{Ending, Terms, page_of, with_endings};
use super::traders::Traders;
use super::{Incoming, JustEnded, Orders, UserOrders};
use crate::Projection;
use crate::fault::{Fault, Faults, is_next};
use crate::fills::{FillRow, Fills, Liquidity};
use crate::history::pack::RowBuffer;
use crate::history::stream::{Row, append, room_after};
use crate::history::{History, PageKey};
use exchange::command::PlaceOrder;
use exchange::effect::{Applied, CancelReason, Effect, Party, Trade};
use exchange::ids::{OrderNo, Token, UserNo};
use exchange::lifecycle::MarketStatus;
use exchange::units::{Lots, Sequence, TimeMs};

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
                traders.ok_or(Fault::UnknownMarket(*market))?.store(&self.history, *market);
                Ok(())
            }
            Effect::OrderAccepted { order, terms } => self.accept(at, *order, terms),
            Effect::OrderAmended { order, user, price, quantity, remaining, .. } => {
                let result = self.change(*user, *order, |open_order| {
                    open_order.price = open_order.wording.yes_price(*price);
                    open_order.quantity = *quantity;
                    open_order.updated_at = at.time;
                    open_order.check_parts(*order, *remaining)
                });
                self.note_placed(result)
            }
            Effect::TradeMade(trade) => {
                let taker = self.fill(at, trade, trade.taker, Liquidity::Taker);
                let maker = self.fill(at, trade, trade.maker, Liquidity::Maker);
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
        let unknown = Fault::UnknownOrder(order);
        if let Some(incoming) = self.incoming.as_mut().filter(|incoming| incoming.no == order) {
            let result = change(&mut incoming.open_order);
            return Ok((incoming.open_order.created_at, result));
        }
        let spot = self.open.find(user, order).ok_or(unknown)?;
        let mut open_order = self.open.at(user, &spot).ok_or(unknown)?;
        let result = change(&mut open_order);
        self.open.set(spot, order, &open_order).ok_or(unknown)?;
        Ok((open_order.created_at, result))
    }

    fn rest(
        &mut self,
        at: &Applied<'_>,
        (user, order): (UserNo, OrderNo),
        remaining: Lots,
    ) -> Result<(), Fault> {
        let Some(incoming) = self.incoming.take_if(|incoming| incoming.no == order) else {
            let (_, result) = self.change(user, order, |open_order| {
                open_order.updated_at = at.time;
                open_order.check_parts(order, remaining)
            })?;
            return result;
        };
        let Incoming { no, open_order, client_id } = incoming;
        self.open.add(no, &open_order, client_id)?;
        open_order.check_parts(order, remaining)
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
        let (open_order, name) = if let Some(incoming) = incoming {
            (incoming.open_order, incoming.client_id)
        } else {
            let spot = self.open.find(user, order).ok_or(unknown)?;
            let open_order = self.open.at(user, &spot).ok_or(unknown)?;
            (open_order, self.open.remove(user, order, spot))
        };
        let open_order = OpenOrder { updated_at: at.time, ..open_order };
        let ended = self.end(order, open_order, name, Some(reason));
        let whole = ended.and(open_order.check_parts(order, quantity));
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
        let client_order_id = terms.client_order_id.as_deref().copied();
        let Orders { history, users, markets, buffer, .. } = self;
        let owner = users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        let row_index = owner.tail.count();
        let traders = markets.get_mut(market.index());
        let in_market = traders.and_then(|own| own.change(user, |own| own.orders.push(row_index)));
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
        owner.push(history, user, &packed, buffer)?;
        if let Some(name) = &client_order_id {
            owner.names.add(history, user, name, row_index);
        }
        let open_order = OpenOrder::new(terms, at.time, row_index);
        self.newest = Some(order);
        self.settle_incoming()?;
        self.incoming = Some(Incoming { no: order, open_order, client_id: client_order_id });
        Ok(())
    }

    /// Adds the incoming order to the open ones if the record neither rested nor ended it.
    fn settle_incoming(&mut self) -> Result<(), Fault> {
        match self.incoming.take() {
            None => Ok(()),
            Some(Incoming { no, open_order, client_id }) => {
                self.open.add(no, &open_order, client_id)
            }
        }
    }

    /// Applies one party's side of a trade. Returns when its order was placed.
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
            None => incoming.as_ref().map(|incoming| incoming.open_order),
            Some(spot) => open.at(user, spot),
        };
        let mut open_order = known.ok_or(unknown)?;
        let added = filled(&mut open_order, markets, fills, (at, trade, party, liquidity));
        let whole = open_order.check_parts(order, party.remaining);
        let mut result = added.and(whole);
        match (spot, incoming) {
            (Some(spot), _) if party.remaining.is_zero() => {
                let name = open.remove(user, order, spot);
                result = result.and(self.end(order, open_order, name, None));
            }
            (Some(spot), _) => open.set(spot, order, &open_order).ok_or(unknown)?,
            (None, Some(incoming)) if party.remaining.is_zero() => {
                let name = incoming.client_id;
                self.incoming = None;
                result = result.and(self.end(order, open_order, name, None));
            }
            (None, Some(incoming)) => incoming.open_order = open_order,
            (None, None) => {}
        }
        Ok((open_order.created_at, result))
    }

    /// Stores the ending of an order that is no longer open.
    fn end(
        &mut self,
        order: OrderNo,
        open_order: OpenOrder,
        client_id: Option<Token>,
        reason: Option<CancelReason>,
    ) -> Result<(), Fault> {
        let rows = self.history.rows_per_page();
        let OpenOrder { user, row_index, created_at, .. } = open_order;
        self.just_ended.push(JustEnded { no: order, open_order, reason, client_id });
        let owner = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        self.buffer.clear();
        Ending::of(&open_order, reason).pack(row_index % rows, created_at, &mut self.buffer);
        let (page, ending) = (row_index / rows, self.buffer.row());
        if page == owner.tail.page(rows) {
            append(ending, &mut owner.endings);
        } else {
            self.late.add(user, page, |endings| append(ending, endings));
        }
        Ok(())
    }

    /// Moves late endings to the pages of their orders, once enough have accumulated.
    fn write_late_endings(&mut self, after: Sequence) {
        for _ in 0..self.late.due(self.users.len()) {
            let Some(((user, page), late)) = self.late.take(after, self.users.len()) else {
                return;
            };
            let key = PageKey { kind: Terms::KIND, owner: user.0, page };
            self.history.amend(key, |bytes| with_endings(bytes, &late));
        }
    }
}

/// Applies a trade to one of its orders, and adds its owner's fill.
fn filled(
    open_order: &mut OpenOrder,
    markets: &mut [Traders],
    fills: &mut Fills,
    (at, trade, party, liquidity): (&Applied<'_>, &Trade, Party, Liquidity),
) -> Result<(), Fault> {
    let price = open_order.wording.yes_price(trade.price);
    open_order.filled = open_order.filled.plus(trade.quantity)?;
    open_order.filled_cost = open_order.filled_cost.plus(price.times(trade.quantity)?)?;
    open_order.updated_at = at.time;
    let OpenOrder { user, market, wording, created_at, .. } = *open_order;
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
    let of_order = &mut open_order.fills;
    let added = traders.change(user, |own| fills.add(user, fill, of_order, &mut own.fills));
    added.unwrap_or(Err(Fault::UnknownMarket(market)))
}

impl UserOrders {
    /// Adds an order, packed in `buffer`. If the page before it is full, that page is written with
    /// its endings.
    fn push(
        &mut self,
        history: &History,
        user: UserNo,
        terms: &Terms,
        buffer: &mut RowBuffer,
    ) -> Result<(), Fault> {
        let endings = &mut self.endings;
        let pushed = self.tail.push(history.rows_per_page(), terms, buffer, |page, asked| {
            let key = PageKey { kind: Terms::KIND, owner: user.0, page };
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
        self.write_late_endings(applied.sequence);
        for effect in applied.effects {
            faults.check(self.fold_effect(applied, effect));
        }
        faults.check(self.settle_incoming());
    }
}
