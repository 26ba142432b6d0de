//! Orders in the read model's image: the open ones whole, the newest of each user packed.

use super::open::OpenOrder;
use super::page::{OrderPage, Terms};
use super::row::{OrderRow, OrderStatus};
use super::traders::Traders;
use super::unfinished::{Unfinished, UnfinishedPages};
use super::{ALL, Names, Orders, UserOrders};
use crate::fills::Fills;
use crate::history::History;
use crate::history::chain::{RowChain, RowIndex, length};
use crate::history::pack::{Packing, Unpacking};
use crate::history::stream::Tail;
use crate::saved::{Sizes, hold};
use exchange::ids::{OrderNo, UserNo};
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, imaged_choice, read_bytes, read_count,
    write_bytes, write_count,
};
use exchange::units::Sequence;

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
