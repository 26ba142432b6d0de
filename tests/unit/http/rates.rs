//! Unit tests of `src/http/rates.rs`.

use super::*;
use proptest::prelude::*;

const SECOND: u64 = NANOSECONDS_PER_SECOND;

fn rate(per_second: u32, burst: u32) -> Rate {
    Rate::new(per_second, burst).unwrap()
}

#[test]
fn a_bucket_empties_at_once_and_fills_steadily() {
    let (bucket, rate, now) = (Bucket::default(), rate(2, 3), 7 * SECOND);
    for remaining in [2, 1, 0] {
        let taken = bucket.take(rate, 1, now);
        assert_eq!((taken.limit, taken.remaining, taken.wait_seconds), (3, remaining, None));
    }
    let refused = bucket.take(rate, 1, now);
    assert_eq!((refused.remaining, refused.wait_seconds), (0, Some(1)));
    assert_eq!(refused.reset_seconds, 2, "3 tokens, 2 a second: 1.5 s, rounded up");
    assert!(bucket.take(rate, 1, now + SECOND / 2 - 1).wait_seconds.is_some());
    assert_eq!(bucket.take(rate, 1, now + SECOND / 2).wait_seconds, None);
    let later = now + 60 * SECOND;
    assert_eq!(bucket.look(rate, later).remaining, 3, "never more than the burst");
    assert_eq!(bucket.look(rate, later).reset_seconds, 0);
    assert_eq!(bucket.take(rate, 1, later).remaining, 2, "a look takes nothing");
}

#[test]
fn several_are_taken_together_or_not_at_all() {
    let (bucket, rate, now) = (Bucket::default(), rate(2, 5), 7 * SECOND);
    assert_eq!(bucket.take(rate, 3, now).remaining, 2);
    let refused = bucket.take(rate, 4, now);
    assert_eq!((refused.remaining, refused.wait_seconds), (2, Some(1)));
    assert_eq!(bucket.take(rate, 4, now + SECOND).remaining, 0);
    bucket.give_back(rate, 3);
    assert_eq!(bucket.look(rate, now + SECOND).remaining, 3);
    // More than the burst: the wait is the time until the bucket is full.
    let beyond = bucket.take(rate, 6, now + SECOND);
    assert_eq!((beyond.remaining, beyond.wait_seconds), (3, Some(1)));
    assert_eq!(bucket.take(rate, 6, now + 60 * SECOND).wait_seconds, Some(1));
    assert_eq!(bucket.take(rate, 0, now + 60 * SECOND).remaining, 5);
}

#[test]
fn a_limit_is_read_with_or_without_its_burst() {
    let read = |text: &str| text.parse::<Limit>().map(|limit| limit.0);
    assert_eq!(read("0"), Ok(None));
    assert_eq!(read("50"), Ok(Some(rate(50, 100))));
    assert_eq!(read("50:1"), Ok(Some(rate(50, 1))));
    assert_eq!(read("1000000"), Ok(Some(rate(1_000_000, 2_000_000))));
    for bad in ["", "-1", "1.5", "50:0", "0:5", "50:", ":5", "1000001", "5:5:5", "1:2000001"] {
        assert_eq!(read(bad), Err(NoRate), "{bad}");
    }
}

#[test]
fn a_daily_allowance_can_be_used_at_once_and_comes_back_in_a_day() {
    let read = |text: &str| text.parse::<Daily>().map(|daily| daily.0);
    assert_eq!(read("0"), Ok(None));
    for bad in ["", "-1", "1.5", "5:5", "1000000001"] {
        assert_eq!(read(bad), Err(NoAllowance), "{bad}");
    }
    let (bucket, rate, now) = (Bucket::default(), read("24").unwrap().unwrap(), 7 * SECOND);
    assert_eq!(bucket.take(rate, 24, now).remaining, 0);
    let refused = bucket.take(rate, 1, now);
    assert_eq!((refused.limit, refused.wait_seconds), (24, Some(3600)));
    assert_eq!(refused.reset_seconds, 24 * 3600);
    assert_eq!(bucket.take(rate, 1, now + 3600 * SECOND - 1).wait_seconds, Some(1));
    assert_eq!(bucket.take(rate, 1, now + 3600 * SECOND).wait_seconds, None);
    // The largest one loses nothing by rounding, and its numbers fit.
    let most = read("1000000000").unwrap().unwrap();
    assert_eq!(Bucket::default().take(most, most.burst(), now).reset_seconds, 24 * 3600);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    /// Whatever the requests: no time window admits more than its tokens and one burst, a
    /// refused request is admitted after the wait returned, and the figures agree.
    #[test]
    fn no_window_holds_more_than_rate_and_burst(
        per_second in 1..2_000_u32,
        burst in 1..50_u32,
        pauses in proptest::collection::vec(0..SECOND, 1..200),
    ) {
        let (bucket, rate) = (Bucket::default(), rate(per_second, burst));
        let (mut now, mut taken_at) = (0, Vec::new());
        for pause in pauses {
            now += pause / u64::from(per_second);
            let before = bucket.look(rate, now);
            let came = bucket.take(rate, 1, now);
            prop_assert_eq!(came.wait_seconds.is_none(), before.remaining > 0);
            prop_assert!(came.remaining <= burst && came.limit == burst);
            match came.wait_seconds {
                None => {
                    prop_assert_eq!(came.remaining, before.remaining - 1);
                    taken_at.push(now);
                }
                Some(wait) => {
                    prop_assert!(bucket.look(rate, now + wait * SECOND).remaining > 0);
                }
            }
        }
        for (index, from) in taken_at.iter().enumerate() {
            for (count, to) in (1_u64..).zip(&taken_at[index..]) {
                let most = u128::from(to - from) * u128::from(per_second) / u128::from(SECOND);
                prop_assert!(u128::from(count) <= u128::from(burst) + most + 1);
            }
        }
    }
}
