//! The image of the read model: its state as flat bytes, so that a start need not fold the whole
//! journal.

use std::io::{self, BufReader, BufWriter, Read, Write};

use super::ReadModel;
use super::history::History;
use super::orders::Orders;
use super::saved::{Saved, Sink, Sizes, Source, hold, saved};
use super::search::Search;
use exchange::image::coding::{BadImage, read_end};

/// Version of the image format, and of the pages that an image refers to; must change with their
/// content or field order.
pub const IMAGE_VERSION: u32 = 8;
/// Bytes written or read at once.
const BLOCK_BYTES: usize = 64 << 10;

saved!(ReadModel {
    watermark,
    time,
    faults,
    accounts,
    sign_ins,
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
    answers,
    changes,
} made { search });

impl Saved for Orders {
    fn save(&self, sink: &mut Sink<'_>) {
        self.write(sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        Orders::read(source.history.clone(), source.sizes, source)
    }
}

impl ReadModel {
    /// Writes the whole model except for the pages in history. Writes in blocks, so `out` needs no
    /// buffer.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn write_image(&self, out: &mut impl Write) -> io::Result<()> {
        let out = BufWriter::with_capacity(BLOCK_BYTES, out as &mut dyn Write);
        let mut sink = Sink { out, failed: Ok(()) };
        IMAGE_VERSION.save(&mut sink);
        self.sizes().save(&mut sink);
        self.save(&mut sink);
        let Sink { mut out, failed } = sink;
        failed.and_then(|()| out.flush())
    }

    /// Reads a model written by [`write_image`](ReadModel::write_image), up to the end of `from`.
    /// The model behaves like the one written, provided `history` holds that one's pages with the
    /// same page length. Reads in blocks, so `from` needs no buffer.
    ///
    /// # Errors
    /// [`BadImage`] if the bytes are not a valid image, or `from` cannot be read.
    pub fn read_image(from: &mut impl Read, history: &History) -> Result<ReadModel, BadImage> {
        let from = BufReader::with_capacity(BLOCK_BYTES, from as &mut dyn Read);
        let mut source = Source { from, sizes: Sizes::default(), history: history.clone() };
        let version = u32::load(&mut source)?;
        if version != IMAGE_VERSION {
            return Err(BadImage::Version(version));
        }
        source.sizes = Sizes::load(&mut source)?;
        let rows = source.history.rows_per_page();
        hold(source.sizes.rows_per_page == rows, "pages of another length")?;
        let model = ReadModel::load(&mut source)?;
        read_end(&mut source)?;
        let search = Search::of(&model.catalogue);
        Ok(ReadModel { search, ..model })
    }
}
