//! Packing of settlements.

use super::SettlementRow;
use crate::history::Kind;
use crate::history::chain::RowIndex;
use crate::history::pack::{
    RowBuffer, pack, pack_money, pack_sequence, pack_signed, pack_time, unpack, unpack_money,
    unpack_sequence, unpack_signed, unpack_time, unpack_u32,
};
use crate::history::stream::Row;
use crate::image::Refers;
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::{BadImage, Imaged};
use exchange::units::{Lots, MoneySum, Sequence, TimeMs};

impl Row for SettlementRow {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Settlements;

    fn base(&self) -> Self::Base {
        (self.sequence, self.time)
    }

    fn pack(&self, _: RowIndex, before: &Self::Base, sink: &mut RowBuffer) {
        let SettlementRow { market, outcome, quantity, payout, realised, time, sequence } = self;
        pack_sequence(before.0, *sequence, sink);
        pack_time(before.1, *time, sink);
        pack(u64::from(market.0), sink);
        outcome.write(sink);
        pack(quantity.get(), sink);
        pack_money(*payout, sink);
        pack_signed(realised.get(), sink);
    }

    fn unpack(_: RowIndex, before: &Self::Base, source: &mut &[u8]) -> Result<Self, BadImage> {
        Ok(SettlementRow {
            sequence: unpack_sequence(before.0, source)?,
            time: unpack_time(before.1, source)?,
            market: MarketNo(unpack_u32(source)?),
            outcome: Imaged::read(source)?,
            quantity: Lots::new(unpack(source)?),
            payout: unpack_money(source)?,
            realised: MoneySum::new(unpack_signed(source)?),
        })
    }
}

impl Refers for SettlementRow {
    type Owner = UserNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        (None, Some(self.market))
    }
}
