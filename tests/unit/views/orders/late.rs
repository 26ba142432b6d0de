//! Unit tests of `src/views/orders/late.rs`.

use super::*;

#[test]
fn endings_gather_and_leave_a_few_pages_a_record_whatever_one_record_ended() {
    let mut late = Late::default();
    let add = |late: &mut Late, user, page, bytes: usize| {
        late.add(UserNo(user), page, |packed| packed.resize(packed.len() + bytes, 7));
    };
    let room = GATHERED_BYTES + 3 * GATHERED_BYTES_A_USER;
    add(&mut late, 1, 3, OWN_BYTES_MAX);
    assert_eq!(late.due(3), 0);
    add(&mut late, 0, 2, room - OWN_BYTES_MAX);
    assert_eq!(late.due(3), 1);
    assert_eq!((late.due(4), late.due(usize::MAX)), (0, 0));
    for page in 0..20 {
        add(&mut late, 2, page, room);
    }
    assert_eq!(late.due(3), PAGES_A_RECORD_MAX);
    assert_eq!(late.over_limit, BTreeSet::from([UserNo(2)]));

    // The record decides whose page is next, and all pages are taken in the end.
    let mut taken: Vec<Key> = Vec::new();
    let mut record = 0;
    while let Some((key, endings)) = late.take(Sequence::new(record), 3) {
        assert!(endings.iter().all(|byte| *byte == 7));
        taken.push(key);
        record += 1;
    }
    // A user over the limit comes first.
    assert_eq!(taken.get(..2), Some([(UserNo(2), 0), (UserNo(2), 1)].as_slice()));
    let lasts = [(UserNo(2), 19), (UserNo(0), 2), (UserNo(1), 3)];
    assert_eq!(taken.get(19..), Some(lasts.as_slice()));
    assert_eq!((taken.len(), late.bytes, late.due(0)), (22, 0, 0));
    assert_eq!((late.own, late.over_limit), (vec![0; 3], BTreeSet::new()));
}

#[test]
fn nobody_has_more_than_may_be_copied() {
    let mut late = Late::default();
    let mut add = |page| late.add(UserNo(7), page, |packed| packed.resize(packed.len() + 16, 7));
    let most = (OWN_BYTES_MAX / 16) as u64;
    (0..most).for_each(&mut add);
    add(most);
    assert_eq!(late.due(1_000_000), 1);
    assert_eq!(late.take(Sequence::new(3), 10).map(|(key, _)| key), Some((UserNo(7), 0)));
    assert_eq!(late.due(1_000_000), 0);
    // Many users together do not exceed the total either.
    let most = u32::try_from(GATHERED_BYTES_MAX / OWN_BYTES_MAX).unwrap();
    for user in 8..7 + most {
        late.add(UserNo(user), 1, |packed| packed.resize(OWN_BYTES_MAX, 7));
    }
    assert_eq!(late.due(usize::MAX), 1);
}
