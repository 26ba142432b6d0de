//! The image of the read model: all its rows as flat bytes, so that a start need not fold the whole
//! journal. Secondary indexes are not written but rebuilt while reading.

use std::io::{self, Read, Write};

use super::ReadModel;
use super::accounts::Accounts;
use super::activity::Activity;
use super::catalogue::Catalogue;
use super::changes::Changes;
use super::closed::Closed;
use super::depth::Depth;
use super::fault::Faults;
use super::history::History;
use super::orders::Orders;
use super::performance::Performance;
use super::positions::Positions;
use super::responses::StoredResponses;
use super::search::Search;
use super::settlements::Settlements;
use super::statements::Statements;
use super::tape::Tape;
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged, read_end};

/// Version of the image format, and of the pages that an image refers to; must change with their
/// content or field order.
pub const IMAGE_VERSION: u32 = 4;
/// Bytes written or read at once.
const PAGE_BYTES: usize = 64 << 10;

impl ReadModel {
    /// Writes the whole model except for the pages in history. Writes in blocks, so `out` needs no
    /// buffer.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn write_image(&self, out: &mut impl Write) -> io::Result<()> {
        let mut sink = PagedSink { out, page: Vec::with_capacity(PAGE_BYTES), failed: Ok(()) };
        self.write(&mut sink);
        sink.flush_block();
        sink.failed
    }

    /// Reads a model written by [`write_image`](ReadModel::write_image), up to the end of `from`.
    /// The model behaves like the one written, provided `history` holds that one's pages with the
    /// same page length. Reads in blocks, so `from` needs no buffer. Memory is allocated as rows
    /// arrive, never for a claimed length alone.
    ///
    /// # Errors
    /// [`BadImage`] if the bytes are not a valid image, or `from` cannot be read.
    pub fn read_image(from: &mut impl Read, history: &History) -> Result<ReadModel, BadImage> {
        let page = vec![0; PAGE_BYTES].into_boxed_slice();
        let mut source = PagedSource { from, page, next: 0, end: 0 };
        let model = ReadModel::read(&mut source, history)?;
        read_end(&mut source)?;
        Ok(model)
    }

    fn write(&self, sink: &mut impl ImageSink) {
        let ReadModel {
            accounts,
            catalogue,
            depth,
            orders,
            positions,
            closed,
            activity,
            statements,
            settlements,
            performance,
            tape,
            // Rebuilt from the catalogue.
            search: _,
            answers,
            // No reader has cached anything from a model just read.
            changes: _,
            watermark,
            time,
            faults,
        } = self;
        IMAGE_VERSION.write(sink);
        watermark.write(sink);
        time.write(sink);
        faults.count().write(sink);
        orders.rows_per_page().write(sink);
        accounts.write(sink);
        catalogue.write(sink);
        depth.write(sink);
        orders.write(sink);
        positions.write(sink);
        closed.write(sink);
        activity.write(sink);
        statements.write(sink);
        settlements.write(sink);
        performance.write(sink);
        tape.write(sink);
        answers.write(sink);
    }

    fn read(source: &mut impl ImageSource, history: &History) -> Result<ReadModel, BadImage> {
        let version = u32::read(source)?;
        if version != IMAGE_VERSION {
            return Err(BadImage::Version(version));
        }
        let watermark = Imaged::read(source)?;
        let time = Imaged::read(source)?;
        let faults = Faults::counted(u64::read(source)?);
        hold(u64::read(source)? == history.rows_per_page(), "pages of another length")?;
        let accounts = Accounts::read(source)?;
        let catalogue = Catalogue::read(source)?;
        let sizes =
            Sizes { users: accounts.users_count(), markets: catalogue.markets_created().len() };
        let search = Search::of(&catalogue);
        Ok(ReadModel {
            accounts,
            catalogue,
            depth: Depth::read(sizes, source)?,
            orders: Orders::read(history.clone(), sizes, source)?,
            positions: Positions::read(history.clone(), sizes, source)?,
            closed: Closed::read(history.clone(), sizes, source)?,
            activity: Activity::read(history.clone(), sizes, source)?,
            statements: Statements::read(history.clone(), sizes, source)?,
            settlements: Settlements::read(history.clone(), sizes, source)?,
            performance: Performance::read(sizes, source)?,
            tape: Tape::read(history.clone(), sizes, source)?,
            search,
            answers: StoredResponses::read(source)?,
            changes: Changes::none(sizes.markets, sizes.users),
            watermark,
            time,
            faults,
        })
    }
}

