//! Unit tests of `src/journal/sectors.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// However bytes are split, a file written in whole sectors ends up with exactly these
    /// bytes, and every write is aligned.
    #[test]
    fn what_is_put_stands_in_the_file(
        pieces in proptest::collection::vec((0_usize..9000, any::<bool>()), 1..30),
    ) {
        let mut sectors = Sectors::new(300_000);
        let (mut file, mut expected) = (vec![7_u8; 400_000], Vec::new());
        let mut used = 0;
        for (number, (length, writes)) in pieces.iter().enumerate() {
            let piece = vec![u8::try_from(number).unwrap() + 1; *length];
            prop_assert!(sectors.put(&piece));
            expected.extend(piece);
            if *writes {
                let waiting = sectors.unwritten();
                let (before, whole) = sectors.padded();
                let at = used - before;
                prop_assert_eq!(whole.as_ptr().align_offset(SECTOR_BYTES), 0);
                prop_assert_eq!((whole.len() % SECTOR_BYTES, at % SECTOR_BYTES), (0, 0));
                prop_assert!(whole.len() < before + waiting + SECTOR_BYTES);
                file[at..at + whole.len()].copy_from_slice(whole);
                prop_assert!(file[used + waiting..at + whole.len()].iter().all(|b| *b == 0));
                sectors.mark_written();
                used += waiting;
            }
        }
        prop_assert_eq!(&file[..used], &expected[..used]);
        prop_assert_eq!(sectors.unwritten(), expected.len() - used);
    }
}

#[test]
fn what_has_no_room_is_not_taken() {
    let mut sectors = Sectors::new(SECTOR_BYTES);
    assert!(sectors.put(&[1; 2 * SECTOR_BYTES - 1]));
    assert!(!sectors.put(&[2; 2 * SECTOR_BYTES]));
    assert_eq!(sectors.unwritten(), 2 * SECTOR_BYTES - 1);
}
