//! Late endings: what became of orders whose page was put away before. They gather here, so that
//! one change of a page takes several, and leave a few pages at a time, because everybody waits
//! while a page is changed.

use std::collections::BTreeMap;

use crate::exchange::ids::UserNo;
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, read_bytes, read_count, write_bytes, write_count,
};
use crate::exchange::units::Sequence;
use crate::projection::image::{Sizes, hold};

/// Bytes of endings that may gather before any leave: some thousands of them.
const GATHERED_BYTES: usize = 64 << 10;
/// Most pages that are changed after one record. A market that closes may end any number of
/// orders: theirs leave with the records after it.
const PAGES_A_RECORD_MAX: usize = 8;

/// A user, and which of his pages.
type Key = (UserNo, u32);

/// Endings by the page that they belong on, packed.
#[derive(Debug, Default)]
pub struct Late {
    pages: BTreeMap<Key, Vec<u8>>,
    bytes: usize,
}

impl Late {
    /// Adds an ending, which `pack` appends to what it is given.
    pub(super) fn add(&mut self, user: UserNo, page: u32, pack: impl FnOnce(&mut Vec<u8>)) {
        let endings = self.pages.entry((user, page)).or_default();
        let before = endings.len();
        pack(endings);
        self.bytes = self.bytes.saturating_add(endings.len().saturating_sub(before));
    }

    /// A user's, by page.
    pub(super) fn of(&self, user: UserNo) -> impl Iterator<Item = (u32, &Vec<u8>)> {
        let own = self.pages.range((user, 0)..=(user, u32::MAX));
        own.map(|((_, page), endings)| (*page, endings))
    }

    /// How many pages are to be changed after a record: the more have gathered, the more of them.
    pub(super) fn due(&self) -> usize {
        (self.bytes / GATHERED_BYTES).min(PAGES_A_RECORD_MAX)
    }

    /// Takes the endings of one page. Which one follows from the record and what is here, and each
    /// record begins with another user, so that everyone's gather for as long.
    pub(super) fn take(&mut self, after: Sequence, users: usize) -> Option<(Key, Vec<u8>)> {
        let users = u64::try_from(users).unwrap_or(u64::MAX);
        let user = after.get().checked_rem(users).and_then(|user| u32::try_from(user).ok());
        let from = (UserNo(user.unwrap_or(0)), 0);
        let next = self.pages.range(from..).next().or_else(|| self.pages.first_key_value());
        let (key, endings) = self.pages.remove_entry(&next.map(|(key, _)| *key)?)?;
        self.bytes = self.bytes.saturating_sub(endings.len());
        Some((key, endings))
    }

    /// Writes them.
    pub(super) fn write(&self, sink: &mut impl ImageSink) {
        write_count(self.pages.len(), sink);
        for ((user, page), endings) in &self.pages {
            user.write(sink);
            page.write(sink);
            write_bytes(endings, sink);
        }
    }

    /// Reads them.
    pub(super) fn read(sizes: Sizes, source: &mut impl ImageSource) -> Result<Late, BadImage> {
        let (mut late, mut before) = (Late::default(), None);
        for _ in 0..read_count(source)? {
            let (user, page) = (UserNo::read(source)?, u32::read(source)?);
            sizes.has_user(user)?;
            hold(before < Some((user, page)), "late endings out of order")?;
            before = Some((user, page));
            let endings = read_bytes(source)?;
            late.add(user, page, |packed| *packed = endings);
        }
        Ok(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_gather_and_leave_a_few_pages_a_record_whatever_one_record_ended() {
        let mut late = Late::default();
        let add = |late: &mut Late, user, page, bytes: usize| {
            late.add(UserNo(user), page, |packed| packed.resize(packed.len() + bytes, 7));
        };
        add(&mut late, 1, 3, GATHERED_BYTES - 1);
        assert_eq!(late.due(), 0);
        add(&mut late, 0, 2, 1);
        assert_eq!(late.due(), 1);
        for page in 0..20 {
            add(&mut late, 2, page, GATHERED_BYTES);
        }
        assert_eq!(late.due(), PAGES_A_RECORD_MAX);

        // The record decides whose page is next, and all of them leave in the end.
        let mut taken: Vec<Key> = Vec::new();
        let mut record = 0;
        while let Some((key, endings)) = late.take(Sequence::new(record), 3) {
            assert!(endings.iter().all(|byte| *byte == 7));
            taken.push(key);
            record += 1;
        }
        let firsts = [(UserNo(0), 2), (UserNo(1), 3), (UserNo(2), 0)];
        assert_eq!(taken.get(..3), Some(firsts.as_slice()));
        assert_eq!((taken.len(), late.bytes, late.due()), (22, 0, 0));
    }
}
