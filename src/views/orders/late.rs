//! Late endings: endings of orders whose page was already written. They accumulate here so that one
//! page rewrite takes several, and a few pages are rewritten per record, because the writer waits
//! for each rewrite.

use std::collections::{BTreeMap, BTreeSet};

use crate::image::{Sizes, hold};
use exchange::ids::UserNo;
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, read_bytes, read_count, write_bytes, write_count,
};
use exchange::units::Sequence;

/// Bytes of endings that may accumulate before pages are rewritten: some thousands of endings.
const GATHERED_BYTES: usize = 64 << 10;
/// Additional bytes for each user: with many users who have long-lived orders, few endings share a
/// page.
const GATHERED_BYTES_A_USER: usize = 4 << 10;
/// Upper bound on both, except while the endings of one large record are being moved.
const GATHERED_BYTES_MAX: usize = 8 << 20;
/// Upper bound for one user: a query for one of the user's final orders copies them.
const OWN_BYTES_MAX: usize = 64 << 10;
/// Pages rewritten after one record at most. A closing market may end any number of orders; their
/// pages are rewritten over the following records.
const PAGES_A_RECORD_MAX: usize = 8;

/// A user, and the number of one of the user's pages.
type Key = (UserNo, u64);

/// Packed endings by the page they belong to.
#[derive(Debug, Default)]
pub struct Late {
    pages: BTreeMap<Key, Vec<u8>>,
    bytes: usize,
    /// Bytes by user number.
    own: Vec<usize>,
    /// Users with more than [`OWN_BYTES_MAX`].
    over_limit: BTreeSet<UserNo>,
}

impl Late {
    /// Adds an ending, which `pack` appends to the buffer it gets.
    pub(super) fn add(&mut self, user: UserNo, page: u64, pack: impl FnOnce(&mut Vec<u8>)) {
        let endings = self.pages.entry((user, page)).or_default();
        let before = endings.len();
        pack(endings);
        let added = endings.len().saturating_sub(before);
        self.bytes = self.bytes.saturating_add(added);
        if self.own.len() <= user.index() {
            self.own.resize(user.index().saturating_add(1), 0);
        }
        if let Some(own) = self.own.get_mut(user.index()) {
            *own = own.saturating_add(added);
            if *own > OWN_BYTES_MAX {
                self.over_limit.insert(user);
            }
        }
    }

    /// A user's endings, by page.
    pub(super) fn of(&self, user: UserNo) -> impl Iterator<Item = (u64, &Vec<u8>)> {
        let own = self.pages.range((user, 0)..=(user, u64::MAX));
        own.map(|((_, page), endings)| (*page, endings))
    }

    /// How many pages to rewrite after a record, in a venue with this many users: the more bytes
    /// are over the limit, the more pages.
    pub(super) fn due(&self, users: usize) -> usize {
        let room = users.saturating_mul(GATHERED_BYTES_A_USER).saturating_add(GATHERED_BYTES);
        let beyond = self.bytes.checked_sub(room.min(GATHERED_BYTES_MAX));
        let beyond = beyond.map_or(0, |bytes| (bytes / GATHERED_BYTES).saturating_add(1));
        beyond.max(self.over_limit.len()).min(PAGES_A_RECORD_MAX)
    }

    /// Removes and returns the endings of one page. The choice depends only on the record and the
    /// state here: first a user over the limit; otherwise each record starts at another user, so
    /// that every user's endings wait equally long.
    pub(super) fn take(&mut self, after: Sequence, users: usize) -> Option<(Key, Vec<u8>)> {
        let users = u64::try_from(users).unwrap_or(u64::MAX);
        let first_user = after.get().checked_rem(users).and_then(|user| u32::try_from(user).ok());
        let user = self.over_limit.first().copied().unwrap_or(UserNo(first_user.unwrap_or(0)));
        let next = self.pages.range((user, 0)..).next().or_else(|| self.pages.first_key_value());
        let (key, endings) = self.pages.remove_entry(&next.map(|(key, _)| *key)?)?;
        self.bytes = self.bytes.saturating_sub(endings.len());
        if let Some(own) = self.own.get_mut(key.0.index()) {
            *own = own.saturating_sub(endings.len());
            if *own <= OWN_BYTES_MAX {
                self.over_limit.remove(&key.0);
            }
        }
        Some((key, endings))
    }

    pub(super) fn write(&self, sink: &mut impl ImageSink) {
        write_count(self.pages.len(), sink);
        for ((user, page), endings) in &self.pages {
            user.write(sink);
            page.write(sink);
            write_bytes(endings, sink);
        }
    }

    /// Reads what `write` wrote.
    pub(super) fn read(sizes: Sizes, source: &mut impl ImageSource) -> Result<Late, BadImage> {
        let (mut late, mut before) = (Late::default(), None);
        for _ in 0..read_count(source)? {
            let (user, page) = (UserNo::read(source)?, u64::read(source)?);
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
#[path = "../../../tests/unit/views/orders/late.rs"]
mod tests;
