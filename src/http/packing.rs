//! Compresses large answers with gzip for clients that accept it. Answers are `no-store`, so no
//! cache needs a `Vary` header.

use std::fmt;
use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::Response;
use hyper::header::{CONTENT_ENCODING, ETAG, HeaderMap, HeaderValue};
use tokio::sync::Semaphore;

use super::listed::{Content, Listed};
use super::media;
use super::packed::{Packed, gzip};
use super::preconditions::GZIP_SUFFIX;
use super::reply::Reply;
use exchange::units::Sequence;

/// The `Content-Encoding` of a gzipped body.
pub const GZIP: HeaderValue = HeaderValue::from_static("gzip");
/// Smallest body that is compressed: smaller ones are sent in an instant anyway.
const PACKED_BYTES_MIN: usize = 8 * 1024;
/// Largest body that is compressed on the worker's own thread, while its other connections wait:
/// some tenths of a millisecond.
const PACKED_AT_ONCE_BYTES_MAX: usize = 16 * 1024;
/// Longer bodies that are compressed at the same time, by all workers: others wait, so that
/// compressing takes no more than one core from those who trade.
const PACKING_MAX: usize = 1;

static PACKING: Semaphore = Semaphore::const_new(PACKING_MAX);

impl Packed {
    /// The answer, in the encoding that the client accepts.
    pub fn reply(&self, sequence: Sequence, media: &'static str, headers: &HeaderMap) -> Reply {
        let gzipped = media::takes_gzip(headers);
        Reply { gzipped, ..Reply::text(sequence, media, self.body(gzipped)) }
    }
}

/// A list that is compressed piece by piece, as its reader takes it.
pub struct PackedList {
    list: Listed,
    /// `None` once the list is complete.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl PackedList {
    pub(super) fn new(list: Listed) -> PackedList {
        let encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
        PackedList { list, encoder }
    }

    /// Compresses the next piece of the list. Returns what came of it, which may be nothing yet;
    /// `None` at the end. Work is counted by what goes in: a list of similar rows gives few bytes.
    pub(super) fn piece(&mut self) -> io::Result<Option<Bytes>> {
        let Some(mut encoder) = self.encoder.take() else { return Ok(None) };
        let Some(piece) = self.list.piece()? else {
            return encoder.finish().map(|rest| Some(Bytes::from(rest)));
        };
        encoder.write_all(&piece)?;
        let packed = std::mem::take(encoder.get_mut());
        self.encoder = Some(encoder);
        Ok(Some(Bytes::from(packed)))
    }

    /// The list itself.
    pub(super) const fn list_mut(&mut self) -> &mut Listed {
        &mut self.list
    }

    /// The list itself, to look at.
    #[cfg(test)]
    pub(super) const fn list(&self) -> &Listed {
        &self.list
    }

    /// Whether everything was returned.
    pub(super) const fn is_at_end(&self) -> bool {
        self.encoder.is_none()
    }
}

impl fmt::Debug for PackedList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackedList").field("list", &self.list).finish_non_exhaustive()
    }
}

/// Compresses the answer if it is worth it, for a client that accepts gzip.
pub async fn packed(response: Response<Content>) -> Response<Content> {
    if response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let body = match body {
        Content::Whole(all) if all.len() < PACKED_BYTES_MIN => Err(Content::Whole(all)),
        // If compression fails, send it plain.
        Content::Whole(all) => match gzip_apart(&all).await {
            Ok(packed) => Ok(Content::Whole(Bytes::from(packed))),
            Err(_) => Err(Content::Whole(all)),
        },
        Content::Listed(list) => Ok(Content::Packed(Box::new(PackedList::new(*list)))),
        // Events would wait in the compressor for those after them.
        body @ (Content::Packed(_) | Content::Events(_)) => Err(body),
    };
    let body = body.map_or_else(
        |plain| plain,
        |packed| {
            head.headers.insert(CONTENT_ENCODING, GZIP);
            suffix_tag(&mut head.headers);
            packed
        },
    );
    Response::from_parts(head, body)
}

/// Tells the tag of a compressed answer from that of the plain one.
fn suffix_tag(headers: &mut HeaderMap) {
    let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()?.strip_suffix('"'));
    let suffixed = tag.map(|tag| format!("{tag}{GZIP_SUFFIX}\"").parse());
    if let Some(Ok(tag)) = suffixed {
        headers.insert(ETAG, tag);
    }
}

/// Compresses a short body here and a long one on a blocking thread.
async fn gzip_apart(body: &Bytes) -> io::Result<Vec<u8>> {
    if body.len() <= PACKED_AT_ONCE_BYTES_MAX {
        return gzip(body, Compression::fast());
    }
    // The semaphore is never closed.
    let _turn = PACKING.acquire().await.ok();
    let body = body.clone();
    let packing = tokio::task::spawn_blocking(move || gzip(&body, Compression::fast())).await;
    packing.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into()))
}

#[cfg(test)]
#[path = "../../tests/unit/http/packing.rs"]
mod tests;
