//! Unit tests of `src/views/tape.rs`.

use std::num::NonZeroU32;

use proptest::prelude::*;

use super::super::fixture::*;
use super::*;
use crate::fault::{Faults, Projection};

fn trade(price: u8, quantity: u64) -> Effect {
    let maker = Placed { record: 2, user: ANN, wording: BUY_YES, price, quantity };
    let taker = Placed { record: 3, user: BOB, wording: SELL_YES, ..maker };
    taker.took(0, maker, 0, quantity)
}

fn fold_at(tape: &mut Tape, ms: i64, effects: &[Effect]) {
    let (time, sequence) = (TimeMs::new(ms).unwrap(), Sequence::new(9));
    let mut faults = Faults::default();
    tape.fold(&Applied { sequence, time, effects }, &mut faults);
    assert_eq!(faults.count(), 0);
}

fn at_ms(ms: i64) -> TimeMs {
    TimeMs::new(ms).unwrap()
}

/// Prices, volume, interest, trades.
type Shown = (Option<[u8; 4]>, u128, u64, u64);

fn shown(tape: &Tape, interval: Interval, from: i64, count: usize) -> Vec<Shown> {
    let bars = tape.chart(RAIN, interval, at_ms(from), count).bars().unwrap();
    let bars: Vec<_> = bars.collect::<Result<_, _>>().unwrap();
    let shown = |bar: &Bar| {
        let prices = bar.prices.map(|p| [p.open, p.high, p.low, p.close].map(Tick::get));
        (prices, bar.volume.get(), bar.interest.get(), bar.trades)
    };
    bars.iter().map(shown).collect()
}

#[test]
fn candles_tell_of_each_interval_and_of_empty_ones() {
    let mut tape: Tape = opened();
    fold_at(&mut tape, 60_000, &[trade(50, 5), trade(70, 1), trade(40, 2)]);
    tape.note_interest(RAIN, Lots::new(8));
    fold_at(&mut tape, 119_999, &[trade(45, 1)]);
    tape.note_interest(RAIN, Lots::new(9));
    fold_at(&mut tape, 240_000, &[trade(60, 3)]);
    tape.note_interest(RAIN, Lots::new(7));
    let expected: [Shown; 5] = [
        (None, 0, 0, 0),
        (Some([50, 70, 40, 45]), 9, 9, 4),
        (None, 0, 9, 0),
        (None, 0, 9, 0),
        (Some([60; 4]), 3, 7, 1),
    ];
    assert_eq!(shown(&tape, Interval::Minute, 0, 5), expected);
    assert_eq!(shown(&tape, Interval::Minute, 120_000, 1), expected[2..3]);
    let whole = [(Some([50, 70, 40, 60]), 12, 7, 5), (None, 0, 7, 0)];
    for interval in [Interval::FiveMinutes, Interval::Hour, Interval::Day] {
        assert_eq!(shown(&tape, interval, 0, 2), whole);
    }
    assert_eq!(tape.volume(RAIN).get(), 12);
    for (after, volume) in [(0, 12), (59_999, 12), (60_000, 3), (239_999, 3), (240_000, 0)] {
        let traded = tape.minutes(RAIN).volume_after(at_ms(after)).unwrap();
        assert_eq!(traded.get(), volume, "{after}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]

    /// With pages of three rows, most of them are in storage.
    #[test]
    fn candles_are_those_of_the_trades_wherever_they_are(
        trades in prop::collection::vec((0..400_000_i64, 1..99_u8, 1..9_u64), 1..120),
        asked in prop::collection::vec((0..240_i64, 1..40_usize), 4),
    ) {
        let history = History::default().paged(NonZeroU32::new(3).unwrap());
        let mut tape = Tape::on(history);
        assert_eq!(fold(&mut tape, 1, &[market(RAIN, None)]), 0);
        let (mut at, mut made) = (0, Vec::new());
        for (later, price, quantity) in trades {
            at += later;
            fold_at(&mut tape, at, &[trade(price, quantity)]);
            tape.note_interest(RAIN, Lots::new(quantity));
            made.push((at, price, quantity));
        }
        let intervals =
            [Interval::Minute, Interval::FiveMinutes, Interval::Hour, Interval::Day];
        for (interval, (start, count)) in intervals.into_iter().zip(asked) {
            let from = start * 60_000 / interval.ms() * interval.ms();
            let of = |bar: i64| {
                let end = from + (bar + 1) * interval.ms();
                let inside = |made: &&(i64, u8, u64)| {
                    (end - interval.ms()..end).contains(&made.0)
                };
                let own: Vec<_> = made.iter().filter(inside).collect();
                let prices = own.first().zip(own.last()).map(|(first, last)| {
                    let paid = || own.iter().map(|made| made.1);
                    let (high, low) = (paid().max(), paid().min());
                    [first.1, high.unwrap(), low.unwrap(), last.1]
                });
                let last = made.iter().rev().find(|made| made.0 < end);
                let volume = own.iter().map(|made| u128::from(made.2)).sum();
                (prices, volume, last.map_or(0, |made| made.2), own.len() as u64)
            };
            let expected: Vec<Shown> = (0..).map(of).take(count).collect();
            prop_assert_eq!(shown(&tape, interval, from, count), expected);
            let later = made.iter().filter(|made| made.0 / 60_000 * 60_000 > from);
            let volume = tape.minutes(RAIN).volume_after(at_ms(from)).unwrap();
            prop_assert_eq!(volume.get(), later.map(|made| u128::from(made.2)).sum::<u128>());
        }
    }
}

#[test]
fn the_trades_themselves_are_kept_in_order() {
    let mut tape: Tape = opened();
    fold_at(&mut tape, 5, &[trade(50, 5), trade(70, 1)]);
    let trades: Vec<TradeRow> = tape.trades(RAIN).map(Result::unwrap).collect();
    assert_eq!(trades.iter().map(|row| row.price.get()).collect::<Vec<_>>(), [70, 50]);
    assert_eq!(trades[0].taker, Direction::Down);
    assert_eq!((tape.trades_count(RAIN), tape.trades_count(MarketNo(7))), (2, 0));
    assert_eq!(tape.trades(MarketNo(7)).len(), 0);
    assert_eq!(fold(&mut Tape::default(), 1, &[trade(50, 5)]), 1);
}