/// The number of users and markets, against which references are checked. Tables with one entry for
/// each take their length from here and do not write it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Users.
    pub users: usize,
    /// Markets, including drafts.
    pub markets: usize,
}

/// A row refers to a user that does not exist.
pub(super) const NO_USER: BadImage = BadImage::Contradiction("a user that does not exist");

impl Sizes {
    /// All users.
    pub fn users(self) -> impl Iterator<Item = UserNo> {
        (0..).map(UserNo).take(self.users)
    }

    /// Checks that the user exists.
    pub fn has_user(self, user: UserNo) -> Result<(), BadImage> {
        if user.index() < self.users { Ok(()) } else { Err(NO_USER) }
    }

    /// Checks that the market exists.
    pub fn has_market(self, market: MarketNo) -> Result<(), BadImage> {
        hold(market.index() < self.markets, "a market that does not exist")
    }
}

/// Fails with `contradiction` unless `holds`.
pub(super) const fn hold(holds: bool, contradiction: &'static str) -> Result<(), BadImage> {
    if holds { Ok(()) } else { Err(BadImage::Contradiction(contradiction)) }
}

/// Implements two encodings of a row, with all its fields in this order: one with its number, for a
/// row on its own, and one without, for a table in which the number is the index. The names of
/// `coding` must be imported where the macro is used.
macro_rules! numbered {
    ($name:ident($number:ident) { $($field:ident),* $(,)? }) => {
        impl $name {
            fn write_in_table(&self, sink: &mut impl ImageSink) {
                let $name { no: _, $($field),* } = self;
                $($field.write(sink);)*
            }

            /// Reads the row at this index of its table.
            fn read_in_table(
                index: usize,
                source: &mut impl ImageSource,
            ) -> Result<Self, BadImage> {
                let no = $number::next(index).ok_or(BadImage::Value(stringify!($number)))?;
                $name::read_with(no, source)
            }

            fn read_with(no: $number, source: &mut impl ImageSource) -> Result<Self, BadImage> {
                Ok($name { no, $($field: Imaged::read(source)?),* })
            }
        }

        impl Imaged for $name {
            fn write(&self, sink: &mut impl ImageSink) {
                self.no.write(sink);
                self.write_in_table(sink);
            }

            fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
                let no = $number::read(source)?;
                $name::read_with(no, source)
            }
        }
    };
}
pub(super) use numbered;

/// Collects small writes into blocks. After a failure nothing more is written.
struct PagedSink<'a, W> {
    out: &'a mut W,
    page: Vec<u8>,
    failed: io::Result<()>,
}

impl<W: Write> PagedSink<'_, W> {
    #[cold]
    fn flush_block(&mut self) {
        if self.failed.is_ok() {
            self.failed = self.out.write_all(&self.page);
        }
        self.page.clear();
    }
}

impl<W: Write> ImageSink for PagedSink<'_, W> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if self.page.len() + bytes.len() > PAGE_BYTES {
            self.flush_block();
        }
        self.page.extend_from_slice(bytes);
    }
}

/// Serves small reads from blocks.
struct PagedSource<'a, R> {
    from: &'a mut R,
    page: Box<[u8]>,
    next: usize,
    end: usize,
}

impl<R: Read> PagedSource<'_, R> {
    /// Fills `into` from as many blocks as needed.
    #[cold]
    fn fill_over(&mut self, mut into: &mut [u8]) -> Result<(), BadImage> {
        while !into.is_empty() {
            if self.next == self.end {
                self.next_block()?;
            }
            let left = self.page.get(self.next..self.end).unwrap_or_default();
            let count = left.len().min(into.len());
            let (now, later) = into.split_at_mut(count);
            now.copy_from_slice(left.get(..count).unwrap_or_default());
            self.next += count;
            into = later;
        }
        Ok(())
    }

    fn next_block(&mut self) -> Result<(), BadImage> {
        self.next = 0;
        self.end = loop {
            match self.from.read(&mut self.page) {
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(BadImage::Unreadable(error.to_string())),
            }
        };
        if self.end == 0 { Err(BadImage::Truncated) } else { Ok(()) }
    }
}

impl<R: Read> ImageSource for PagedSource<'_, R> {
    #[inline]
    fn fill(&mut self, into: &mut [u8]) -> Result<(), BadImage> {
        let end = self.next + into.len();
        let Some(bytes) = self.page.get(self.next..end).filter(|_| end <= self.end) else {
            return self.fill_over(into);
        };
        into.copy_from_slice(bytes);
        self.next = end;
        Ok(())
    }
}
