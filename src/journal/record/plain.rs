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
mod tests {
    #![allow(clippy::unwrap_used)] // a test may stop

    use bincode::encode_to_vec;

    use super::super::cut::PlaceOrderV1;
    use super::super::{BINCODE, decode, encode, kinds};
    use super::*;
    use exchange::catalogue::Outcome;
    use exchange::command::{Command, Condition, SelfTradePrevention, Side, TimeInForce, Wording};
    use exchange::ids::{MarketNo, Token, UserNo};
    use exchange::units::{Lots, Sequence, Tick};

    fn order() -> PlaceOrder {
        PlaceOrder {
            user: UserNo(0x0403_0201),
            market: MarketNo(0x0807_0605),
            wording: Wording { outcome: Outcome::No, side: Side::Sell },
            price: Tick::parse("0.37").unwrap(),
            quantity: Lots::new(0x0017_1615_1413),
            time_in_force: TimeInForce::FillOrKill,
            self_trade: SelfTradePrevention::CancelBoth,
            condition: Condition::ReduceOnly,
            valid_until: None,
            copy_from: None,
            client_order_id: None,
        }
    }

    #[test]
    fn a_plain_order_has_the_bytes_of_any_other() {
        let time = TimeMs::new(0x0022_2120_1f1e).unwrap();
        let forces = [
            TimeInForce::GoodTillCancelled { expires_at: None },
            TimeInForce::ImmediateOrCancel,
            TimeInForce::FillOrKill,
        ];
        for time_in_force in forces {
            let order = PlaceOrder { time_in_force, ..order() };
            let body: PlaceOrderV1<'_> = kinds::placed(&order);
            let record = plain_order(&order, time).unwrap();
            let (header, plain) = record.split_at(RECORD_HEADER_BYTES);
            assert_eq!(plain, encode_to_vec(body, BINCODE).unwrap());
            assert_eq!(header[..4], BODY_BYTES.to_le_bytes());
            let mut read = Vec::new();
            assert_eq!(decode(&record, Sequence::new(7), &mut read), Ok(record.len()));
            assert_eq!((read[0].time, &read[0].command), (time, &Command::PlaceOrder(order)));
        }
    }

    #[test]
    fn what_is_left_out_is_not_lost() {
        let time = TimeMs::default();
        let others = [
            PlaceOrder {
                time_in_force: TimeInForce::GoodTillCancelled { expires_at: Some(time) },
                ..order()
            },
            PlaceOrder { valid_until: Some(time), ..order() },
            PlaceOrder { copy_from: Some(UserNo(1)), ..order() },
            PlaceOrder { client_order_id: Token::new("a").map(Box::new), ..order() },
        ];
        for order in others {
            assert_eq!(plain_order(&order, time), None);
            let (command, mut bytes, mut read) =
                (Command::PlaceOrder(order), Vec::new(), Vec::new());
            encode(&command, None, time, &mut bytes, usize::MAX).unwrap();
            decode(&bytes, Sequence::new(1), &mut read).unwrap();
            assert_eq!(read[0].command, command);
        }
    }

    #[test]
    fn an_order_that_finds_no_room_leaves_nothing() {
        let command = Command::PlaceOrder(order());
        for (bytes_max, fits) in [(RECORD_BYTES + 1, true), (RECORD_BYTES, false)] {
            let (mut bytes, time) = (vec![7], TimeMs::default());
            assert_eq!(encode(&command, None, time, &mut bytes, bytes_max).is_ok(), fits);
            assert_eq!(bytes.len(), if fits { 1 + RECORD_BYTES } else { 1 });
        }
    }
}
