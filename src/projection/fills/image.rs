//! Fills in the read model's image: user by user, oldest first, each with the place of its order.

use super::{FillRow, Fills, Liquidity, UserFills};
use crate::exchange::ids::{TradeId, TradeIndex, UserNo};
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, imaged_choice, read_count, read_flat, room,
    write_count,
};
use crate::exchange::units::{Lots, Sequence, Tick, TimeMs};
use crate::projection::chain::{Chain, Place};
use crate::projection::image::{BATCH, Sizes, hold};
use crate::projection::orders::OrderRow;

imaged_choice!(Liquidity { Maker = 1, Taker = 2 });

/// What a fill says that its order does not. The rest of its id is the time and the sequence.
struct FlatFill {
    order: Place,
    index: TradeIndex,
    price: Tick,
    quantity: Lots,
    liquidity: Liquidity,
    time: TimeMs,
    sequence: Sequence,
}

imaged!(FlatFill { order, index, price, quantity, liquidity, time, sequence });

/// A fill leads to an order that is not there.
const NO_ORDER: BadImage = BadImage::Contradiction("an order that does not exist");

/// Bytes of a [`FlatFill`].
const FLAT_BYTES: usize = 34;

impl FlatFill {
    fn of(row: &FillRow, order: Place) -> FlatFill {
        // The order says its number, the market and the wording.
        let FillRow { id, order: _, market: _, wording: _, price, quantity, liquidity, .. } = *row;
        let FillRow { time, sequence, .. } = *row;
        FlatFill { order, index: id.index(), price, quantity, liquidity, time, sequence }
    }

    fn row(&self, user: UserNo, orders: &[OrderRow]) -> Result<FillRow, BadImage> {
        let order = orders.get(self.order as usize).ok_or(NO_ORDER)?;
        hold(order.user == user, "a fill of another user's order")?;
        let FlatFill { order: _, index, price, quantity, liquidity, time, sequence } = *self;
        let id = TradeId::of(time, sequence, index);
        hold(id.index() == index, "a trade with an index that ids cannot hold")?;
        let OrderRow { no, market, wording, .. } = *order;
        Ok(FillRow { id, order: no, market, wording, price, quantity, liquidity, time, sequence })
    }
}

impl Fills {
    /// Writes every user's fills. `chains` are those of these orders.
    pub(in crate::projection) fn write(
        &self,
        orders: &[OrderRow],
        chains: &[Chain],
        sink: &mut impl ImageSink,
    ) {
        // Markets find their rows by what the orders say.
        let Fills { of, by_market: _ } = self;
        let mut places: Vec<Vec<Place>> =
            of.iter().map(|fills| vec![Place::MAX; fills.rows.len()]).collect();
        for ((place, order), chain) in (0..).zip(orders).zip(chains) {
            let user = order.user.index();
            let (Some(fills), Some(places)) = (of.get(user), places.get_mut(user)) else {
                continue;
            };
            let link = |fill: Place| fills.links.get(fill as usize).map(|links| links.of_order);
            for fill in chain.places(link) {
                if let Some(of_order) = places.get_mut(fill as usize) {
                    *of_order = place;
                }
            }
        }
        for (fills, places) in of.iter().zip(places) {
            write_count(fills.rows.len(), sink);
            for (row, place) in fills.rows.iter().zip(places) {
                FlatFill::of(row, place).write(sink);
            }
        }
    }

    /// Reads them. `chains` are those of these orders, empty, and become what they were.
    pub(in crate::projection) fn read(
        sizes: Sizes,
        orders: &[OrderRow],
        chains: &mut [Chain],
        source: &mut impl ImageSource,
    ) -> Result<Fills, BadImage> {
        let mut fills = Fills::default();
        let (mut batch, mut found) = (Vec::new(), Vec::new());
        for user in sizes.users() {
            fills.add_user();
            let count = read_count(source)?;
            if let Some(UserFills { rows, links }) = fills.of.last_mut() {
                rows.reserve_exact(room::<FillRow>(count, source));
                links.reserve_exact(room::<FillRow>(count, source));
            }
            let mut left = count;
            while left > 0 {
                batch.clear();
                for _ in 0..left.min(BATCH) {
                    batch.push(read_flat::<FLAT_BYTES, FlatFill>(source)?);
                }
                left = left.saturating_sub(batch.len());
                found.clear();
                for flat in &batch {
                    found.push(flat.row(user, orders)?);
                }
                for (flat, row) in batch.iter().zip(&found) {
                    let chain = chains.get_mut(flat.order as usize).ok_or(NO_ORDER)?;
                    let added = fills.add(user, *row, chain);
                    added.map_err(|_| BadImage::Contradiction("too many fills"))?;
                }
            }
        }
        Ok(fills)
    }
}
