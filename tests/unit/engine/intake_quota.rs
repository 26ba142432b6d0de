//! Unit tests of `src/engine/intake_quota.rs`.

use super::*;

#[test]
fn no_more_room_is_taken_than_there_is() {
    let quota = IntakeQuota::default();
    let first = quota.take(100, INTAKE_MAX - 150);
    assert_eq!((first.commands(), quota.taken()), (100, 99));
    let second = quota.take(100, INTAKE_MAX - 149);
    assert_eq!((second.commands(), quota.taken()), (50, 148));
    let none = quota.take(100, INTAKE_MAX - 148);
    assert_eq!((none.commands(), quota.taken()), (0, 148));
    drop((first, none));
    let third = quota.take(7, 0);
    assert_eq!((third.commands(), quota.taken()), (7, 55));
    drop((second, third));
    assert_eq!(quota.taken(), 0);
}
