//! Rows of orders. What an order was when it was placed goes to a page in the order of placing;
//! what came of it is its ending. A page of orders holds the endings that came while it was the
//! newest; the others follow in pages of endings of their own. Each page is written once.

use std::collections::BTreeMap;

use super::open::OpenOrder;
use super::traders::Traders;
use super::{ALL, Names, OrderRow, OrderStatus, Orders, Unfinished, UnfinishedPages, UserOrders};
use crate::fills::Fills;
use crate::history::chain::{Links, RowChain, RowIndex, length};
use crate::history::stream::{Row, Tail, unpack_rows};
use crate::history::{Coder, History, Kind, Packing, PageKey, Unpacking};
use crate::saved::{Sizes, hold};
use exchange::command::{TimeInForce, Wording};
use exchange::effect::CancelReason;
use exchange::ids::{Group, MarketNo, OrderNo, Token, UserNo};
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, imaged_choice, read_bytes, read_count,
    write_bytes, write_count,
};
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};

/// An order as it was placed.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub(super) no: OrderNo,
    pub(super) market: MarketNo,
    pub(super) wording: Wording,
    pub(super) price: Tick,
    pub(super) quantity: Lots,
    pub(super) time_in_force: TimeInForce,
    pub(super) created_at: TimeMs,
    pub(super) client_id: Option<Token>,
    pub(super) group: Option<Group>,
    /// Links to the user's earlier orders in the same market.
    pub(super) in_market: Links,
}

impl Row for Terms {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Orders;

    fn base(&self) -> Self::Base {
        (self.no.0, self.created_at)
    }

    fn code(
        row: Option<&Self>,
        index: RowIndex,
        before: &Self::Base,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        let no = OrderNo(coder.sequence(before.0, row.map(|row| row.no.0))?);
        let created_at = coder.time(before.1, row.map(|row| row.created_at))?;
        let head = |row: &Terms| {
            let labels = u64::from(row.group.is_some()) << 1 | u64::from(row.client_id.is_some());
            u64::from(row.market.0) << 2 | labels
        };
        let head = coder.number(row.map(head))?;
        let (named, grouped) = (head & 1 == 1, head & 2 == 2);
        let name = row.and_then(|row| row.client_id);
        let group = row.and_then(|row| Token::new(row.group.as_ref()?.as_str()));
        Ok(Terms {
            no,
            market: MarketNo(u32::try_from(head >> 2).map_err(|_| BadImage::Value("market"))?),
            wording: coder.imaged(row.map(|row| row.wording))?,
            price: coder.imaged(row.map(|row| row.price))?,
            quantity: coder.lots(row.map(|row| row.quantity))?,
            time_in_force: coder.imaged(row.map(|row| row.time_in_force))?,
            created_at,
            client_id: if named { Some(coder.token(name)?) } else { None },
            group: if grouped {
                let group = Group::new(coder.token(group)?.as_str());
                Some(group.ok_or(BadImage::Value("Group"))?)
            } else {
                None
            },
            in_market: Links::code(row.map(|row| row.in_market), index, coder)?,
        })
    }
}

impl Terms {
    /// The row that its record left, had it traded so much and ended nothing.
    pub(super) fn rested(&self, user: UserNo, filled: Lots, filled_cost: Money) -> OrderRow {
        let partly = !filled.is_zero();
        OrderRow {
            no: self.no,
            user,
            market: self.market,
            wording: self.wording,
            price: self.price,
            quantity: self.quantity,
            filled,
            remaining: self.quantity.minus(filled).unwrap_or_default(),
            cancelled: Lots::ZERO,
            filled_cost,
            status: if partly { OrderStatus::PartiallyFilled } else { OrderStatus::Open },
            cancel_reason: None,
            time_in_force: self.time_in_force,
            created_at: self.created_at,
            updated_at: self.created_at,
            client_id: self.client_id,
            group: self.group,
        }
    }
}

/// The outcome of a final order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    pub(super) price: Tick,
    pub(super) quantity: Lots,
    pub(super) filled: Lots,
    pub(super) filled_cost: Money,
    /// Why the rest was cancelled; `None` if the order was filled.
    pub(super) reason: Option<CancelReason>,
    pub(super) updated_at: TimeMs,
    pub(super) fills: RowChain,
    /// Whether the record that placed the order ended it.
    pub(super) at_once: bool,
}

impl Ending {
    /// The ending of an order that was open until now.
    pub(super) const fn of(
        order: &OpenOrder,
        reason: Option<CancelReason>,
        at_once: bool,
    ) -> Ending {
        Ending {
            price: order.price,
            quantity: order.quantity,
            filled: order.filled,
            filled_cost: order.filled_cost,
            reason,
            updated_at: order.updated_at,
            fills: order.fills,
            at_once,
        }
    }

    /// Appends the ending of the order at `slot` of its page.
    pub(super) fn pack(
        &self,
        slot: RowIndex,
        created_at: TimeMs,
        sink: &mut Vec<u8>,
    ) -> Result<(), BadImage> {
        let coder = &mut Packing(sink);
        coder.number(Some(slot << 1 | u64::from(self.at_once)))?;
        Ending::code(Some(self), self.at_once, created_at, coder).map(drop)
    }

