//! A fast encoder for the most common record: an order with none of the optional fields. It makes
//! bincode's bytes in one fixed-size array, since appending each field checks the capacity.

use super::super::fields;
use super::{BODY_VERSION, PLACED, RECORD_HEADER_BYTES};
use exchange::command::PlaceOrder;
use exchange::units::TimeMs;

/// Bytes of the body: every field, and one byte per absent optional field.
const BODY_BYTES: u32 = 26;
/// Bytes of the record.
const RECORD_BYTES: usize = RECORD_HEADER_BYTES + BODY_BYTES as usize;
/// Tag of an absent field.
const NONE: u8 = 0;

/// The rest of the array to fill.
struct Bytes<'a>(&'a mut [u8]);

impl Bytes<'_> {
    /// Writes `N` bytes; `None` if they do not fit.
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) -> Option<()> {
        let (place, rest) = std::mem::take(&mut self.0).split_first_chunk_mut::<N>()?;
        *place = bytes;
        self.0 = rest;
        Some(())
    }
}

/// The record of an order; `None` if an optional field is present.
#[inline]
pub(super) fn plain_order(order: &PlaceOrder, time: TimeMs) -> Option<[u8; RECORD_BYTES]> {
    let (force, expires_at) = fields::time_in_force_number(order.time_in_force);
    let PlaceOrder { valid_until: None, copy_from: None, client_order_id: None, .. } = order else {
        return None;
    };
    if expires_at.is_some() {
        return None;
    }
    let mut record = [0; RECORD_BYTES];
    let mut bytes = Bytes(&mut record);
    bytes.put(BODY_BYTES.to_le_bytes())?;
    bytes.put(PLACED.to_le_bytes())?;
    bytes.put([BODY_VERSION, NONE])?;
    bytes.put(time.get().to_le_bytes())?;
    bytes.put(order.user.0.to_le_bytes())?;
    bytes.put(order.market.0.to_le_bytes())?;
    let wording = order.wording;
    bytes.put([fields::outcome_number(wording.outcome), fields::side_number(wording.side)])?;
    bytes.put([order.price.get()])?;
    bytes.put(order.quantity.get().to_le_bytes())?;
    bytes.put([force, NONE])?;
    let condition = fields::condition_number(order.condition);
    bytes.put([fields::self_trade_number(order.self_trade), condition, NONE, NONE, NONE])?;
    bytes.0.is_empty().then_some(record)
}

#[cfg(test)]
#[path = "../../../tests/unit/journal/record/plain.rs"]
mod tests;
