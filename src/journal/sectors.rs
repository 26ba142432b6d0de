//! Whole sectors: bytes on their way to a file that the system is to write without a copy of its
//! own, which it does from memory and to places that begin and end with a sector.

/// Bytes of a sector: as many as the sectors of any drive, and as a page of the system.
pub(super) const SECTOR_BYTES: usize = 4096;

/// Bytes that are to be written next, after those of the last sector that are on disk already and
/// go there again.
#[derive(Debug)]
pub(super) struct Sectors {
    bytes: Box<[u8]>,
    /// Where in `bytes` a sector may begin.
    begins: usize,
    /// Bytes at the beginning that are on disk.
    written: usize,
    /// Bytes there and after them.
    filled: usize,
}

impl Sectors {
    /// Room for so many bytes beside those of a sector that was begun. The system gives memory for
    /// what of it is used.
    pub(super) fn of(bytes: usize) -> Sectors {
        let room = bytes.saturating_add(SECTOR_BYTES).next_multiple_of(SECTOR_BYTES);
        let bytes = vec![0; room.saturating_add(SECTOR_BYTES)].into_boxed_slice();
        // Where that cannot be said, the system says what it thinks of it.
        let begins = bytes.as_ptr().align_offset(SECTOR_BYTES);
        Sectors {
            begins: if begins < SECTOR_BYTES { begins } else { 0 },
            bytes,
            written: 0,
            filled: 0,
        }
    }

    /// The same where no sector may begin.
    #[cfg(test)]
    pub(super) fn askew(bytes: usize) -> Sectors {
        let sectors = Sectors::of(bytes);
        Sectors { begins: sectors.begins.saturating_add(1) % SECTOR_BYTES, ..sectors }
    }

    /// Bytes that wait.
    pub(super) const fn waiting(&self) -> usize {
        self.filled.saturating_sub(self.written)
    }

    /// Takes bytes; false, and none of them, where there is no room.
    #[must_use]
    pub(super) fn put(&mut self, bytes: &[u8]) -> bool {
        let from = self.begins.saturating_add(self.filled);
        let filled = self.filled.saturating_add(bytes.len());
        // The sector that they end in must have room too.
        let whole = self.begins.saturating_add(filled.next_multiple_of(SECTOR_BYTES));
        let to = from.saturating_add(bytes.len());
        match self.bytes.get_mut(..whole).and_then(|whole| whole.get_mut(from..to)) {
            None => false,
            Some(room) => {
                room.copy_from_slice(bytes);
                self.filled = filled;
                true
            }
        }
    }

    /// What is to be written from the last sector's beginning on, and how far before the bytes that
    /// wait that is. Zeros fill the last sector.
    pub(super) fn whole(&mut self) -> (usize, &[u8]) {
        let filled = self.begins.saturating_add(self.filled);
        let whole = self.filled.next_multiple_of(SECTOR_BYTES);
        let end = self.begins.saturating_add(whole);
        if let Some(rest) = self.bytes.get_mut(filled..end) {
            rest.fill(0);
        }
        (self.written, self.bytes.get(self.begins..end).unwrap_or_default())
    }

    /// They are written: keeps what of them stands in a sector that is not full.
    pub(super) fn wrote(&mut self) {
        let kept = self.filled.checked_rem(SECTOR_BYTES).unwrap_or(0);
        let from = self.begins.saturating_add(self.filled.saturating_sub(kept));
        self.bytes.copy_within(from..from.saturating_add(kept), self.begins);
        (self.written, self.filled) = (kept, kept);
    }

    /// Forgets everything: the next bytes begin a sector.
    pub(super) const fn clear(&mut self) {
        (self.written, self.filled) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// Whatever is put in whatever pieces, a file that is written in whole sectors ends up with
        /// just that, and memory and places are such as the system wants.
        #[test]
        fn what_is_put_stands_in_the_file(
            pieces in proptest::collection::vec((0_usize..9000, any::<bool>()), 1..30),
        ) {
            let mut sectors = Sectors::of(300_000);
            let (mut file, mut expected) = (vec![7_u8; 400_000], Vec::new());
            let mut used = 0;
            for (number, (length, writes)) in pieces.iter().enumerate() {
                let piece = vec![u8::try_from(number).unwrap() + 1; *length];
                prop_assert!(sectors.put(&piece));
                expected.extend(piece);
                if *writes {
                    let waiting = sectors.waiting();
                    let (before, whole) = sectors.whole();
                    let place = used - before;
                    prop_assert_eq!(whole.as_ptr().align_offset(SECTOR_BYTES), 0);
                    prop_assert_eq!((whole.len() % SECTOR_BYTES, place % SECTOR_BYTES), (0, 0));
                    prop_assert!(whole.len() < before + waiting + SECTOR_BYTES);
                    file[place..place + whole.len()].copy_from_slice(whole);
                    prop_assert!(file[used + waiting..place + whole.len()].iter().all(|b| *b == 0));
                    sectors.wrote();
                    used += waiting;
                }
            }
            prop_assert_eq!(&file[..used], &expected[..used]);
            prop_assert_eq!(sectors.waiting(), expected.len() - used);
        }
    }

    #[test]
    fn what_has_no_room_is_not_taken() {
        let mut sectors = Sectors::of(SECTOR_BYTES);
        assert!(sectors.put(&[1; 2 * SECTOR_BYTES - 1]));
        assert!(!sectors.put(&[2; 2 * SECTOR_BYTES]));
        assert_eq!(sectors.waiting(), 2 * SECTOR_BYTES - 1);
    }
}
