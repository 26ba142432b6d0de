//! Unit tests of `src/engine/clock.rs`.

use proptest::prelude::*;

use super::*;

const START: i64 = 1_700_000_000_000;

fn at(ms: i64) -> TimeMs {
    TimeMs::new(START + ms).unwrap()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Record times for pairs of readings: the system clock and the monotonic clock.
fn times(readings: &[(i64, u64)]) -> Vec<(i64, Option<ClockFault>)> {
    let mut stamps = Times::starting_at(at(0), at(0), ms(0));
    let times = readings.iter().map(|(system, passed)| stamps.read(at(*system), ms(*passed)));
    times.map(|(time, fault)| (time.get() - START, fault)).collect()
}

#[test]
fn a_clock_that_is_corrected_a_little_is_followed() {
    let readings = [(5, 5), (59_000, 10), (119_000, 20), (200_000, 81_020)];
    let expected = [(5, None), (59_000, None), (119_000, None), (200_000, None)];
    assert_eq!(times(&readings), expected);
}

#[test]
fn a_jump_ahead_and_back_leaves_no_trace() {
    let year: i64 = 365 * 24 * 3_600_000;
    let ahead = ClockFault::Ahead(ms(year.unsigned_abs() - 10));
    let readings = [(5, 5), (year, 10), (year + 400, 410), (412, 412), (500, 500)];
    let expected = [(5, None), (10, Some(ahead)), (410, None), (412, None), (500, None)];
    assert_eq!(times(&readings), expected);
}

#[test]
fn a_clock_that_stays_ahead_is_believed_in_the_end() {
    let hour: i64 = 3_600_000;
    let mut readings = vec![(0, 0), (hour, 10)];
    readings.extend([(hour + 30_000, 30_010), (hour + 60_000, 60_010), (hour + 60_005, 60_015)]);
    let ahead = ms(hour.unsigned_abs() - 10);
    let believed = ahead;
    let expected = [
        (0, None),
        (10, Some(ClockFault::Ahead(ahead))),
        (30_010, None),
        (hour + 60_000, Some(ClockFault::Believed(believed))),
        (hour + 60_005, None),
    ];
    assert_eq!(times(&readings), expected);
}

#[test]
fn behind_the_journal_time_goes_on_at_half_speed_until_the_clock_has_caught_up() {
    let readings = [(10_000, 10_000), (4_000, 10_010), (5_000, 11_010), (15_990, 22_000)];
    let behind = ClockFault::Behind(ms(6_000));
    let (half, caught_up) = (10_000 + 1_010 / 2, 10_000 + 12_000 / 2);
    let mut expected = vec![(10_000, None), (10_005, Some(behind)), (half, None)];
    expected.push((caught_up - 10, None));
    // By now the clock reads more than the last record's time.
    let times = times(&readings);
    assert_eq!(times[..3], expected[..3]);
    assert_eq!(times[3], (15_990, None));
}

#[test]
fn time_goes_on_evenly_from_one_fault_to_the_next() {
    let hour: i64 = 3_600_000;
    // Ahead for 50 s, then two seconds behind the last time.
    let mut readings = vec![(0, 0), (hour, 10), (hour + 50_000, 50_010)];
    readings.extend([(48_010, 50_010), (49_010, 51_010), (50_010, 52_010), (53_010, 53_010)]);
    // Then ahead again.
    readings.extend([(hour, 54_010), (hour + 1_000, 55_010)]);
    let expected = [0, 10, 50_010, 50_010, 50_510, 51_010, 53_010, 54_010, 55_010];
    assert_eq!(times(&readings).iter().map(|(time, _)| *time).collect::<Vec<_>>(), expected);
}

#[test]
fn a_start_before_the_last_record_says_so() {
    let mut stamps = Times::starting_at(at(90_000), at(0), ms(0));
    let (time, fault) = stamps.read(at(10), ms(10));
    assert_eq!((time, fault), (at(90_005), Some(ClockFault::Behind(ms(89_990)))));
    // A clock far ahead of the last record at a start is no fault: the server was down.
    let mut stamps = Times::starting_at(at(0), at(90_000_000), ms(0));
    assert_eq!(stamps.read(at(90_000_001), ms(1)), (at(90_000_001), None));
}

#[test]
fn a_leap_is_not_believed_because_of_a_restart_on_the_same_boot() {
    let (month, day): (i64, i64) = (30 * 24 * 3_600_000, 24 * 3_600_000);
    let known = |time, passed| Some(SinceBoot { time: at(time), at: ms(passed) });
    // Ten seconds after the stamp; the system's clock says that it was a month.
    let mut stamps = Times::judged(at(500), known(0, 0), at(month), ms(10_000)).unwrap();
    let readings = [(month, 10_000), (month + 9_000, 19_000), (20_000, 20_000)];
    let times = readings.map(|(system, passed)| stamps.read(at(system), ms(passed)).0);
    assert_eq!(times, [at(10_000), at(19_000), at(20_000)]);
    // It has stayed there for a minute.
    let mut stamps = Times::judged(at(500), known(0, 0), at(month), ms(10_000)).unwrap();
    assert_eq!(stamps.read(at(month), ms(10_000)).0, at(10_000));
    assert_eq!(stamps.read(at(month + 60_000), ms(70_000)).0, at(month + 60_000));
    // It was down for a month, as both clocks say.
    let down = month.unsigned_abs();
    let mut stamps = Times::judged(at(500), known(0, 0), at(month), ms(down)).unwrap();
    assert_eq!(stamps.read(at(month + 5), ms(down + 5)), (at(month + 5), None));
    // The stamp of a venue that went on for a while never takes time back.
    let mut stamps = Times::judged(at(90_000), known(0, 0), at(month), ms(10)).unwrap();
    assert_eq!(stamps.read(at(month), ms(20)).0, at(90_010));

    // Nothing is known of this boot, or nothing that can be.
    for known in [None, known(0, 7_000)] {
        let judged = |last: i64, system: i64| Times::judged(at(last), known, at(system), ms(6));
        for system in [-5_000, 0, day] {
            let mut stamps = judged(0, system).unwrap();
            assert_eq!(stamps.read(at(system), ms(6)).0, at(system.max(0)));
        }
        let ahead = ClockAhead { last: at(0), system: at(day + 1) };
        assert_eq!(judged(0, day + 1).unwrap_err(), ahead);
    }
    // No record.
    assert!(Times::judged(TimeMs::default(), None, at(0), ms(6)).is_ok());
}

proptest! {
    #[test]
    fn times_never_go_back_nor_further_ahead_than_is_believed(
        steps in prop::collection::vec((0..5_000_u64, -200_000..200_000_i64), 1..60),
    ) {
        let mut stamps = Times::starting_at(at(0), at(0), ms(0));
        let (mut passed, mut last) = (0, at(0));
        let jump = i64::try_from(JUMP_AHEAD.as_millis()).unwrap();
        for (step, error) in steps {
            passed += step;
            let system = at(i64::try_from(passed).unwrap() + error);
            let (time, fault) = stamps.read(system, ms(passed));
            let step = i64::try_from(step).unwrap();
            // Half speed leaves half a millisecond behind, which the next reading adds.
            let (least, most) = (last.get() + step / 2, last.get() + step + 1 + jump);
            let believed = matches!(fault, Some(ClockFault::Believed(_)));
            prop_assert!(time.get() >= least.min(system.get()) && time >= last);
            prop_assert!(time.get() <= most || believed);
            last = time;
        }
    }
}

#[test]
fn a_moment_is_settled_once_it_is_over_and_what_is_stamped_by_then_is_written() {
    let clock = Clock::after(at(0));
    let first = clock.now();
    assert_eq!(clock.settled(TimeMs::new(first.get() + 60_000).unwrap()), Settled::No);
    while clock.now() <= first {}
    assert_eq!(clock.settled(first), Settled::Yes);
    let stamped = clock.stamp();
    assert!(stamped > first);
    while clock.now() <= stamped {}
    assert_eq!([first, stamped].map(|time| clock.settled(time)), [Settled::Yes, Settled::Soon]);
    clock.wrote();
    assert_eq!(clock.settled(stamped), Settled::Yes);
    assert!(monotonic() <= monotonic());
}
