//! Some open orders of one user, one after the other, each packed beside where the leaf begins: so
//! one that goes leaves the others as they are.

use std::ops::Range;

use super::marks::Marks;
use super::open::OpenOrders;
use crate::exchange::ids::{MarketNo, OrderNo, UserNo};
use crate::exchange::image::coding::{BadImage, ImageSink, Imaged};
use crate::exchange::units::{Lots, Money, Sequence, TimeMs};
use crate::projection::history::chain::{RowChain, RowIndex};
use crate::projection::history::pack::{
    RowBuffer, pack, pack_money, pack_time, unpack, unpack_money, unpack_time, unpack_u32,
};

/// Bytes of a leaf at most: some thirty orders, few enough to look for one of them from the first
/// on. With what an allocator keeps for itself, a power of two.
pub(super) const LEAF_BYTES: usize = 504;
/// Bytes that a leaf begins with: a user may have one order, and users are many.
const FIRST_BYTES: usize = 56;

/// Set if more happened to an order than that it was placed, in the byte of its marks.
const CHANGED: u8 = Marks::BITS + 1;

/// Open orders of one user, oldest first.
#[derive(Debug)]
pub(super) struct Leaf {
    /// What the rows are packed beside: the order that was the first one when the leaf was made.
    from: OrderNo,
    created_at: TimeMs,
    place: RowIndex,
    /// Of each order its head and its row.
    rows: Vec<u8>,
}

/// How long an order's row is, and how much greater its number is than that of the leaf: what is
/// looked at of the rows that are not asked for.
const HEAD_BYTES: usize = 1 + size_of::<u32>();

impl Leaf {
    /// A leaf that begins with this order, and has none yet.
    pub(super) const fn from(no: OrderNo, standing: &OpenOrders) -> Leaf {
        let OpenOrders { created_at, place, .. } = *standing;
        Leaf { from: no, created_at, place, rows: Vec::new() }
    }

    /// No order in it is older than this one.
    pub(super) const fn begins(&self) -> OrderNo {
        self.from
    }

    /// Bytes of its rows.
    pub(super) const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Bytes that are kept for it.
    #[cfg(test)]
    pub(super) const fn room(&self) -> usize {
        self.rows.capacity()
    }

    /// Where an order is.
    pub(super) fn find(&self, no: OrderNo) -> Option<Range<usize>> {
        let sought = u32::try_from(self.after(no)?).ok()?;
        let mut rows = self.rows.as_slice();
        while let Some(([length, number @ ..], rest)) = rows.split_first_chunk::<HEAD_BYTES>() {
            let number = u32::from_le_bytes(*number);
            if number >= sought {
                let at = self.rows.len() - rows.len();
                return (number == sought).then(|| at..at + HEAD_BYTES + usize::from(*length));
            }
            rows = rest.get(usize::from(*length)..)?;
        }
        None
    }

    /// How much greater a number is than that with which the leaf begins.
    fn after(&self, no: OrderNo) -> Option<u64> {
        no.0.get().checked_sub(self.from.0.get())
    }

    /// Where the orders are, oldest first.
    pub(super) fn spots(&self) -> Vec<Range<usize>> {
        let (mut spots, mut at) = (Vec::new(), 0);
        while let Some(length) = self.rows.get(at) {
            let end = at + HEAD_BYTES + usize::from(*length);
            spots.push(at..end);
            at = end;
        }
        spots
    }

    /// The order there.
    pub(super) fn get(&self, user: UserNo, spot: Range<usize>) -> Option<(OrderNo, OpenOrders)> {
        // With the rows after it: what is read in words is read faster if it need not end.
        let row = self.rows.get(spot.start..)?;
        let ([_, number @ ..], row) = row.split_first_chunk::<HEAD_BYTES>()?;
        let number = u64::from(u32::from_le_bytes(*number));
        let no = OrderNo(Sequence::new(self.from.0.get().checked_add(number)?));
        self.unpack(user, row).ok().map(|standing| (no, standing))
    }

    /// Adds an order, newer than all others, if there is room for it here: tells whether there
    /// was.
    pub(super) fn add(
        &mut self,
        (no, standing): (OrderNo, &OpenOrders),
        desk: &mut RowBuffer,
    ) -> Option<bool> {
        let Ok(number) = u32::try_from(self.after(no)?) else { return Some(false) };
        self.pack(number, standing, desk)?;
        let needed = self.rows.len() + desk.row().len();
        if needed > LEAF_BYTES {
            return Some(false);
        }
        self.make_room(needed);
        self.rows.extend_from_slice(desk.row());
        Some(true)
    }

