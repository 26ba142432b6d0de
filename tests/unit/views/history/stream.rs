//! Unit tests of `src/views/history/stream.rs`.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::super::MemoryPages;
use super::*;

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

#[test]
fn a_stream_may_have_more_rows_than_memory_until_it_is_full() {
    let history = History::default().paged(NonZeroU32::new(4).unwrap());
    let first = 1 << 40;
    let mut tail = Tail::<Number> { count: first, ..Tail::default() };
    for index in first..first + 9 {
        assert_eq!(tail.push_on(&history, 7, &Number(index)), Ok(index));
    }
    let mut pages = Pages::of(history.clone(), 7, tail);
    for index in first..first + 9 {
        assert_eq!(pages.row(index), Ok(Some(Number(index))));
    }
    assert_eq!(pages.row(first + 9), Ok(None));
    let mut tail = Tail::<Number> { count: ROWS_MAX - 1, ..Tail::default() };
    let mut push = || tail.push_on(&history, 7, &Number(1));
    assert_eq!((push(), push()), (Ok(ROWS_MAX - 1), Err(Fault::StreamFull)));
    assert_eq!(tail.count(), ROWS_MAX);
}

#[test]
fn a_row_is_found_among_those_of_its_time() {
    let history = History::default().paged(NonZeroU32::new(4).unwrap());
    let mut streams = Streams::on(history);
    streams.add_owner(0).unwrap();
    // Three rows at each moment: 0, 0, 0, 1, 1, 1, ...
    for number in 0..60 {
        streams.push(0, &Number(number), Fault::NotNext(0)).unwrap();
    }
    let at = |row: &Number| TimeMs::new((row.0 / 3).try_into().unwrap()).unwrap();
    for number in 0..60 {
        for (before, after, there) in [(0, 0, true), (2, 1, true), (-1, 3, false)] {
            let moment = i64::try_from(number / 3).unwrap();
            let time = |ms: i64| TimeMs::new(ms.max(0)).unwrap();
            let times = time(moment - before)..=time(moment + after);
            let rows = streams.pages(0).newest_first();
            let found = rows.find_within(times, at, |row| row.0 == number).unwrap();
            assert_eq!(found, Some(Number(number)).filter(|_| there), "{number}");
        }
    }
}

#[test]
fn a_page_that_is_gone_or_changed_is_named_and_the_rest_is_read() {
    let storage = Arc::new(MemoryPages::default());
    let rows = NonZeroU32::new(4).unwrap();
    let mut streams = Streams::on(History::on(Arc::clone(&storage) as _).paged(rows));
    streams.add_owner(0).unwrap();
    for (index, number) in (0..).zip(0..18) {
        assert_eq!(streams.push(0, &Number(number), Fault::NotNext(0)), Ok(index));
    }
    // The tail holds rows 16 and 17; the four full pages before it are in storage.
    assert_eq!(storage.pages(), 4);
    let read: Vec<_> = streams.pages(0).newest_first().map(Result::unwrap).collect();
    assert_eq!(read, (0..18).rev().map(Number).collect::<Vec<_>>());
    assert_eq!(streams.pages(0).newest_first().nth(9), Some(Ok(Number(8))));
    assert_eq!(streams.pages(0).newest_first().nth(18), None);

    let key = |page| PageKey { kind: Kind::Trades, owner: 0, page };
    storage.spoil(key(2), |_| None);
    storage.spoil(key(1), |page| Some(page[1..].into()));
    let read: Vec<_> = streams.pages(0).newest_first().collect();
    assert_eq!(read.len(), 7);
    assert_eq!(read.last(), Some(&Err(HistoryError::Missing(key(2)))));
    let mut pages = streams.pages(0);
    let damaged = HistoryError::Damaged { key: key(1), cause: BadImage::Truncated };
    assert_eq!(pages.row(5), Err(damaged));
    assert_eq!(pages.row(3), Ok(Some(Number(3))));
}
