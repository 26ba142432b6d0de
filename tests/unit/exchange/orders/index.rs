//! Unit tests of `src/exchange/orders/index.rs`.

use super::*;

fn number(sequence: usize) -> Sequence {
    Sequence::new(u64::try_from(sequence).unwrap())
}

/// With numbers on both sides of leaf and branch boundaries; removal leaves no branch behind.
#[test]
fn every_number_has_its_own_slot() {
    let mut index = SequenceIndex::default();
    let numbers = [1, 63, 64, 65, 32_767, 32_768, 32_769, 65_536, 1_000_000];
    for round in 0..3 {
        for (at, sequence) in (1..).zip(numbers) {
            assert_eq!(index.get(number(sequence)), None);
            index.insert(number(sequence), Slot::at(at).unwrap()).unwrap();
        }
        for (at, sequence) in (1..).zip(numbers) {
            assert_eq!(index.get(number(sequence)), Slot::at(at), "{round}");
            assert!(index.insert(number(sequence), Slot::at(9).unwrap()).is_err());
        }
        for sequence in numbers {
            index.remove(number(sequence)).unwrap();
            assert_eq!(index.remove(number(sequence)), Err(Broken::Dangling));
        }
        assert!(index.branches.iter().all(Option::is_none));
    }
}
