//! The history store: rows of fixed formats that grow with history and can be read again, kept in
//! numbered pages.
//!
//! Rows of one kind and one owner form a stream. Its newest rows stay packed in memory; when a page
//! is full and one more row arrives, the page goes to storage under its number, so a row's page is
//! its index divided by the page length. The pages depend only on the folded records: a replay
//! writes the same pages again, which is harmless.

pub(super) mod chain;
pub mod onward;
pub(super) mod stream;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError, RwLock};

use self::stream::{Row, Streams, Tail};
use super::saved::{Saved, Sink, Source};
use super::table::Number;
use exchange::ids::{MarketNo, TOKEN_BYTES_MAX, Token, UserNo};
use exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged};
use exchange::units::{Lots, Money, MoneySum, Sequence, TimeMs};

/// Rows per page. A page takes some hundred to a thousand bytes: about what one request reads, and
/// small enough that the newest rows of every user fit in memory.
pub const ROWS_PER_PAGE: NonZeroU32 = NonZeroU32::MIN.saturating_add(63);

/// What a page holds, and whether its owner is a user or a market. The numbers are written to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A user's orders.
    Orders = 1,
    /// A user's fills.
    Fills = 2,
    /// A user's changes of money.
    Changes = 3,
    /// Payments to a user from settled markets.
    Settlements = 4,
    /// What happened in a market.
    Activity = 5,
    /// A market's trades.
    Trades = 6,
    /// The names of a user's orders.
    Names = 7,
    /// The minute candles of a market; minutes without trades have none.
    Minutes = 8,
    /// The hour candles of a market; hours without trades have none.
    Hours = 9,
    /// What a user held to the end of a market.
    Positions = 10,
    /// For each user, the newest orders and fills in a market that has ended.
    Traders = 11,
    /// What a user realised in ended markets of which nothing was held to the end.
    Closed = 12,
    /// Endings of a user's orders that came after the page of the orders was written.
    Endings = 13,
    /// A user's equity as time passed.
    Equity = 14,
    /// What became of records that did not do what they asked for; the venue's.
    Verdicts = 15,
}

/// The key of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageKey {
    /// What the page holds.
    pub kind: Kind,
    /// Number of the user or market.
    pub owner: u32,
    /// Number of the page in the owner's stream.
    pub page: u64,
}

/// Bytes of a page's key.
pub const KEY_BYTES: usize = 13;

impl PageKey {
    /// The key as bytes, which sort in the same order as keys.
    pub fn bytes(self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        let (owner, page) = (self.owner.to_be_bytes(), self.page.to_be_bytes());
        let parts = [self.kind as u8].into_iter().chain(owner).chain(page);
        for (to, from) in bytes.iter_mut().zip(parts) {
            *to = from;
        }
        bytes
    }
}

/// Why a part of history cannot be read. The codes are stable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// A page that was written is not in storage.
    #[error("HISTORY_MISSING: {0:?} is not there")]
    Missing(PageKey),
    /// A page does not decode.
    #[error("HISTORY_DAMAGED: {key:?}: {cause}")]
    Damaged {
        /// The page.
        key: PageKey,
        /// What is wrong with it.
        cause: BadImage,
    },
    /// Storage cannot be read.
    #[error("HISTORY_UNREADABLE: {key:?}: {cause}")]
    Unreadable {
        /// The page that was requested.
        key: PageKey,
        /// The error of the storage.
        cause: String,
    },
}

/// The storage that a read model writes its pages to, and the page length.
#[derive(Debug, Clone)]
pub struct History {
    storage: Arc<dyn PageStorage>,
    rows: NonZeroU32,
}

impl Default for History {
    fn default() -> History {
        History::on(Arc::new(MemoryPages::default()))
    }
}

impl History {
    /// Pages of the standard length in this storage.
    pub fn on(storage: Arc<dyn PageStorage>) -> History {
        History { storage, rows: ROWS_PER_PAGE }
    }

    /// Discards all pages: for a read model that is only folded and never queried.
    pub fn discarding() -> History {
        History::on(Arc::new(NoPages))
    }

    /// The same pages, only to be read: for a read model that is folded again behind the one that
    /// puts them, and makes the same.
    #[must_use]
    pub fn read_only(&self) -> History {
        History { storage: Arc::new(ReadOnly(Arc::clone(&self.storage))), rows: self.rows }
    }

