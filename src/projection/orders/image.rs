//! Orders in the read model's image: every row in order of its number, then the fills.

use super::{OrderRow, OrderStatus, Orders, Own, OwnPlace, Slot, Standing, UserOrders};
use crate::exchange::command::Wording;
use crate::exchange::ids::{MarketNo, OrderNo, Token, UserNo};
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged_choice, read_count, read_flat, room,
    write_count,
};
use crate::exchange::units::TimeMs;
use crate::projection::chain::Chain;
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

/// What an order says about its fills.
#[derive(Clone, Copy)]
pub(in crate::projection) struct Head {
    pub no: OrderNo,
    pub market: MarketNo,
    pub wording: Wording,
}

/// What is known of a user's orders while they are read; what follows is close together in memory
/// for one user, as the rows are not.
#[derive(Default)]
struct Reading {
    heads: Vec<Head>,
    open: Vec<Slot>,
}

impl Orders {
    /// Writes every order, then user by user the fills, each with the place of its order among
    /// the user's.
    pub(in crate::projection) fn write(&self, sink: &mut impl ImageSink) {
        // Whose the rows are and which stand is told by the rows.
        let Orders {
            rows,
            links: _,
            open: _,
            users,
            by_market: _,
            client_ids,
            by_client_id: _,
            fills,
        } = self;
        rows.write(sink);
        for (number, orders) in (0..).zip(users) {
            fills.write_of(UserNo(number), orders.all.iter().map(|own| own.fills), sink);
        }
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
        let mut reading: Vec<Reading> = Vec::new();
        reading.resize_with(sizes.users, Reading::default);
        let mut open = Vec::new();
        let (count, mut last) = (read_count(source)?, None);
        orders.rows.reserve(room::<OrderRow>(count, source));
        while orders.rows.len() < count {
            let start = orders.rows.len();
            for _ in start..count.min(start.saturating_add(BATCH)) {
                let row: OrderRow = read_flat::<ROW_BYTES, _>(source)?;
                hold(last.is_none_or(|last| last < row.no), "orders out of order")?;
                last = Some(row.no);
                sizes.has_market(row.market)?;
                orders.rows.push(row);
            }
            orders.link(start, &mut reading, &mut open)?;
        }
        orders.open.reserve(open.len());
        orders.open.extend(open);
        for ((user, owner), reading) in sizes.users().zip(&mut orders.users).zip(reading) {
            // A set is made of a whole list faster than slot by slot.
            owner.open = reading.open.into_iter().collect();
            let chains = owner.all.iter_mut().map(|own| &mut own.fills);
            let mut chains: Vec<&mut Chain> = chains.collect();
            orders.fills.read_of(user, &reading.heads, &mut chains, source)?;
        }
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

    /// Puts the rows from `start` on where they can be looked up.
    fn link(
        &mut self,
        start: usize,
        reading: &mut [Reading],
        open: &mut Vec<(OrderNo, Standing)>,
    ) -> Result<(), BadImage> {
        let too_many = |_| BadImage::Contradiction("too many orders");
        for (index, row) in self.rows.iter().enumerate().skip(start) {
            let slot = Slot::try_from(index).map_err(too_many)?;
            let user = row.user.index();
            let owner = self.users.get_mut(user).ok_or(NO_USER)?;
            let reading = reading.get_mut(user).ok_or(NO_USER)?;
            let own = OwnPlace::try_from(owner.all.len()).map_err(too_many)?;
            owner.all.push(Own { slot, fills: Chain::default() });
            let OrderRow { no, market, wording, .. } = *row;
            reading.heads.push(Head { no, market, wording });
            let in_market = self.by_market.entry((row.user, market)).or_default();
            self.links.push(in_market.push(slot));
            if row.status.open() {
                reading.open.push(slot);
                open.push((no, Standing { slot, own }));
            }
        }
        Ok(())
    }
}
