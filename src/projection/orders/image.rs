//! Orders in the read model's image: every row in order of its number, then the fills.

use super::{OrderRow, OrderStatus, Orders, Slot, UserOrders};
use crate::exchange::ids::{OrderNo, Token};
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged_choice, read_count, room, write_count,
};
use crate::exchange::units::TimeMs;
use crate::projection::fills::Fills;
use crate::projection::image::{Sizes, hold};

imaged_choice!(OrderStatus { Open = 1, PartiallyFilled = 2, Filled = 3, Cancelled = 4 });

impl Imaged for OrderRow {
    #[inline]
    fn write(&self, sink: &mut impl ImageSink) {
        // The id follows from the number and the time of placing.
        let OrderRow {
            no,
            id: _,
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
        } = self;
        no.write(sink);
        user.write(sink);
        market.write(sink);
        wording.write(sink);
        price.write(sink);
        quantity.write(sink);
        filled.write(sink);
        remaining.write(sink);
        cancelled.write(sink);
        filled_cost.write(sink);
        status.write(sink);
        cancel_reason.write(sink);
        time_in_force.write(sink);
        created_at.write(sink);
        updated_at.write(sink);
    }

    #[inline]
    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let no = OrderNo::read(source)?;
        let mut row = OrderRow {
            no,
            id: no.id(TimeMs::default()),
            user: Imaged::read(source)?,
            market: Imaged::read(source)?,
            wording: Imaged::read(source)?,
            price: Imaged::read(source)?,
            quantity: Imaged::read(source)?,
            filled: Imaged::read(source)?,
            remaining: Imaged::read(source)?,
            cancelled: Imaged::read(source)?,
            filled_cost: Imaged::read(source)?,
            status: Imaged::read(source)?,
            cancel_reason: Imaged::read(source)?,
            time_in_force: Imaged::read(source)?,
            created_at: Imaged::read(source)?,
            updated_at: Imaged::read(source)?,
        };
        row.id = no.id(row.created_at);
        Ok(row)
    }
}

impl Orders {
    /// Writes every order, then every fill.
    pub(in crate::projection) fn write(&self, sink: &mut impl ImageSink) {
        // Whose the rows are and which stand is told by the rows.
        let Orders { rows, open: _, users: _, by_market: _, client_ids, by_client_id: _, fills } =
            self;
        rows.write(sink);
        fills.write(sink);
        let named = rows.iter().filter_map(|row| Some((row.no, client_ids.get(&row.no)?)));
        write_count(client_ids.len(), sink);
        for (order, id) in named {
            order.write(sink);
            id.write(sink);
        }
    }

    /// Reads them.
    pub(in crate::projection) fn read(
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Orders, BadImage> {
        let mut orders = Orders::default();
        orders.users.resize_with(sizes.users, UserOrders::default);
        let count = read_count(source)?;
        orders.rows.reserve(room::<OrderRow>(count, source));
        let mut filled = 0;
        for index in 0..count {
            let slot = Slot::try_from(index);
            let slot = slot.map_err(|_| BadImage::Contradiction("too many orders"))?;
            let row = OrderRow::read(source)?;
            hold(orders.rows.last().is_none_or(|last| last.no < row.no), "orders out of order")?;
            sizes.has_user(row.user)?;
            sizes.has_market(row.market)?;
            filled += usize::from(!row.filled.is_zero());
            orders.index(slot, &row);
            orders.rows.push(row);
        }
        orders.fills = Fills::read(sizes, filled, source)?;
        let mut last = None;
        for _ in 0..read_count(source)? {
            let (order, id) = (OrderNo::read(source)?, Token::read(source)?);
            hold(last < Some(order), "named orders out of order")?;
            last = Some(order);
            let slot = orders.rows.binary_search_by_key(&order, |row| row.no);
            let slot = slot.ok().and_then(|slot| Some((Slot::try_from(slot).ok()?, slot)));
            let (slot, index) = slot.ok_or(BadImage::Contradiction("a name of no order"))?;
            let user = orders.rows.get(index).map(|row| row.user);
            let user = user.ok_or(BadImage::Contradiction("a name of no order"))?;
            orders.client_ids.insert(order, id);
            orders.by_client_id.insert((user, id), slot);
        }
        Ok(orders)
    }

    /// Puts a row that is read where it can be looked up.
    fn index(&mut self, slot: Slot, row: &OrderRow) {
        if let Some(owner) = self.users.get_mut(row.user.index()) {
            owner.all.push(slot);
            if row.status.open() {
                owner.open.insert(slot);
                self.open.insert(row.no, slot);
            }
        }
        self.by_market.entry((row.user, row.market)).or_default().push(slot);
    }
}