    /// The same storage with pages of this length, in rows.
    #[must_use]
    pub fn paged(self, rows: NonZeroU32) -> History {
        History { rows, ..self }
    }

    /// Rows of a page.
    pub const fn rows_per_page(&self) -> u64 {
        self.rows.get() as u64
    }

    pub(super) fn put(&self, key: PageKey, bytes: Vec<u8>) {
        self.storage.put(key, bytes);
    }

    pub(super) fn get(&self, key: PageKey) -> Result<Vec<u8>, HistoryError> {
        let found = self.storage.get(key);
        let found = found.map_err(|cause| HistoryError::Unreadable { key, cause });
        let page = found.and_then(|found| found.ok_or(HistoryError::Missing(key)));
        page.inspect_err(|error| self.storage.failed(error))
    }

    /// Whether a page is there with these bytes, for who makes the pages again to compare them.
    pub fn has(&self, key: PageKey, bytes: &[u8]) -> bool {
        self.storage.get(key).is_ok_and(|found| found.as_deref() == Some(bytes))
    }

    /// Whether pages written here can be read again because they were written here.
    pub(super) fn keeps(&self) -> bool {
        self.storage.keeps()
    }

    pub(super) fn failed(&self, error: &HistoryError) {
        self.storage.failed(error);
    }
}

// Streams in the read model's image.

/// A row of a stream of which the model holds the newest.
pub(crate) trait Refers: Row {
    /// What the streams belong to.
    type Owner: Number;

    /// The user and the market that the row refers to.
    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>);
}

impl<R: Refers> Saved for Streams<R> {
    fn save(&self, sink: &mut Sink<'_>) {
        self.write(sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        let sizes = source.sizes;
        let owners = R::Owner::count(sizes);
        let check = |row: &R| {
            let (user, market) = row.refers();
            user.map_or(Ok(()), |user| sizes.has_user(user))?;
            market.map_or(Ok(()), |market| sizes.has_market(market))
        };
        let check = |rows: &[R]| rows.iter().try_for_each(check);
        Streams::read(source.history.clone(), owners, source, check)
    }
}

impl<R: Row> Saved for Tail<R> {
    fn save(&self, sink: &mut Sink<'_>) {
        self.write(sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        let rows = source.sizes.rows_per_page;
        Tail::read(rows, source).map(|(tail, _)| tail)
    }
}

// Page storage: in memory, or none. The storage on disk implements [`PageStorage`] elsewhere.

/// Stores pages. Each is written once and whole; a replay writes the same again. A page can be read
/// as soon as `put` has returned.
pub trait PageStorage: fmt::Debug + Send + Sync {
    /// Writes a page. A failure is kept and reported when the caller asks whether everything is on
    /// disk; until then the page is missing, and a restart writes it again.
    fn put(&self, key: PageKey, bytes: Vec<u8>);

    /// A page as it was written; `None` if there is none.
    ///
    /// # Errors
    /// The storage cannot be read; says why.
    fn get(&self, key: PageKey) -> Result<Option<Vec<u8>>, String>;

    /// Records that a page could not be read or changed.
    fn failed(&self, error: &HistoryError);

    /// Whether pages written here can be read again because they were written here.
    fn keeps(&self) -> bool {
        true
    }
}

/// Keeps pages in memory: for tools and tests.
#[derive(Debug, Default)]
pub struct MemoryPages(RwLock<BTreeMap<PageKey, Box<[u8]>>>);

impl MemoryPages {
    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// For tests: changes a page, or removes it if `spoil` returns `None`.
    pub fn spoil(&self, key: PageKey, spoil: impl FnOnce(Box<[u8]>) -> Option<Box<[u8]>>) {
        let mut pages = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(page) = pages.remove(&key).and_then(spoil) {
            pages.insert(key, page);
        }
    }

    /// The keys of all pages.
    pub fn keys(&self) -> Vec<PageKey> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }
}

impl PageStorage for MemoryPages {
    fn put(&self, key: PageKey, bytes: Vec<u8>) {
        let mut pages = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let page: Box<[u8]> = bytes.into();
        debug_assert!(pages.get(&key).is_none_or(|there| *there == page), "{key:?} written twice");
        pages.insert(key, page);
    }

