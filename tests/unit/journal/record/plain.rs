//! Unit tests of `src/journal/record/plain.rs`.

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
        let (command, mut bytes, mut read) = (Command::PlaceOrder(order), Vec::new(), Vec::new());
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
