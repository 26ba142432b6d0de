//! Unit tests of `src/http/tape.rs`.

use super::*;

fn range(query: &str) -> Result<(i64, i64, usize), Vec<String>> {
    let mut form = Form::new(&[], Some(query));
    let now = parse::text::<TimeMs>("2026-01-01T12:00:30Z").unwrap();
    let range = Range::read(&mut form, Interval::Minute, now);
    let base = parse::text::<TimeMs>("2026-01-01T12:00:00Z").unwrap().get();
    form.finish(range)
        .map(|range| (range.from.get() - base, range.to.get() - base, range.count))
        .map_err(|p| p.errors.iter().map(|e| e.field.clone()).collect())
}

#[test]
fn ranges_are_of_whole_candles() {
    assert_eq!(range(""), Ok((-99 * 60_000, 60_000, 100)));
    let asked = "from=2026-01-01T12:00:59.999Z&to=2026-01-01T12:01:00.001Z";
    assert_eq!(range(asked), Ok((0, 120_000, 2)));
    assert_eq!(range("from=2026-01-01T12:00:00Z"), Ok((0, 60_000, 1)));
    assert_eq!(range("to=2026-01-01T12:00:00.000Z"), Ok((-100 * 60_000, 0, 100)));
    assert_eq!(range("to=2026-01-01T12:00:00.001Z"), Ok((-99 * 60_000, 60_000, 100)));
    let end = range("to=9999-12-31T23:59:59.999Z").map(|(_, _, count)| count);
    assert_eq!(end, Ok(100));
    let whole = "from=2025-12-31T12:00:00Z&to=2026-01-01T04:40:00Z";
    assert_eq!(range(whole).map(|(_, _, count)| count), Ok(1000));
}

#[test]
fn ranges_that_are_none_are_named() {
    let longer = "from=2025-12-31T12:00:00Z&to=2026-01-01T04:40:00.001Z";
    assert_eq!(range(longer).unwrap_err(), ["to"]);
    assert_eq!(range("from=2026-01-01T12:01:00Z").unwrap_err(), ["from"]);
    assert_eq!(range("to=1970-01-01T00:00:00Z").unwrap_err(), ["to"]);
    assert_eq!(range("from=x&to=y").unwrap_err(), ["from", "to"]);
    let all = "from=1970-01-01T00:00:00Z&to=9999-12-31T23:59:59.999Z";
    assert_eq!(range(all).unwrap_err(), ["to"]);
}
