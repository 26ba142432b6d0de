//! Orders in the read model's image: the open ones whole, the newest of each user packed.

use super::late::Late;
use super::names::Names;
use super::open::OpenOrder;
use super::page::{OrderPage, Terms};
use super::row::{OrderRow, OrderStatus};
use super::traders::Traders;
use super::{Orders, UserOrders};
use crate::fills::Fills;
use crate::history::History;
use crate::history::chain::RowChain;
use crate::history::chain::RowIndex;
use crate::history::stream::Tail;
use crate::image::{NO_USER, Sizes, hold};
use exchange::ids::OrderNo;
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
});
imaged!(OpenOrder {
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
    row_index,
    fills,
});

impl Imaged for RowChain {
    fn write(&self, sink: &mut impl ImageSink) {
        self.pack(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        RowChain::unpack(source)
    }
}

impl Orders {
    /// Writes each user's newest orders and names, all open orders, then by market each user's
    /// chains, and the late endings and fills.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        // What the latest record did is read before the next record, so the image leaves it out.
        let Orders { history: _, open, incoming: _, users, markets, late, .. } = self;
        let Orders { just_ended: _, placed: _, newest, fills, buffer: _, .. } = self;
        newest.map_or(Sequence::ZERO, |no| no.0).write(sink);
        for own in users {
            own.write(sink);
        }
        let sorted = open.sorted();
        write_count(sorted.len(), sink);
        for (no, open_order) in sorted {
            no.write(sink);
            open_order.write(sink);
            open.name(no).write(sink);
        }
        for traders in markets {
            traders.write(sink);
        }
        late.write(sink);
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
        for _ in 0..sizes.users {
            let own = UserOrders::read(history.rows_per_page(), sizes, source)?;
            hold(own.tail.base().0 <= orders.newest_sequence(), "an order newer than the newest")?;
            orders.users.push(own);
            orders.open.add_user();
        }
        orders.read_open(sizes, source)?;
        for _ in 0..sizes.markets {
            orders.markets.push(Traders::read(sizes, source)?);
        }
        orders.late = Late::read(sizes, source)?;
        orders.fills = Fills::read(history, sizes, source)?;
        Ok(orders)
    }

    fn newest_sequence(&self) -> Sequence {
        self.newest.map_or(Sequence::ZERO, |no| no.0)
    }

    fn read_open(&mut self, sizes: Sizes, source: &mut impl ImageSource) -> Result<(), BadImage> {
        let mut before = None;
        for _ in 0..read_count(source)? {
            let (no, open_order) = (OrderNo::read(source)?, OpenOrder::read(source)?);
            hold(before < Some(no), "open orders out of order")?;
            before = Some(no);
            sizes.has_market(open_order.market)?;
            hold(
                open_order.filled < open_order.quantity,
                "an open order of which nothing is left",
            )?;
            let own = self.users.get(open_order.user.index()).ok_or(NO_USER)?;
            hold(open_order.row_index < own.tail.count(), "an open order after the newest")?;
            let added = self.open.add(no, &open_order, Imaged::read(source)?);
            added.map_err(|_| BadImage::Contradiction("too many open orders"))?;
        }
        Ok(())
    }
}

impl UserOrders {
    fn write(&self, sink: &mut impl ImageSink) {
        let UserOrders { tail, endings, names } = self;
        tail.write(sink);
        write_bytes(endings, sink);
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
        page.end(&endings)?;
        Ok(UserOrders { tail, endings, names: Names::read(source)? })
    }
}
