//! Unit tests of `src/views/verdicts.rs`.

use super::super::fixture::{ANN, applied, user};
use super::*;
use exchange::effect::Proposed;
use exchange::units::TimeMs;

fn proposed(record: u64) -> Effect {
    Effect::Proposed(Box::new(Proposed {
        proposal: Sequence::new(record),
        operator: ANN,
        until: TimeMs::MAX,
        market: None,
        winner: None,
        price: None,
        user: None,
        amount: None,
        transfer: None,
    }))
}

fn of(verdicts: &Verdicts, first: u64, last: u64) -> Vec<(u64, Came)> {
    let found = verdicts.now().of(Sequence::new(first), Sequence::new(last)).unwrap();
    found.into_iter().map(|(record, came)| (record.get(), came)).collect()
}

#[test]
fn each_record_that_did_not_do_it_is_found_among_those_of_many_pages() {
    let mut verdicts = Verdicts::default();
    let (refused, first) = (Reject::ALL.into_iter().cycle(), Sequence::new(1));
    let mut expected = Vec::new();
    for (record, reject) in (1..=1_000_u64).zip(refused) {
        let (came, effect) = match record % 10 {
            5 => (Some(Came::Proposed), proposed(record)),
            0 => (Some(Came::Repeated), Effect::Repeated { first }),
            1 => (None, user(ANN)),
            _ => (Some(Came::Refused(reject)), Effect::Refused(reject)),
        };
        expected.extend(came.map(|came| (record, came)));
        verdicts.fold(&applied(record, &[effect])).unwrap();
    }
    assert_eq!(expected.len(), 900);
    assert_eq!(of(&verdicts, 1, 2_000), expected);
    for (first, last) in [(1, 1), (2, 2), (500, 640), (990, 1_000), (1_001, 1_001), (9, 8)] {
        let among = expected.iter().filter(|(record, _)| (first..=last).contains(record));
        assert_eq!(of(&verdicts, first, last), among.copied().collect::<Vec<_>>(), "{first}");
    }
}
