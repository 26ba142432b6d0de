//! Unit tests of `play/flow/sample.rs`.

use super::*;
use crate::rows::{Action, BookRow, FillRow};
use crate::{Flow, PositionUnit};

#[test]
fn the_sample_is_whole() {
    let flow = Flow::read(flow(), None).unwrap();
    assert_eq!((flow.lines().len(), flow.markets().len()), (34_152, 8));
    assert_eq!(flow.accounts().len(), 300);
    assert_eq!(flow.position_unit(), PositionUnit::Millionths);

    let fills: Vec<FillRow> = fills().rows().map(|row| row.unwrap().1).collect();
    assert_eq!(fills.len(), 558);
    let placed_at = |order| {
        let place = |l: &&crate::FlowLine| l.order == order && l.action != Action::Cancel;
        flow.lines().iter().find(place).unwrap()
    };
    for fill in &fills {
        let (taker, maker) = (placed_at(fill.taker), placed_at(fill.maker));
        assert_eq!(taker.line, fill.line);
        assert!(maker.line < taker.line && maker.account != taker.account);
        assert_eq!(Some(taker.market), flow.market(&fill.market));
        assert_eq!(maker.market, taker.market);
    }

    let books: Vec<BookRow> = books().rows().map(|row| row.unwrap().1).collect();
    for script in flow.by_market() {
        let last = script.last().unwrap();
        let stated =
            |b: &BookRow| b.after_line == last.line && flow.market(&b.market) == Some(last.market);
        assert_eq!(books.iter().filter(|b| stated(b)).count(), 1);
    }
}