    fn get(&self, key: PageKey) -> Result<Option<Vec<u8>>, String> {
        let pages = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Ok(pages.get(&key).map(|page| page.to_vec()))
    }

    fn failed(&self, _: &HistoryError) {}
}

/// Discards all pages.
#[derive(Debug)]
struct NoPages;

impl PageStorage for NoPages {
    fn put(&self, _: PageKey, _: Vec<u8>) {}

    fn get(&self, _: PageKey) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }

    fn failed(&self, _: &HistoryError) {}

    fn keeps(&self) -> bool {
        false
    }
}

/// Another's pages, of which none is put here.
#[derive(Debug)]
pub(super) struct ReadOnly(pub Arc<dyn PageStorage>);

impl PageStorage for ReadOnly {
    fn put(&self, _: PageKey, _: Vec<u8>) {}

    fn get(&self, key: PageKey) -> Result<Option<Vec<u8>>, String> {
        self.0.get(key)
    }

    fn failed(&self, error: &HistoryError) {
        self.0.failed(error);
    }

    fn keeps(&self) -> bool {
        false
    }
}

// Compact packing of rows. Each field is spelled once, for both ways: a [`Coder`] gets the value
// when it packs, and returns what it packed or read. Numbers close to those of the row before take
// a byte or two. Every number has exactly one encoding; any other is refused when read.

/// Bits of a number in a byte.
const BITS: u32 = 7;
/// Set in every byte of a number but its last.
const MORE: u8 = 1 << BITS;

/// Packs or reads the fields of a row in turn. Each method takes the value when packing, nothing
/// when reading, and returns the value.
pub trait Coder: Sized {
    /// A number, seven bits per byte, lowest bits first.
    fn wide(&mut self, number: Option<u128>) -> Result<u128, BadImage>;

    /// The same of at most 64 bits.
    fn number(&mut self, number: Option<u64>) -> Result<u64, BadImage>;

    /// A value in its image's form.
    fn imaged<T: Imaged + Copy>(&mut self, value: Option<T>) -> Result<T, BadImage>;

    /// A client order id.
    fn token(&mut self, token: Option<Token>) -> Result<Token, BadImage>;

    /// A number of at most 32 bits.
    fn short(&mut self, number: Option<u32>) -> Result<u32, BadImage> {
        let number = self.number(number.map(u64::from))?;
        u32::try_from(number).map_err(|_| BadImage::Value("number"))
    }

    /// A number as the difference to the one before.
    fn from(&mut self, before: u64, number: Option<u64>) -> Result<u64, BadImage> {
        let further = number.map(|number| number.wrapping_sub(before).cast_signed());
        let further = further.map(|number| folded(number).cast_unsigned());
        Ok(before.wrapping_add(unfolded(self.number(further)?).cast_unsigned()))
    }

    /// A market.
    fn market(&mut self, market: Option<MarketNo>) -> Result<MarketNo, BadImage> {
        self.short(market.map(|market| market.0)).map(MarketNo)
    }

    /// A quantity.
    fn lots(&mut self, lots: Option<Lots>) -> Result<Lots, BadImage> {
        self.number(lots.map(Lots::get)).map(Lots::new)
    }

    /// A sequence number as the difference to the one before.
    fn sequence(
        &mut self,
        before: Sequence,
        sequence: Option<Sequence>,
    ) -> Result<Sequence, BadImage> {
        self.from(before.get(), sequence.map(Sequence::get)).map(Sequence::new)
    }

    /// A time as the difference to the one before.
    fn time(&mut self, before: TimeMs, time: Option<TimeMs>) -> Result<TimeMs, BadImage> {
        let ms = time.map(|time| time.get().cast_unsigned());
        let ms = self.from(before.get().cast_unsigned(), ms)?.cast_signed();
        TimeMs::new(ms).ok_or(BadImage::Value("TimeMs"))
    }

    /// A signed amount of money.
    fn money(&mut self, money: Option<Money>) -> Result<Money, BadImage> {
        let ms = self.from(0, money.map(|money| money.get().cast_unsigned()))?;
        Ok(Money::new(ms.cast_signed()))
    }