    /// Puts an order where it is. The leaf may become too long by it.
    pub(super) fn set(
        &mut self,
        spot: Range<usize>,
        (no, standing): (OrderNo, &OpenOrders),
        desk: &mut RowBuffer,
    ) -> Option<()> {
        self.pack(u32::try_from(self.after(no)?).ok()?, standing, desk)?;
        let (row, Range { start, end }) = (desk.row(), spot);
        let (length, needed) = (self.rows.len(), start + row.len() + self.rows.len() - end);
        self.make_room(needed);
        self.rows.resize(length.max(needed), 0);
        self.rows.copy_within(end..length, start + row.len());
        self.rows.truncate(needed);
        self.rows.get_mut(start..start + row.len())?.copy_from_slice(row);
        Some(())
    }

    /// Takes the order there away.
    pub(super) fn remove(&mut self, spot: Range<usize>) {
        self.rows.drain(spot);
        if self.rows.len() < self.rows.capacity() / 3 {
            self.rows.shrink_to(room_for(self.rows.len()));
        }
    }

    /// Takes away what is after so many bytes.
    pub(super) fn cut(&mut self, length: usize) {
        self.rows.truncate(length);
        self.rows.shrink_to(room_for(length));
    }

    /// Room for so many bytes.
    fn make_room(&mut self, needed: usize) {
        if self.rows.capacity() < needed {
            self.rows.reserve_exact(room_for(needed) - self.rows.len());
        }
    }

    /// Packs an order's head and row on `desk`.
    fn pack(&self, number: u32, standing: &OpenOrders, desk: &mut RowBuffer) -> Option<()> {
        desk.clear();
        desk.put(&[0; HEAD_BYTES]);
        self.pack_row(standing, desk);
        let row = desk.row_mut();
        let length = u8::try_from(row.len().checked_sub(HEAD_BYTES)?).ok()?;
        let ([to, number_to @ ..], _) = row.split_first_chunk_mut::<HEAD_BYTES>()?;
        (*to, *number_to) = (length, number.to_le_bytes());
        Some(())
    }

    fn pack_row(&self, standing: &OpenOrders, sink: &mut RowBuffer) {
        let OpenOrders { user: _, market, wording, price, quantity, filled, .. } = standing;
        let OpenOrders { filled_cost, time_in_force, created_at, .. } = standing;
        let OpenOrders { updated_at, place, fills, .. } = standing;
        pack_time(self.created_at, *created_at, sink);
        pack(u64::from(place.wrapping_sub(self.place)), sink);
        pack(u64::from(market.0), sink);
        let marks = Marks::of(*wording, *time_in_force);
        let placed = (Lots::ZERO, Money::ZERO, *created_at, RowChain::default());
        let changed = (*filled, *filled_cost, *updated_at, *fills) != placed;
        let bits = marks.bits() | if changed { CHANGED } else { 0 };
        sink.put(&[bits, price.get()]);
        pack(quantity.get(), sink);
        if let Some(expires_at) = standing.expires_at() {
            pack_time(*created_at, expires_at, sink);
        }
        if changed {
            pack(filled.get(), sink);
            pack_money(*filled_cost, sink);
            pack_time(*created_at, *updated_at, sink);
            fills.pack(sink);
        }
    }

    fn unpack(&self, user: UserNo, mut row: &[u8]) -> Result<OpenOrders, BadImage> {
        let source = &mut row;
        let created_at = unpack_time(self.created_at, source)?;
        let place = self.place.wrapping_add(unpack_u32(source)?);
        let market = MarketNo(unpack_u32(source)?);
        let bits = u8::read(source)?;
        let marks = Marks::from_bits(bits);
        let (price, quantity) = (Imaged::read(source)?, Lots::new(unpack(source)?));
        let expires_at = marks.expires().then(|| unpack_time(created_at, source)).transpose()?;
        let mut standing = OpenOrders {
            user,
            market,
            wording: marks.wording(),
            price,
            quantity,
            filled: Lots::ZERO,
            filled_cost: Money::ZERO,
            time_in_force: marks.time_in_force(expires_at),
            created_at,
            updated_at: created_at,
            place,
            fills: RowChain::default(),
        };
        if bits & CHANGED != 0 {
            standing.filled = Lots::new(unpack(source)?);
            standing.filled_cost = unpack_money(source)?;
            standing.updated_at = unpack_time(created_at, source)?;
            standing.fills = RowChain::unpack(source)?;
        }
        Ok(standing)
    }
}

/// Room of few sizes, each twice the one before, so that what one leaf leaves fits another.
const fn room_for(needed: usize) -> usize {
    let mut room = FIRST_BYTES;
    while room < needed {
        room = room * 2 + 8;
    }
    room
}
