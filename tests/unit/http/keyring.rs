//! Unit tests of `src/http/keyring.rs`.

use super::*;
use exchange::command::Role;
use exchange::ids::{KeyNo, UserNo};
use exchange::units::Sequence;

/// A caller with the first key of this user.
fn caller(user: u32, role: Role) -> Caller {
    let (as_of, keys_as_of) = (Sequence::ZERO, Sequence::ZERO);
    Caller { user: UserNo(user), via: Via::Key(KeyNo(user)), role, as_of, keys_as_of }
}

#[test]
fn every_row_has_its_own_position() {
    let last = u32::MAX as usize;
    let mut next = (0, 0);
    for index in 0..10_000 {
        let (segment, at) = position(index).unwrap();
        assert_eq!((segment, at), next, "{index}");
        next =
            if at + 1 == FIRST_SEGMENT << segment { (segment + 1, 0) } else { (segment, at + 1) };
    }
    let (segment, at) = position(last).unwrap();
    assert!(segment < SEGMENTS && at < FIRST_SEGMENT << segment, "{last}");
}

#[test]
fn users_and_classes_share_nothing_and_operators_have_no_limit() {
    let limit = "1:1".parse().unwrap();
    let keyring = Keyring::new(Rates { reads: limit, writes: limit, ..Rates::NONE });
    let (ann, bob) = (caller(3, Role::Trader), caller(700, Role::Trader));
    assert_eq!(keyring.last_used(KeyNo(3)), None);
    let admit =
        |caller, class| keyring.admit(caller, class, Instant::now()).map(|left| left.wait_seconds);
    // Assumes that these lines take less than a second; a slower run would admit more. `rates`
    // tests refusals with its own clock.
    assert_eq!(admit(&ann, RequestClass::Reads), Some(None));
    assert_eq!(
        (admit(&ann, RequestClass::Writes), admit(&bob, RequestClass::Reads)),
        (Some(None), Some(None))
    );
    assert_eq!(
        (admit(&ann, RequestClass::Cancels), admit(&ann, RequestClass::Probes)),
        (None, None)
    );
    let operator = caller(4, Role::Operator);
    assert_eq!(
        (admit(&operator, RequestClass::Writes), keyring.look(&operator, RequestClass::Writes)),
        (None, None)
    );
    assert!(keyring.look(&ann, RequestClass::Reads).is_some_and(|(per_second, _)| per_second == 1));
    let used = [3, 700, 4].map(|key| keyring.last_used(KeyNo(key)).is_some());
    assert_eq!((used, keyring.last_used(KeyNo(5))), ([true; 3], None));
}

/// A write token may refill while a batch without writes is read: then it needs no cancel
/// token.
#[test]
fn tokens_that_a_batch_did_not_need_are_returned() {
    let limit = "1:5".parse().unwrap();
    let keyring = Keyring::new(Rates { writes: limit, cancels: limit, ..Rates::NONE });
    for (class, writes, cancels) in [(RequestClass::Cancels, 2, 0), (RequestClass::Writes, 0, 2)] {
        let ann = caller(writes, Role::Trader);
        assert!(keyring.admit(&ann, class, Instant::now()).is_some());
        assert_eq!(keyring.admit_several(&ann, writes, cancels, class), Ok(()));
        let left = keyring.look(&ann, class).map(|(_, left)| left.remaining);
        assert_eq!(left, Some(5), "{class:?}");
    }
}

#[test]
fn the_keys_of_a_user_share_its_tokens_and_its_records() {
    let limits = ["1:3", "1:3", "1:3"].map(|limit| limit.parse().unwrap());
    let ([reads, writes, cancels], records) = (limits, "5".parse().unwrap());
    let keyring = Keyring::new(Rates { reads, writes, cancels, records });
    let ann = caller(3, Role::Trader);
    for class in [RequestClass::Reads, RequestClass::Writes, RequestClass::Cancels] {
        let left = (0..3).map(|key| {
            let other = Caller { via: Via::Key(KeyNo(900 + key)), ..ann };
            keyring.admit(&other, class, Instant::now()).map(|left| left.remaining)
        });
        assert_eq!(left.collect::<Vec<_>>(), [Some(2), Some(1), Some(0)], "{class:?}");
        assert!(keyring.admit(&ann, class, Instant::now()).unwrap().wait_seconds.is_some());
    }
    let cancel = Command::CancelOrders { user: ann.user, market: None, group: None, key: None };
    for key in 0..5 {
        let other = Caller { via: Via::Key(KeyNo(900 + key)), ..ann };
        assert_eq!(keyring.record(&other, &Command::AdvanceClock), Ok(()));
    }
    let refused = keyring.record(&ann, &Command::AdvanceClock).unwrap_err();
    assert_eq!((refused.limit, refused.remaining), (5, 0));
    assert_eq!(refused.wait_seconds, Some(24 * 3600 / 5));
    for _ in 0..5 {
        assert_eq!(keyring.record(&ann, &cancel), Ok(()), "a user can leave");
    }
    assert!(keyring.record(&ann, &cancel).is_err());
    assert_eq!(keyring.record(&caller(4, Role::Trader), &Command::AdvanceClock), Ok(()));
    let operator = Caller { role: Role::Operator, ..ann };
    assert_eq!(keyring.record(&operator, &Command::AdvanceClock), Ok(()));
    assert!(keyring.daily_left(&operator).is_none());
    let (limit, left) = keyring.daily_left(&ann).unwrap();
    assert_eq!((limit, left.records.remaining, left.endings.remaining), (5, 0, 0));
}

#[test]
fn the_users_with_most_records_are_known() {
    let keyring = Keyring::new(Rates::NONE);
    for user in 0..30_u32 {
        for _ in 0..=user * 10 {
            let caller = caller(user, Role::Trader);
            assert_eq!(keyring.record(&caller, &Command::AdvanceClock), Ok(()));
        }
    }
    let heaviest = keyring.heaviest();
    assert_eq!(heaviest.len(), HEAVIEST);
    assert_eq!(heaviest[0], (UserNo(29), 291));
    assert!(heaviest.is_sorted_by_key(|(_, written)| std::cmp::Reverse(*written)));
    assert!(heaviest.iter().all(|(user, _)| user.0 >= 15), "{heaviest:?}");
}

#[test]
fn limits_change_for_everybody_while_they_are_used() {
    let limited = |reads: &str| Rates { reads: reads.parse().unwrap(), ..Rates::NONE };
    let keyring = Keyring::new(limited("1:1"));
    let ann = caller(3, Role::Trader);
    let admit = || keyring.admit(&ann, RequestClass::Reads, Instant::now());
    assert_eq!(admit().unwrap().limit, 1);
    keyring.limit(limited("1000000:1000"));
    // What is left of the second that the first one took is more than the new bucket holds.
    let left = admit().unwrap();
    assert_eq!((left.limit, left.remaining), (1000, 0));
    keyring.limit(limited("0"));
    assert_eq!(admit(), None);
}

#[test]
fn what_is_given_back_at_a_slower_rate_does_not_lock_a_user_out() {
    let (bucket, quick, slow) = (Bucket::default(), Rate::new(1000, 10), Rate::new(1, 10));
    bucket.take(quick.unwrap(), 1, 0);
    bucket.give_back(slow.unwrap(), 1);
    assert_eq!(bucket.look(quick.unwrap(), 0).remaining, 10);
}
