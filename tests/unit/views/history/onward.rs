//! Unit tests of `src/views/history/onward.rs`.

use std::num::NonZeroU32;

use super::super::Coder;
use super::super::stream::Streams;
use super::super::{History, Kind};
use super::*;
use crate::fault::Fault;
use exchange::image::coding::BadImage;

/// Three rows a record, and two records a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Number(u64);

impl Row for Number {
    type Base = u64;

    const KIND: Kind = Kind::Trades;

    fn base(&self) -> u64 {
        self.0
    }

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &u64,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        Ok(Number(before + coder.number(row.map(|row| row.0 - before))?))
    }
}

impl Made for Number {
    fn made(&self) -> (Sequence, TimeMs) {
        let record = self.0 / 3;
        (Sequence::new(record), TimeMs::new((record / 2).try_into().unwrap()).unwrap())
    }
}

#[test]
fn a_page_has_the_oldest_rows_from_its_start_on_wherever_that_is() {
    let history = History::default().paged(NonZeroU32::new(4).unwrap());
    let mut streams = Streams::on(history);
    streams.add_owner(0).unwrap();
    for count in 0..60_u64 {
        let rows: Vec<Number> = (0..count).map(Number).collect();
        let time = |record: u64| TimeMs::new((record / 2).try_into().unwrap()).unwrap();
        let place = |rows: &[Number], before: &dyn Fn(&Number) -> bool| {
            rows.iter().position(|row| !before(row)).unwrap_or(rows.len())
        };
        for record in 0..22 {
            let after = Sequence::new(record);
            for (start, first) in [
                (Start::After(after), place(&rows, &|row| row.made().0 <= after)),
                (Start::At(time(record)), place(&rows, &|row| row.made().1 < time(record))),
                (Start::Place(record * 3), rows.len().min(record as usize * 3)),
            ] {
                for most in [1, 3, 5, 100] {
                    let list = streams.pages(0).newest_first();
                    let page = list.onward(start, most).unwrap();
                    let Onward { list, count, newer, next } = page;
                    let mut shown: Vec<Number> =
                        list.take(count).collect::<Result<_, _>>().unwrap();
                    shown.reverse();
                    let expected = &rows[first..rows.len().min(first + most)];
                    assert_eq!(shown, expected, "{start:?}");
                    assert_eq!(newer, rows.len() - first - expected.len());
                    assert_eq!(next as usize, first + expected.len());
                }
            }
        }
        streams.push(0, &Number(count), Fault::NotNext(0)).unwrap();
    }
}