    fn unpack(terms: &[Terms], source: &mut &[u8]) -> Result<(RowIndex, Ending), BadImage> {
        let coder = &mut Unpacking(source);
        let head = coder.number(None)?;
        let terms = terms.get(length(head >> 1));
        let terms = terms.ok_or(BadImage::Contradiction("the end of no order"))?;
        Ok((head >> 1, Ending::code(None, head & 1 == 1, terms.created_at, coder)?))
    }

    fn code(
        ending: Option<&Self>,
        at_once: bool,
        created_at: TimeMs,
        coder: &mut impl Coder,
    ) -> Result<Ending, BadImage> {
        Ok(Ending {
            price: coder.imaged(ending.map(|ending| ending.price))?,
            reason: coder.imaged(ending.map(|ending| ending.reason))?,
            quantity: coder.lots(ending.map(|ending| ending.quantity))?,
            filled: coder.lots(ending.map(|ending| ending.filled))?,
            filled_cost: coder.money(ending.map(|ending| ending.filled_cost))?,
            updated_at: coder.time(created_at, ending.map(|ending| ending.updated_at))?,
            fills: RowChain::code(ending.map(|ending| ending.fills), coder)?,
            at_once,
        })
    }

    /// The order with these terms and this ending.
    pub(super) fn row(&self, user: UserNo, terms: &Terms) -> OrderRow {
        let cancelled = self.quantity.minus(self.filled).unwrap_or_default();
        OrderRow {
            price: self.price,
            quantity: self.quantity,
            remaining: Lots::ZERO,
            cancelled,
            status: match self.reason {
                None => OrderStatus::Filled,
                Some(_) => OrderStatus::Cancelled,
            },
            cancel_reason: self.reason,
            updated_at: self.updated_at,
            ..terms.rested(user, self.filled, self.filled_cost)
        }
    }
}

/// A page of orders, unpacked.
#[derive(Debug, Clone, Default)]
pub(super) struct OrderPage {
    pub(super) terms: Vec<Terms>,
    /// By slot.
    pub(super) endings: BTreeMap<RowIndex, Ending>,
}

impl OrderPage {
    /// Reads a page whose first order has the index `first`: its orders, then endings.
    pub(super) fn unpack(
        first: RowIndex,
        rows: RowIndex,
        mut bytes: &[u8],
    ) -> Result<Self, BadImage> {
        let terms = unpack_rows(first, rows, &mut bytes)?;
        let mut page = OrderPage { terms, endings: BTreeMap::new() };
        page.end(bytes)?;
        Ok(page)
    }

    /// Adds endings. Returns how many.
    pub(super) fn end(&mut self, mut bytes: &[u8]) -> Result<RowIndex, BadImage> {
        let mut count = 0;
        while !bytes.is_empty() {
            let (slot, ending) = Ending::unpack(&self.terms, &mut bytes)?;
            self.endings.insert(slot, ending);
            count += 1;
        }
        Ok(count)
    }
}

/// The page of endings that follows when `stored` endings of the orders from index `first` on are
/// on earlier pages.
pub(super) const fn endings_key(user: UserNo, first: RowIndex, stored: RowIndex) -> PageKey {
    PageKey { kind: Kind::Endings, owner: user.0, page: first.saturating_add(stored) }
}

// Orders in the read model's image: the open ones whole, the newest of each user packed.

imaged_choice!(OrderStatus { Open = 1, PartiallyFilled = 2, Filled = 3, Cancelled = 4 });
imaged!(OrderRow {
    no,
    user,
    market,
    wording,
    price,
    quantity,
    filled,
    remaining,
    cancelled,
    filled_cost,
    status,
    cancel_reason,
    time_in_force,
    created_at,
    updated_at,
    client_id,
    group,
});
imaged!(OpenOrder {
    no,
    user,
    market,
    wording,
    price,
    quantity,
    filled,
    filled_cost,
    time_in_force,
    created_at,
    updated_at,
    client_id,
    group,
    row_index,
    fills,
});

impl Imaged for RowChain {
    fn write(&self, sink: &mut impl ImageSink) {
        // Packing into a sink does not fail.
        let packed = RowChain::code(Some(*self), &mut Packing(sink));
        debug_assert!(packed.is_ok(), "{packed:?}");
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        RowChain::code(None, &mut Unpacking(source))
    }
}

