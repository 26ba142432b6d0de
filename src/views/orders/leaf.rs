//! A leaf: consecutive open orders of one user, packed. Each is packed relative to the leaf's base,
//! not to its neighbour, so that removing one leaves the others unchanged.

use std::ops::Range;

use super::marks::Marks;
use super::open::OpenOrder;
use crate::history::chain::{RowChain, RowIndex};
use crate::history::pack::{
    RowBuffer, pack, pack_money, pack_time, unpack, unpack_money, unpack_time, unpack_u32,
};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::image::coding::{BadImage, ImageSink, Imaged};
use exchange::units::{Lots, Money, Sequence, TimeMs};

/// Bytes of a leaf at most: some thirty orders, few enough for a linear scan. Chosen so that with
/// the allocator's own header the block is a power of two.
pub(super) const LEAF_BYTES: usize = 504;
/// Bytes of the smallest leaf: many users have only one order.
const FIRST_BYTES: usize = 56;

/// Set in the marks byte if the order changed after it was placed.
const CHANGED: u8 = Marks::BITS + 1;

/// Open orders of one user, oldest first.
#[derive(Debug)]
pub(super) struct Leaf {
    /// The base that rows are packed against: the first order when the leaf was made.
    from: OrderNo,
    created_at: TimeMs,
    row_index: RowIndex,
    /// A head and a packed row for each order.
    rows: Vec<u8>,
}

/// The head of a row: the row's length, and its order number as the difference to the leaf's base.
/// A scan reads only the heads of the rows it skips.
const HEAD_BYTES: usize = 1 + size_of::<u32>();

impl Leaf {
    /// An empty leaf with this order as its base.
    pub(super) const fn from(no: OrderNo, order: &OpenOrder) -> Leaf {
        let OpenOrder { created_at, row_index, .. } = *order;
        Leaf { from: no, created_at, row_index, rows: Vec::new() }
    }

    /// The number of the leaf's base; no order in the leaf is older.
    pub(super) const fn begins(&self) -> OrderNo {
        self.from
    }

    /// Bytes of the rows.
    pub(super) const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Bytes allocated for the rows.
    #[cfg(test)]
    pub(super) const fn room(&self) -> usize {
        self.rows.capacity()
    }

    /// The byte range of an order.
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

    /// The difference of an order number to the leaf's base.
    fn after(&self, no: OrderNo) -> Option<u64> {
        no.0.get().checked_sub(self.from.0.get())
    }

    /// The byte ranges of the orders, oldest first.
    pub(super) fn spots(&self) -> Vec<Range<usize>> {
        let (mut spots, mut at) = (Vec::new(), 0);
        while let Some(length) = self.rows.get(at) {
            let end = at + HEAD_BYTES + usize::from(*length);
            spots.push(at..end);
            at = end;
        }
        spots
    }

    /// The order at this byte range.
    pub(super) fn get(&self, user: UserNo, spot: Range<usize>) -> Option<(OrderNo, OpenOrder)> {
        // Passes the rows after it too: `unpack` reads whole words, which is faster if eight bytes
        // are ahead.
        let row = self.rows.get(spot.start..)?;
        let ([_, number @ ..], row) = row.split_first_chunk::<HEAD_BYTES>()?;
        let number = u64::from(u32::from_le_bytes(*number));
        let no = OrderNo(Sequence::new(self.from.0.get().checked_add(number)?));
        self.unpack(user, row).ok().map(|order| (no, order))
    }

    /// Adds an order newer than all others. Returns whether it fits in this leaf; `None` if it
    /// cannot be packed.
    pub(super) fn add(
        &mut self,
        (no, order): (OrderNo, &OpenOrder),
        buffer: &mut RowBuffer,
    ) -> Option<bool> {
        let Ok(number) = u32::try_from(self.after(no)?) else { return Some(false) };
        self.pack(number, order, buffer)?;
        let needed = self.rows.len() + buffer.row().len();
        if needed > LEAF_BYTES {
            return Some(false);
        }
        self.make_room(needed);
        self.rows.extend_from_slice(buffer.row());
        Some(true)
    }

