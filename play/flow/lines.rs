//! Reads lines from a file or from bytes, plain or gzip by content, one line of bounded length at a
//! time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::marker::PhantomData;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::rows::Row;
use super::{FlowError, LineNo};

/// Longest line, in bytes. The longest real one is a book of 99 levels a side, under 8 KiB.
pub const LINE_BYTES_MAX: u64 = 64 * 1024;

/// The first two bytes of every gzip member (RFC 1952 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Lines to be read.
pub struct Source(Box<dyn BufRead + Send>);

impl Source {
    /// The lines of a file.
    ///
    /// # Errors
    /// [`FlowError::Open`].
    pub fn open(path: &Path) -> Result<Source, FlowError> {
        let named = |cause| FlowError::Open { path: path.display().to_string(), cause };
        File::open(path).and_then(|file| unpacked(BufReader::new(file))).map_err(named)
    }

    /// The lines of bytes in memory, such as a file embedded in the binary.
    pub fn bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Source {
        // Reading the first bytes of a slice cannot fail.
        unpacked(Cursor::new(bytes)).unwrap_or_else(|_| Source(Box::new(io::empty())))
    }

    /// The rows of the lines, in order, each with its line number.
    pub fn rows<T: Row>(self) -> Rows<T> {
        Rows { source: self.0, line: LineNo(0), ended: false, text: Vec::new(), row: PhantomData }
    }
}

/// Detects gzip by the first bytes, not by the file name.
fn unpacked(mut plain: impl BufRead + Send + 'static) -> io::Result<Source> {
    Ok(if plain.fill_buf()?.starts_with(&GZIP_MAGIC) {
        Source(Box::new(BufReader::new(MultiGzDecoder::new(plain))))
    } else {
        Source(Box::new(plain))
    })
}

/// An iterator over the rows of a [`Source`]; it ends after the first error.
pub struct Rows<T> {
    source: Box<dyn BufRead + Send>,
    line: LineNo,
    ended: bool,
    text: Vec<u8>,
    row: PhantomData<fn() -> T>,
}

impl<T: Row> Rows<T> {
    fn read(&mut self) -> Result<Option<(LineNo, T)>, FlowError> {
        self.line = LineNo(self.line.0.saturating_add(1));
        let line = self.line;
        self.text.clear();
        let mut bounded = self.source.by_ref().take(LINE_BYTES_MAX + 1);
        let count = bounded
            .read_until(b'\n', &mut self.text)
            .map_err(|cause| FlowError::Read { line, cause })?;
        if count == 0 {
            return Ok(None);
        }
        if self.text.len() as u64 > LINE_BYTES_MAX {
            return Err(FlowError::LongLine { line });
        }
        T::read(line, &self.text).map(|row| Some((line, row)))
    }
}

impl<T: Row> Iterator for Rows<T> {
    type Item = Result<(LineNo, T), FlowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

#[cfg(test)]
#[path = "../../tests/unit/flow/lines.rs"]
mod tests;
