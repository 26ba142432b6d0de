//! Packing: large answers in gzip, for clients that ask for it. Answers are `no-store`, so no cache
//! stands between that would have to be told what varies.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::Response;
use hyper::header::{CONTENT_ENCODING, HeaderValue};

/// Smallest body that is packed: a network sends less in a moment, whatever it is.
const PACKED_BYTES_MIN: usize = 8 * 1024;
/// Largest body that is packed while other connections of the lane wait: a millisecond's work.
const PACKED_AT_ONCE_BYTES_MAX: usize = 128 * 1024;

/// The answer packed, if its client takes gzip and it is worth it.
pub async fn packed(response: Response<Bytes>, takes_gzip: bool) -> Response<Bytes> {
    let bytes = response.body().len();
    let plain = !response.headers().contains_key(CONTENT_ENCODING);
    if !takes_gzip || !plain || bytes < PACKED_BYTES_MIN {
        return response;
    }
    let body = response.body().clone();
    let packed = if bytes <= PACKED_AT_ONCE_BYTES_MAX {
        gzip(&body)
    } else {
        let packing = tokio::task::spawn_blocking(move || gzip(&body)).await;
        packing.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into()))
    };
    // Not packed, it is as true.
    let Ok(packed) = packed else { return response };
    let mut response = response.map(|_| Bytes::from(packed));
    response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response
}

fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    packed.write_all(body)?;
    packed.finish()
}