    /// Replaces the order at this byte range. The leaf may then exceed [`LEAF_BYTES`].
    pub(super) fn set(
        &mut self,
        spot: Range<usize>,
        (no, order): (OrderNo, &OpenOrder),
        buffer: &mut RowBuffer,
    ) -> Option<()> {
        self.pack(u32::try_from(self.after(no)?).ok()?, order, buffer)?;
        let (row, Range { start, end }) = (buffer.row(), spot);
        let (length, needed) = (self.rows.len(), start + row.len() + self.rows.len() - end);
        self.make_room(needed);
        self.rows.resize(length.max(needed), 0);
        self.rows.copy_within(end..length, start + row.len());
        self.rows.truncate(needed);
        self.rows.get_mut(start..start + row.len())?.copy_from_slice(row);
        Some(())
    }

    /// Removes the order at this byte range.
    pub(super) fn remove(&mut self, spot: Range<usize>) {
        self.rows.drain(spot);
        if self.rows.len() < self.rows.capacity() / 3 {
            self.rows.shrink_to(room_for(self.rows.len()));
        }
    }

    /// Removes everything after the first `length` bytes.
    pub(super) fn cut(&mut self, length: usize) {
        self.rows.truncate(length);
        self.rows.shrink_to(room_for(length));
    }

    /// Makes sure that `needed` bytes are allocated.
    fn make_room(&mut self, needed: usize) {
        if self.rows.capacity() < needed {
            self.rows.reserve_exact(room_for(needed) - self.rows.len());
        }
    }

    /// Packs an order's head and row in `buffer`.
    fn pack(&self, number: u32, order: &OpenOrder, buffer: &mut RowBuffer) -> Option<()> {
        buffer.clear();
        buffer.put(&[0; HEAD_BYTES]);
        self.pack_row(order, buffer);
        let row = buffer.row_mut();
        let length = u8::try_from(row.len().checked_sub(HEAD_BYTES)?).ok()?;
        let ([to, number_to @ ..], _) = row.split_first_chunk_mut::<HEAD_BYTES>()?;
        (*to, *number_to) = (length, number.to_le_bytes());
        Some(())
    }

    fn pack_row(&self, order: &OpenOrder, sink: &mut RowBuffer) {
        let OpenOrder { user: _, market, wording, price, quantity, filled, .. } = order;
        let OpenOrder { filled_cost, time_in_force, created_at, .. } = order;
        let OpenOrder { updated_at, row_index, fills, .. } = order;
        pack_time(self.created_at, *created_at, sink);
        pack(row_index.wrapping_sub(self.row_index), sink);
        pack(u64::from(market.0), sink);
        let marks = Marks::of(*wording, *time_in_force);
        let placed = (Lots::ZERO, Money::ZERO, *created_at, RowChain::default());
        let changed = (*filled, *filled_cost, *updated_at, *fills) != placed;
        let bits = marks.bits() | if changed { CHANGED } else { 0 };
        sink.put(&[bits, price.get()]);
        pack(quantity.get(), sink);
        if let Some(expires_at) = order.expires_at() {
            pack_time(*created_at, expires_at, sink);
        }
        if changed {
            pack(filled.get(), sink);
            pack_money(*filled_cost, sink);
            pack_time(*created_at, *updated_at, sink);
            fills.pack(sink);
        }
    }

    fn unpack(&self, user: UserNo, mut row: &[u8]) -> Result<OpenOrder, BadImage> {
        let source = &mut row;
        let created_at = unpack_time(self.created_at, source)?;
        let row_index = self.row_index.wrapping_add(unpack(source)?);
        let market = MarketNo(unpack_u32(source)?);
        let bits = u8::read(source)?;
        let marks = Marks::from_bits(bits);
        let (price, quantity) = (Imaged::read(source)?, Lots::new(unpack(source)?));
        let expires_at = marks.expires().then(|| unpack_time(created_at, source)).transpose()?;
        let mut order = OpenOrder {
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
            row_index,
            fills: RowChain::default(),
        };
        if bits & CHANGED != 0 {
            order.filled = Lots::new(unpack(source)?);
            order.filled_cost = unpack_money(source)?;
            order.updated_at = unpack_time(created_at, source)?;
            order.fills = RowChain::unpack(source)?;
        }
        Ok(order)
    }
}

/// Allocation sizes: few different ones, each about twice the one before, so that a freed block
/// fits another leaf.
const fn room_for(needed: usize) -> usize {
    let mut room = FIRST_BYTES;
    while room < needed {
        room = room * 2 + 8;
    }
    room
}
