//! Packing of fills, and fills in the read model's image.

use super::{Fill, FillRow, Fills, Held, Liquidity};
use crate::history::chain::{Links, RowIndex};
use crate::history::onward::Made;
use crate::history::stream::{Row, Streams};
use crate::history::{Coder, History, Kind};
use crate::saved::Sizes;
use exchange::catalogue::Outcome;
use exchange::command::{Side, Wording};
use exchange::ids::{OrderNo, TradeIndex};
use exchange::image::coding::{BadImage, ImageSink, ImageSource};
use exchange::units::{Sequence, TimeMs};

/// Bits of the byte that holds outcome, side, liquidity and whether the order has a name.
const NO: u8 = 1;
const SOLD: u8 = 1 << 1;
const TOOK: u8 = 1 << 2;
const NAMED: u8 = 1 << 3;

impl Row for Fill {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Fills;

    fn base(&self) -> Self::Base {
        self.made()
    }

    fn code(
        fill: Option<&Self>,
        row_index: RowIndex,
        before: &Self::Base,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        let row = fill.map(|fill| &fill.row);
        let sequence = coder.sequence(before.0, row.map(|row| row.sequence))?;
        let time = coder.time(before.1, row.map(|row| row.time))?;
        let index = TradeIndex(coder.short(row.map(|row| row.index.0))?);
        let order = OrderNo(coder.sequence(sequence, row.map(|row| row.order.0))?);
        let placed = coder.time(time, row.map(|row| row.placed))?;
        let market = coder.market(row.map(|row| row.market))?;
        let bits = coder.imaged(row.map(|FillRow { wording, liquidity, client_id, .. }| {
            (if wording.outcome == Outcome::No { NO } else { 0 })
                | (if wording.side == Side::Sell { SOLD } else { 0 })
                | (if *liquidity == Liquidity::Taker { TOOK } else { 0 })
                | (if client_id.is_some() { NAMED } else { 0 })
        }))?;
        if bits > NO | SOLD | TOOK | NAMED {
            return Err(BadImage::Value("fill"));
        }
        let wording = Wording {
            outcome: if bits & NO == 0 { Outcome::Yes } else { Outcome::No },
            side: if bits & SOLD == 0 { Side::Buy } else { Side::Sell },
        };
        let liquidity = if bits & TOOK == 0 { Liquidity::Maker } else { Liquidity::Taker };
        let price = coder.imaged(row.map(|row| row.price))?;
        let quantity = coder.lots(row.map(|row| row.quantity))?;
        let fee = coder.money(row.map(|row| row.fee))?;
        let held = Held {
            yes: coder.lots(row.map(|row| row.held.yes))?,
            no: coder.lots(row.map(|row| row.held.no))?,
        };
        let name = row.and_then(|row| row.client_id);
        let client_id = if bits & NAMED == 0 { None } else { Some(coder.token(name)?) };
        let row = FillRow {
            index,
            order,
            placed,
            client_id,
            market,
            wording,
            price,
            quantity,
            liquidity,
            fee,
            held,
            time,
            sequence,
        };
        let of_order = Links::code(fill.map(|fill| fill.of_order), row_index, coder)?;
        let in_market = Links::code(fill.map(|fill| fill.in_market), row_index, coder)?;
        Ok(Fill { row, of_order, in_market })
    }
}

impl Made for Fill {
    fn made(&self) -> (Sequence, TimeMs) {
        (self.row.sequence, self.row.time)
    }
}

impl Fills {
    /// Writes every user's newest fills.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        let Fills { users } = self;
        users.write(sink);
    }

    pub(crate) fn read(
        history: History,
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Fills, BadImage> {
        let check =
            |fills: &[Fill]| fills.iter().try_for_each(|fill| sizes.has_market(fill.row.market));
        Ok(Fills { users: Streams::read(history, sizes.users, source, check)? })
    }
}