impl Orders {
    /// Writes each user's newest orders, names and open orders, then by market each user's chains,
    /// and the fills.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        // What the latest record did is read before the next record, so the image leaves it out.
        let Orders { history: _, open, incoming: _, users, markets, ended, .. } = self;
        let Orders { just_ended: _, placed: _, newest, fills, .. } = self;
        newest.map_or(Sequence::ZERO, |no| no.0).write(sink);
        for (user, own) in (0..).map(UserNo).zip(users) {
            own.write(sink);
            write_count(open.count_of(user), sink);
            for order in open.before(user, ALL).rev() {
                order.write(sink);
            }
        }
        for traders in markets {
            traders.write(sink);
        }
        write_count(ended.len(), sink);
        for market in ended {
            market.write(sink);
        }
        fills.write(sink);
    }

    /// Reads what `write` wrote.
    pub(crate) fn read(
        history: History,
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Orders, BadImage> {
        let newest = Some(OrderNo(Sequence::read(source)?)).filter(|no| no.0 > Sequence::ZERO);
        let mut orders = Orders { newest, ..Orders::on(history.clone()) };
        for user in sizes.users() {
            let own = UserOrders::read(history.rows_per_page(), sizes, source)?;
            let newest = newest.map_or(Sequence::ZERO, |no| no.0);
            hold(own.tail.base().0 <= newest, "an order newer than the newest")?;
            orders.users.push(own);
            orders.open.add_user();
            orders.read_open(user, sizes, source)?;
        }
        for _ in 0..sizes.markets {
            orders.markets.push(Traders::read(sizes, source)?);
        }
        for _ in 0..read_count(source)? {
            orders.ended.push_back(Imaged::read(source)?);
        }
        let ended = orders.ended.iter().map(|market| orders.markets.get(market.index()));
        let mut moving: Vec<_> = orders.ended.iter().copied().collect();
        moving.sort_unstable();
        moving.dedup();
        let all = orders.markets.iter().filter(|traders| traders.moving()).count();
        hold(moving.len() == orders.ended.len(), "a market that ended twice")?;
        hold(ended.clone().all(|traders| traders.is_some_and(Traders::has_ended)), "no end")?;
        hold(ended.flatten().filter(|it| it.moving()).count() == all, "an end that is forgotten")?;
        orders.fills = Fills::read(history, sizes, source)?;
        Ok(orders)
    }

    fn read_open(
        &mut self,
        user: UserNo,
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<(), BadImage> {
        let (rows, mut before) = (self.history.rows_per_page(), None);
        let own = self.users.get_mut(user.index()).ok_or(BadImage::Truncated)?;
        let tail = own.tail.page(rows);
        for _ in 0..read_count(source)? {
            let order = OpenOrder::read(source)?;
            hold(order.user == user, "an open order among those of another")?;
            hold(before < Some((order.no, order.row_index)), "open orders out of order")?;
            hold(before.is_none_or(|(_, index)| index < order.row_index), "orders out of order")?;
            before = Some((order.no, order.row_index));
            sizes.has_market(order.market)?;
            hold(order.filled < order.quantity, "an open order of which nothing is left")?;
            hold(order.row_index < own.tail.count(), "an open order after the newest")?;
            let page = order.row_index / rows;
            if page != tail {
                own.unfinished.pages.entry(page).or_default().open += 1;
            }
            let added = self.open.add(&order);
            added.map_err(|_| BadImage::Contradiction("too many open orders"))?;
            let kept = self.open.get(user, order.no);
            hold(kept == Some(order), "an open order that is not one")?;
        }
        let whole = |page: &Unfinished| page.open > 0 && page.open + page.waiting <= rows;
        hold(own.unfinished.pages.values().all(whole), "more endings than orders")
    }
}

impl UserOrders {
    fn write(&self, sink: &mut impl ImageSink) {
        // Which orders of a page are open follows from the open orders.
        let UserOrders { tail, endings, ended: _, unfinished, names } = self;
        tail.write(sink);
        write_bytes(endings, sink);
        let waiting = unfinished.pages.iter().filter(|(_, page)| page.waiting > 0);
        write_count(unfinished.with_waiting, sink);
        for (page, Unfinished { endings, waiting, .. }) in waiting {
            page.write(sink);
            waiting.write(sink);
            write_bytes(endings, sink);
        }
        names.write(sink);
    }

    fn read(
        rows: RowIndex,
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<UserOrders, BadImage> {
        let (tail, terms): (Tail<Terms>, Vec<Terms>) = Tail::read(rows, source)?;
        let ordered = terms.is_sorted_by(|a, b| a.no < b.no);
        hold(ordered, "orders out of order")?;
        terms.iter().try_for_each(|terms| sizes.has_market(terms.market))?;
        let endings = read_bytes(source)?;
        let mut page = OrderPage { terms, ..OrderPage::default() };
        let ended = page.end(&endings)?;
        hold(page.endings.len() == length(ended), "an order that ended twice")?;
        let (mut unfinished, mut before) = (UnfinishedPages::default(), None);
        for _ in 0..read_count(source)? {
            let (number, waiting) = (u64::read(source)?, RowIndex::read(source)?);
            hold(before < Some(number) && number < tail.page(rows), "endings out of order")?;
            hold(waiting > 0 && waiting < rows, "endings that do not wait")?;
            before = Some(number);
            let endings = read_bytes(source)?;
            unfinished.with_waiting += 1;
            unfinished.pages.insert(number, Unfinished { open: 0, endings, waiting });
        }
        Ok(UserOrders { tail, endings, ended, unfinished, names: Names::read(source)? })
    }
}
