//! Fills in the read model's image: user by user, oldest first, each with the place of its order
//! among the user's orders.

use super::{FillRow, Fills, Liquidity, UserFills};
use crate::exchange::ids::{TradeId, TradeIndex, UserNo};
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, imaged_choice, read_count, read_flat, room,
    write_count,
};
use crate::exchange::units::{Lots, Money, Sequence, Tick, TimeMs};
use crate::projection::chain::{Chain, Place};
use crate::projection::image::hold;
use crate::projection::orders::image::Head;

imaged_choice!(Liquidity { Maker = 1, Taker = 2 });

/// What a fill says that its order does not. The rest of its id is the time and the sequence.
struct FlatFill {
    order: Place,
    index: TradeIndex,
    price: Tick,
    quantity: Lots,
    liquidity: Liquidity,
    fee: Money,
    time: TimeMs,
    sequence: Sequence,
}

imaged!(FlatFill { order, index, price, quantity, liquidity, fee, time, sequence });

/// A fill leads to an order that is not there.
const NO_ORDER: BadImage = BadImage::Contradiction("an order that does not exist");

/// Bytes of a [`FlatFill`].
const FLAT_BYTES: usize = 42;

impl FlatFill {
    fn of(row: &FillRow, order: Place) -> FlatFill {
        // The order says its number, the market and the wording.
        let FillRow { id, order: _, market: _, wording: _, price, quantity, liquidity, .. } = *row;
        let FillRow { fee, time, sequence, .. } = *row;
        FlatFill { order, index: id.index(), price, quantity, liquidity, fee, time, sequence }
    }

    fn row(&self, heads: &[Head]) -> Result<FillRow, BadImage> {
        let FlatFill { order, index, price, quantity, liquidity, fee, time, sequence } = *self;
        let Head { no, market, wording } = *heads.get(order as usize).ok_or(NO_ORDER)?;
        let id = TradeId::of(time, sequence, index);
        hold(id.index() == index, "a trade with an index that ids cannot hold")?;
        Ok(FillRow {
            id,
            order: no,
            market,
            wording,
            price,
            quantity,
            liquidity,
            fee,
            time,
            sequence,
        })
    }
}

impl Fills {
    /// Writes a user's fills. `chains` are those of the user's orders, in order of placing.
    pub(in crate::projection) fn write_of(
        &self,
        user: UserNo,
        chains: impl Iterator<Item = Chain>,
        sink: &mut impl ImageSink,
    ) {
        // Markets find their rows by what the orders say.
        let Fills { of, by_market: _ } = self;
        let none = UserFills::default();
        let UserFills { rows, links } = of.get(user.index()).unwrap_or(&none);
        let mut orders = vec![Place::MAX; rows.len()];
        let link = |fill: Place| links.get(fill as usize).map(|links| links.of_order);
        for (order, chain) in (0..).zip(chains) {
            for fill in chain.places(link) {
                if let Some(of_fill) = orders.get_mut(fill as usize) {
                    *of_fill = order;
                }
            }
        }
        write_count(rows.len(), sink);
        for (row, order) in rows.iter().zip(orders) {
            FlatFill::of(row, order).write(sink);
        }
    }

    /// Reads the next user's fills. `heads` and `chains` are those of the user's orders; the
    /// chains are empty, and become what they were.
    pub(in crate::projection) fn read_of(
        &mut self,
        user: UserNo,
        heads: &[Head],
        chains: &mut [&mut Chain],
        source: &mut impl ImageSource,
    ) -> Result<(), BadImage> {
        self.add_user();
        let count = read_count(source)?;
        if let Some(UserFills { rows, links }) = self.of.last_mut() {
            rows.reserve(room::<FillRow>(count, source));
            links.reserve(room::<FillRow>(count, source));
        }
        for _ in 0..count {
            let flat: FlatFill = read_flat::<FLAT_BYTES, _>(source)?;
            let chain = chains.get_mut(flat.order as usize).ok_or(NO_ORDER)?;
            let added = self.add(user, flat.row(heads)?, chain);
            added.map_err(|_| BadImage::Contradiction("too many fills"))?;
        }
        Ok(())
    }
}
