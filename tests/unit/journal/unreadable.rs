//! Unit tests of `src/journal/unreadable.rs`.

use proptest::prelude::*;

use super::*;

/// A file with bad sectors: a read that begins before one ends there, or fails as a whole.
struct Damaged {
    bytes: Vec<u8>,
    bad: Vec<u64>,
    fails_whole: bool,
}

impl ReadAt for Damaged {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap().min(self.bytes.len());
        let mut count = bytes.len().min(self.bytes.len() - start);
        let first = self.bad.iter().filter(|bad| (**bad + 1) * SECTOR_BYTES > offset).min();
        if let Some(bad) = first {
            let good = (bad * SECTOR_BYTES).saturating_sub(offset);
            let good = usize::try_from(good).unwrap();
            if good < count {
                if good == 0 || self.fails_whole {
                    return Err(io::Error::other("a bad sector"));
                }
                count = good;
            }
        }
        bytes[..count].copy_from_slice(&self.bytes[start..start + count]);
        Ok(count)
    }
}

proptest! {
    #[test]
    fn all_but_the_bad_sectors_is_read(
        length in 0..60_000_usize,
        bad in prop::collection::btree_set(0..16_u64, 0..4),
        (offset, wanted) in (0..70_000_usize, 0..70_000_usize),
        fails_whole: bool,
    ) {
        let bytes: Vec<u8> = (1..=250_u8).cycle().take(length).collect();
        let bad: Vec<u64> = bad.into_iter().collect();
        let is_bad = |at: &usize| bad.contains(&(*at as u64 / SECTOR_BYTES));
        // If a file ends within a bad sector, reads do not show where.
        let left = length.saturating_sub(offset);
        let wanted = if is_bad(&length) { wanted.min(left) } else { wanted };
        let from = offset.min(length);
        let there = from..offset.saturating_add(wanted).clamp(from, length);
        let expected: Vec<u8> =
            there.clone().map(|at| if is_bad(&at) { 0 } else { bytes[at] }).collect();
        let lost = there.filter(is_bad).count();
        let file = Damaged { bytes, bad: bad.clone(), fails_whole };
        let mut read = vec![9; wanted];
        let (filled, zeros) = read_around(&file, &mut read, offset as u64);
        prop_assert_eq!(&read[..filled], &expected[..]);
        prop_assert_eq!(zeros, lost);
    }
}
