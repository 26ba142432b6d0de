//! Bytes that do not change while the process runs, and how they are compressed.

use std::io::{self, Read, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// A static answer, plain and gzipped. It is compressed once: requests for it need no key, so
/// they must cost almost nothing.
#[derive(Debug)]
pub struct Packed {
    plain: Bytes,
    gzip: Bytes,
}

impl Packed {
    /// Compresses it.
    ///
    /// # Errors
    /// None in practice: the buffer is in memory.
    pub fn new(plain: impl Into<Bytes>) -> io::Result<Packed> {
        let plain = plain.into();
        let gzip = gzip(&plain, Compression::best())?.into();
        Ok(Packed { plain, gzip })
    }

    /// The bytes, compressed or plain.
    pub fn body(&self, gzipped: bool) -> Bytes {
        if gzipped { self.gzip.clone() } else { self.plain.clone() }
    }
}

/// Compresses bytes.
///
/// # Errors
/// None in practice: the buffer is in memory.
pub fn gzip(body: &[u8], effort: Compression) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::with_capacity(body.len() / 4), effort);
    packed.write_all(body)?;
    packed.finish()
}

/// What compressed bytes of our own say; they are not bounded.
///
/// # Errors
/// They are not gzip.
pub fn gunzip(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut body)?;
    Ok(body)
}
