//! Unit tests of `play/flow/lib.rs`.

use super::*;
use proptest::prelude::*;

const PLACE: &str = concat!(
    r#"{"t_ms":1,"market":"m","op":"place","ref":1,"acct":"a","outcome":"no","side":"BUY","#,
    r#""price":"0.40","qty":"2.50","tif":"GTC"}"#
);
const CANCEL: &str = r#"{"t_ms":2,"market":"m","op":"cancel","ref":1,"acct":"a"}"#;

fn read(lines: &[&str]) -> Result<Flow, FlowError> {
    Flow::read(Source::bytes(lines.join("\n").into_bytes()), None)
}

#[test]
fn lines_are_numbered_and_names_are_interned() {
    let flow = read(&[PLACE, CANCEL, &PLACE.replace("\"ref\":1", "\"ref\":2")]).unwrap();
    assert_eq!(flow.lines().iter().map(|l| l.line.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((flow.markets().len(), flow.accounts().len()), (1, 1));
    assert_eq!(flow.market("m"), Some(MarketIndex(0)));
    assert_eq!(flow.by_market().concat(), flow.lines());
    let limited = Flow::read(Source::bytes(PLACE), Some(0)).unwrap();
    assert!(limited.lines().is_empty());
}

#[test]
fn a_cancel_needs_its_order_in_the_same_market_by_the_same_account() {
    for bad in [
        CANCEL.to_owned(),
        [PLACE, &CANCEL.replace("\"a\"", "\"b\"")].join("\n"),
        [PLACE, &CANCEL.replace("\"m\"", "\"n\"")].join("\n"),
    ] {
        let error = Flow::read(Source::bytes(bad.clone().into_bytes()), None).unwrap_err();
        assert!(matches!(error, FlowError::UnknownOrder { .. }), "{bad}: {error}");
    }
    let error = read(&[PLACE, PLACE]).unwrap_err();
    assert_eq!(error.to_string(), "line 2: order 1 is placed a second time");
}

#[test]
fn the_need_is_what_all_orders_cost_together() {
    // 2.5 no bought at 0.40 cost 1.00; 2.5 no sold at 0.40 stake the complement 0.60: 1.50.
    let second = PLACE.replace("\"ref\":1", "\"ref\":2").replace("BUY", "SELL");
    let other = PLACE.replace("\"ref\":1", "\"ref\":3").replace("\"a\"", "\"b\"");
    let flow = read(&[PLACE, &second, &other]).unwrap();
    assert_eq!(flow.need_max(), Ok(Money::new(250_000_000)));
    assert_eq!(flow.position_unit(), PositionUnit::Hundredths);
    let fine = PLACE.replace("2.50", "2.500001");
    assert_eq!(read(&[&fine]).unwrap().position_unit(), PositionUnit::Millionths);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn merging_does_not_depend_on_the_pairs_in_hand(
        yes in -1_000_i128..1_000, no in -1_000_i128..1_000, cash in -1_000_i128..1_000,
        pairs in -1_000_i128..1_000,
    ) {
        let gross = Gross { yes_lots: yes, no_lots: no, cash_units: cash };
        let minted = Gross {
            yes_lots: yes + pairs, no_lots: no + pairs, cash_units: cash - 100 * pairs,
        };
        prop_assert_eq!(gross.merged(), minted.merged());
    }
}
