//! Unit tests of `play/flow/rows.rs`.

use super::*;

const LINE: LineNo = LineNo(7);

#[test]
fn a_command_needs_every_member_of_its_kind() {
    let whole = concat!(
        r#"{"t_ms":1,"market":"m","op":"place","ref":1,"acct":"a","outcome":"yes","#,
        r#""side":"SELL","price":"0.05","qty":"0.000001","tif":"IOC","src":"x"}"#
    );
    let row = CommandRow::read(LINE, whole.as_bytes()).unwrap();
    let Action::Place(order) = row.action else { panic!("{row:?}") };
    assert_eq!(order.wording, Wording { outcome: Outcome::Yes, side: Side::Sell });
    assert_eq!(order.cost().unwrap(), Money::new(95));
    for (member, says) in [
        (r#""side":"SELL","#, "line 7: `side` is missing"),
        (r#""price":"0.05","#, "line 7: `price` is missing"),
        (r#","tif":"IOC""#, "line 7: `tif` is missing"),
    ] {
        let error = CommandRow::read(LINE, whole.replace(member, "").as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), says);
    }
    let error = CommandRow::read(LINE, whole.replace("0.05", "0.005").as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "line 7: `price` is not of the expected form");
    let error = CommandRow::read(LINE, whole.replace("IOC", "DAY").as_bytes()).unwrap_err();
    assert!(matches!(error, FlowError::Json { .. }), "{error}");
}

#[test]
fn both_wordings_of_a_book_are_one_book() {
    let asks = concat!(
        r#"{"after_line":9,"market":"m","yes_bids":[["0.40","1"]],"#,
        r#""yes_asks":[["0.52","3.00"],["0.60","1"]]}"#
    );
    let bids = concat!(
        r#"{"after_line":9,"market":"m","yes_bids":[["0.40","1.0"]],"#,
        r#""no_bids":[["0.48","3"],["0.40","1"]]}"#
    );
    let book = BookRow::read(LINE, asks.as_bytes()).unwrap();
    assert_eq!(book, BookRow::read(LINE, bids.as_bytes()).unwrap());
    assert_eq!(book.asks[0].price.get(), 52);
    let neither = r#"{"after_line":9,"market":"m","yes_bids":[]}"#;
    assert!(BookRow::read(LINE, neither.as_bytes()).is_err());
}

#[test]
fn positions_merge_their_pairs() {
    let row = concat!(
        r#"{"market":"m","acct":"a","yes":5865,"no":12822,"net_yes":-6957,"#,
        r#""cash_cents":-1085864,"volume":18687,"fills":12}"#
    );
    let row = PositionRow::read(LINE, row.as_bytes()).unwrap();
    let merged = row.gross(PositionUnit::Hundredths).merged();
    assert_eq!(merged.net_lots, -69_570_000);
    assert_eq!(merged.cash.get(), i128::from(5865 * 100 - 1_085_864) * 10_000);
    // A sale of 1 yes at 0.30 is a no bought at 0.70.
    let sold = r#"{"market":"m","acct":"a","yes":-1000000,"no":0,"cash_cents":30000000}"#;
    let sold = PositionRow::read(LINE, sold.as_bytes()).unwrap();
    let merged = sold.gross(PositionUnit::Millionths).merged();
    assert_eq!((merged.net_lots, merged.cash.get()), (-1_000_000, -70_000_000));
}