    /// A signed sum of money.
    fn sum(&mut self, sum: Option<MoneySum>) -> Result<MoneySum, BadImage> {
        let folded =
            sum.map(|sum| (sum.get() << 1 ^ sum.get() >> (i128::BITS - 1)).cast_unsigned());
        let folded = self.wide(folded)?;
        let half = (folded >> 1).cast_signed();
        Ok(MoneySum::new(if folded & 1 == 0 { half } else { !half }))
    }
}

/// Small magnitudes become small numbers.
const fn folded(number: i64) -> i64 {
    number.wrapping_shl(1) ^ (number >> (i64::BITS - 1))
}

const fn unfolded(folded: u64) -> i64 {
    let half = (folded >> 1).cast_signed();
    if folded & 1 == 0 { half } else { !half }
}

/// Packs into a sink.
pub struct Packing<'a, S>(pub &'a mut S);

/// Without a value, nothing can be packed.
const NOTHING: BadImage = BadImage::Value("nothing");

impl<S: ImageSink> Coder for Packing<'_, S> {
    fn wide(&mut self, number: Option<u128>) -> Result<u128, BadImage> {
        let number = number.ok_or(NOTHING)?;
        let mut rest = number;
        loop {
            if let Ok(short) = u64::try_from(rest) {
                self.number(Some(short))?;
                return Ok(number);
            }
            let [low, ..] = rest.to_le_bytes();
            self.0.put(&[low | MORE]);
            rest >>= BITS;
        }
    }

    #[inline]
    fn number(&mut self, number: Option<u64>) -> Result<u64, BadImage> {
        let number = number.ok_or(NOTHING)?;
        let (mut bytes, mut rest, mut length) = ([0; 10], number, 0);
        for byte in &mut bytes {
            let [low, ..] = rest.to_le_bytes();
            (length, rest) = (length + 1, rest >> BITS);
            *byte = if rest > 0 { low | MORE } else { low & !MORE };
            if rest == 0 {
                break;
            }
        }
        self.0.put(bytes.get(..length).unwrap_or(&bytes));
        Ok(number)
    }

    #[inline]
    fn imaged<T: Imaged + Copy>(&mut self, value: Option<T>) -> Result<T, BadImage> {
        let value = value.ok_or(NOTHING)?;
        value.write(self.0);
        Ok(value)
    }

    fn token(&mut self, token: Option<Token>) -> Result<Token, BadImage> {
        let token = token.ok_or(NOTHING)?;
        self.number(Some(token.as_str().len() as u64))?;
        self.0.put(token.as_str().as_bytes());
        Ok(token)
    }
}

/// Reads what [`Packing`] packed.
pub struct Unpacking<'a, S>(pub &'a mut S);

impl<S: ImageSource> Coder for Unpacking<'_, S> {
    fn wide(&mut self, _: Option<u128>) -> Result<u128, BadImage> {
        let (mut number, mut shift, mut byte) = (0_u128, 0, [0]);
        loop {
            self.0.fill(&mut byte)?;
            let [byte] = byte;
            let bits = u128::from(byte & !MORE);
            let shifted = bits.checked_shl(shift).filter(|shifted| *shifted >> shift == bits);
            number |= shifted.ok_or(BadImage::Value("number"))?;
            shift += BITS;
            if byte & MORE == 0 {
                // A last byte of zero is redundant.
                let shortest = byte != 0 || shift == BITS;
                return shortest.then_some(number).ok_or(BadImage::Value("number"));
            }
        }
    }

    #[inline]
    fn number(&mut self, _: Option<u64>) -> Result<u64, BadImage> {
        u64::try_from(self.wide(None)?).map_err(|_| BadImage::Value("number"))
    }

    #[inline]
    fn imaged<T: Imaged + Copy>(&mut self, _: Option<T>) -> Result<T, BadImage> {
        T::read(self.0)
    }

    fn token(&mut self, _: Option<Token>) -> Result<Token, BadImage> {
        let length = usize::try_from(self.number(None)?).map_err(|_| BadImage::Truncated)?;
        let mut bytes = [0; TOKEN_BYTES_MAX];
        let text = bytes.get_mut(..length).ok_or(BadImage::Value("Token"))?;
        self.0.fill(text)?;
        let token = str::from_utf8(text).ok().and_then(Token::new);
        token.ok_or(BadImage::Value("Token"))
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/views/history/pack.rs"]
mod tests;
