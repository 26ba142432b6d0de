//! Unit tests of `src/journal/record.rs`: a record's body is what bincode writes for a flat struct.

#![allow(clippy::unwrap_used)] // a test may stop

use bincode::{Decode, Encode, config};
use proptest::prelude::*;

use super::*;
use exchange::catalogue::Outcome;
use exchange::command::{
    BodyHash, Condition, PlaceOrder, SelfTradePrevention, Side, TimeInForce, Wording,
};
use exchange::ids::{EventNo, MarketNo, MarketSet, Token, UserNo};
use exchange::units::{Lots, ORDER_LOTS_MAX, Tick};

#[derive(Debug, PartialEq, Encode, Decode)]
struct Key {
    caller: u32,
    name: String,
    part: u8,
    body: [u8; 32],
}

#[derive(Debug, PartialEq, Encode, Decode)]
struct Order {
    user: u32,
    market: u32,
    outcome: u8,
    side: u8,
    price: u8,
    quantity: u64,
    time_in_force: u8,
    expires_at: Option<i64>,
    self_trade: u8,
    condition: u8,
    valid_until: Option<i64>,
    copy_from: Option<u32>,
    client_order_id: Option<String>,
}

#[derive(Debug, PartialEq, Encode, Decode)]
struct Convert {
    user: u32,
    event: u32,
    markets: Vec<u32>,
    quantity: u64,
}

/// The record's body as bincode reads it, which must take all of it and write the same bytes.
fn by_bincode<T: Encode + Decode<()>>(command: &Command, once: Option<&IdempotencyKey>) -> T {
    let bincode = config::standard().with_little_endian().with_fixed_int_encoding();
    let mut bytes = Vec::new();
    encode(command, (once, None), TimeMs::default(), &mut bytes, RECORD_BYTES_MAX).unwrap();
    let body = &bytes[RECORD_HEADER_BYTES..];
    let (read, taken): (T, usize) = bincode::decode_from_slice(body, bincode).unwrap();
    assert_eq!(taken, body.len());
    assert_eq!(bincode::encode_to_vec(&read, bincode).unwrap(), body);
    read
}

fn time() -> impl Strategy<Value = TimeMs> {
    (0..=TimeMs::MAX.get()).prop_map(|ms| TimeMs::new(ms).unwrap())
}

fn token() -> impl Strategy<Value = Token> {
    "[!-~]{1,64}".prop_map(|text| Token::new(&text).unwrap())
}

fn force() -> impl Strategy<Value = TimeInForce> {
    prop_oneof![
        prop::option::of(time())
            .prop_map(|expires_at| TimeInForce::GoodTillCancelled { expires_at }),
        Just(TimeInForce::ImmediateOrCancel),
        Just(TimeInForce::FillOrKill),
    ]
}

proptest! {
    #[test]
    fn an_order_is_the_struct_that_bincode_writes(
        (user, market, yes, buys) in any::<(u32, u32, bool, bool)>(),
        (ticks, lots, force) in (1..=99_u8, 1..=ORDER_LOTS_MAX, force()),
        (valid, copied) in (prop::option::of(time()), prop::option::of(any::<u32>())),
        (name, key) in (prop::option::of(token()), prop::option::of(token())),
    ) {
        let command = Command::PlaceOrder(PlaceOrder {
            user: UserNo(user),
            market: MarketNo(market),
            wording: Wording {
                outcome: if yes { Outcome::Yes } else { Outcome::No },
                side: if buys { Side::Buy } else { Side::Sell },
            },
            price: Tick::new(ticks).unwrap(),
            quantity: Lots::new(lots),
            time_in_force: force,
            self_trade: SelfTradePrevention::CancelBoth,
            condition: Condition::ReduceOnly,
            valid_until: valid,
            copy_from: copied.map(UserNo),
            client_order_id: name.map(Box::new),
            group: None,
            key: None,
        });
        let order = Order {
            user,
            market,
            outcome: if yes { 1 } else { 2 },
            side: if buys { 1 } else { 2 },
            price: ticks,
            quantity: lots,
            time_in_force: match force {
                TimeInForce::GoodTillCancelled { .. } => 1,
                TimeInForce::ImmediateOrCancel => 2,
                TimeInForce::FillOrKill => 3,
            },
            expires_at: force.expires_at().map(TimeMs::get),
            self_trade: 3,
            condition: 3,
            valid_until: valid.map(TimeMs::get),
            copy_from: copied,
            client_order_id: name.map(|name| name.as_str().to_owned()),
        };
        let Some(key) = key else {
            prop_assert_eq!(by_bincode::<Order>(&command, None), order);
            return Ok(());
        };
        let once = IdempotencyKey { caller: UserNo(user), key, part: 7, body: BodyHash([9; 32]) };
        let (caller, part, body) = (user, 7, [9; 32]);
        let before = Key { caller, name: key.as_str().to_owned(), part, body };
        prop_assert_eq!(by_bincode::<(Key, Order)>(&command, Some(&once)), (before, order));
    }
}

#[test]
fn a_conversion_is_the_struct_that_bincode_writes() {
    let markets = vec![3, 4, 900];
    let command = Command::Convert(exchange::command::Conversion {
        user: UserNo(1),
        event: EventNo(2),
        markets: MarketSet::new(markets.iter().copied().map(MarketNo).collect()).unwrap(),
        quantity: Lots::new(5),
    });
    let read: Convert = by_bincode(&command, None);
    assert_eq!(read, Convert { user: 1, event: 2, markets, quantity: 5 });
}
