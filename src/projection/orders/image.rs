//! Orders in the read model's image: every row in order of its number, then the fills.

use super::{OrderLinks, OrderRow, OrderStatus, Orders, Slot, UserOrders};
use crate::exchange::ids::{OrderNo, Token, UserNo};
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged_choice, read_count, read_flat, room,
    write_count,
};
use crate::exchange::units::TimeMs;
use crate::projection::chain::Chain;
use crate::projection::fills::Fills;
use crate::projection::image::{BATCH, NO_USER, Sizes, hold};

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

/// Bytes of a row.
const ROW_BYTES: usize = 86;

/// An open order: its user, its number, its place.
type Standing = (UserNo, OrderNo, Slot);

impl Orders {
    /// Writes every order, then every fill.
    pub(in crate::projection) fn write(&self, sink: &mut impl ImageSink) {
        // Whose the rows are and which stand is told by the rows.
        let Orders {
            rows,
            links: _,
            chains,
            open: _,
            users: _,
            by_market: _,
            client_ids,
            by_client_id: _,
            fills,
        } = self;
        rows.write(sink);
        fills.write(rows, chains, sink);
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
        let (mut open, mut last) = (Vec::new(), None);
        while orders.rows.len() < count {
            let start = orders.rows.len();
            for _ in start..count.min(start.saturating_add(BATCH)) {
                let row: OrderRow = read_flat::<ROW_BYTES, _>(source)?;
                hold(last.is_none_or(|last| last < row.no), "orders out of order")?;
                last = Some(row.no);
                sizes.has_market(row.market)?;
                orders.rows.push(row);
            }
            orders.link(start, &mut open)?;
        }
        orders.stand(open);
        orders.chains.resize(orders.rows.len(), Chain::default());
        orders.fills = Fills::read(sizes, &orders.rows, &mut orders.chains, source)?;
        orders.read_names(source)?;
        Ok(orders)
    }

    /// Reads the names that owners gave to their orders.
    fn read_names(&mut self, source: &mut impl ImageSource) -> Result<(), BadImage> {
        let mut last = None;
        for _ in 0..read_count(source)? {
            let (order, id) = (OrderNo::read(source)?, Token::read(source)?);
            hold(last < Some(order), "named orders out of order")?;
            last = Some(order);
            let slot = self.rows.binary_search_by_key(&order, |row| row.no);
            let slot = slot.ok().and_then(|slot| Some((Slot::try_from(slot).ok()?, slot)));
            let (slot, index) = slot.ok_or(BadImage::Contradiction("a name of no order"))?;
            let user = self.rows.get(index).map(|row| row.user);
            let user = user.ok_or(BadImage::Contradiction("a name of no order"))?;
            self.client_ids.insert(order, id);
            self.by_client_id.insert((user, id), slot);
        }
        Ok(())
    }

    /// Puts the rows from `start` on into their chains, and adds the open ones to `open`.
    fn link(&mut self, start: usize, open: &mut Vec<Standing>) -> Result<(), BadImage> {
        for (index, row) in self.rows.iter().enumerate().skip(start) {
            let slot = Slot::try_from(index);
            let slot = slot.map_err(|_| BadImage::Contradiction("too many orders"))?;
            let owner = self.users.get_mut(row.user.index()).ok_or(NO_USER)?;
            let in_market = self.by_market.entry((row.user, row.market)).or_default();
            self.links.push(OrderLinks {
                of_user: owner.all.push(slot),
                in_market: in_market.push(slot),
            });
            if row.status.open() {
                open.push((row.user, row.no, slot));
            }
        }
        Ok(())
    }

    /// Puts the open ones, in order of placing, where they can be looked up.
    fn stand(&mut self, open: Vec<Standing>) {
        self.open.reserve(open.len());
        // A set is made of a whole list faster than slot by slot.
        let mut slots: Vec<Vec<Slot>> = Vec::new();
        slots.resize_with(self.users.len(), Vec::new);
        for (user, no, slot) in open {
            self.open.insert(no, slot);
            if let Some(slots) = slots.get_mut(user.index()) {
                slots.push(slot);
            }
        }
        for (owner, slots) in self.users.iter_mut().zip(slots) {
            owner.open = slots.into_iter().collect();
        }
    }
}
