//! Unit tests of `src/cli/demo/books.rs`.

use super::*;
use exchange::catalogue::Outcome;
use exchange::command::Side;

#[test]
fn a_mirrored_flow_trades_the_other_outcome_at_the_same_price() {
    let recording = recording().unwrap();
    let plain = market_flow(&recording, MarketNo(3), "k1").unwrap();
    let mirrored = market_flow(&recording, MarketNo(3), "~k1").unwrap();
    assert_eq!(plain.lines, mirrored.lines);
    assert_eq!(plain.lines.len(), FLOW_LINES_MAX);
    let Action::Place(order) = plain.lines[0].action else { panic!("first line") };
    let (a, b) = (plain.order(UserNo(1), order), mirrored.order(UserNo(1), order));
    let buys = |outcome| Wording { outcome, side: Side::Buy };
    assert_eq!((a.wording, b.wording), (buys(Outcome::Yes), buys(Outcome::No)));
    assert_eq!((a.price, a.quantity, a.market), (b.price, b.quantity, b.market));
}

#[test]
fn a_flow_that_was_not_recorded_is_an_error() {
    let error = market_flow(&recording().unwrap(), MarketNo(0), "~x9").err().unwrap();
    assert!(matches!(error, SeedError::NoSuchFlow(name) if name == "x9"));
}
