//! Unit tests of `src/http/wire/results.rs`.

use proptest::prelude::*;

use super::*;
use crate::wire::order::BatchOrderJson;
use crate::wire::print::printed;
use exchange::ids::{OrderNo, Token, TradeId, TradeIndex};
use exchange::units::{AveragePrice, Lots, Sequence, Tick};

fn time() -> impl Strategy<Value = TimeMs> {
    prop_oneof![Just(0_i64), Just(1), 0..253_402_300_799_999_i64]
        .prop_map(|ms| TimeMs::new(ms).unwrap())
}

fn lots() -> impl Strategy<Value = Lots> {
    prop_oneof![Just(0), 0..3_u64, any::<u64>()].prop_map(Lots::new)
}

fn trade() -> impl Strategy<Value = TradeJson> {
    (time(), any::<u32>(), 1..=99_u8, lots()).prop_map(|(time, number, price, quantity)| {
        TradeJson {
            id: Text(TradeId::of(time, Sequence::new(number.into()), TradeIndex(number))),
            price: Text(Tick::new(price).unwrap()),
            quantity: Text(quantity),
            timestamp: Timestamp(time),
        }
    })
}

prop_compose! {
    fn placed()(
        (time, number) in (time(), any::<u32>()),
        [filled, resting, cancelled] in [lots(), lots(), lots()],
        cost in prop_oneof![Just(0), any::<i64>()],
        trades in proptest::collection::vec(trade(), 0..3),
        cancel_reason in proptest::option::of(Just("SELF_TRADE")),
        name in proptest::option::of("[!-~]{1,64}"),
    ) -> PlacedJson {
        let sequence = Sequence::new(number.into());
        PlacedJson {
            order_id: Text(OrderNo(sequence).id(time)),
            status: "OPEN",
            filled_quantity: Text(filled),
            remaining_quantity: Text(resting),
            average_fill_price: Text(AveragePrice {
                notional: Money::new(cost),
                quantity: filled,
            }),
            trades,
            cancelled_quantity: Text(cancelled),
            cancel_reason,
            filled_cost: Text(Money::new(cost)),
            client_order_id: name.and_then(|name| Token::new(&name)).map(Text),
            sequence: sequence.get(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn an_order_is_printed_as_by_serde(placed in proptest::collection::vec(placed(), 1..3)) {
        let mut results = PrintedResults::expecting(0);
        let mut expected = Vec::new();
        for placed in placed {
            results.placed(&placed).unwrap();
            expected.extend(printed(&BatchOrderJson::Placed(placed), 0).unwrap());
        }
        let text = String::from_utf8(results.close()).unwrap();
        let expected = String::from_utf8(expected).unwrap();
        prop_assert_eq!(text, format!(r#"{{"results":[{expected}]}}"#));
    }
}
