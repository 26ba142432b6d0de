//! Unit tests of `src/http/packing.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;

/// A worker compresses short bodies itself, and goes on with other work meanwhile otherwise.
#[tokio::test]
async fn long_bodies_are_compressed_elsewhere() {
    for (bytes, here) in [(PACKED_AT_ONCE_BYTES_MAX, true), (PACKED_AT_ONCE_BYTES_MAX + 1, false)] {
        let body = Bytes::from(vec![b'x'; bytes]);
        let mut packing = pin!(packed(Response::new(Content::Whole(body.clone()))));
        // Whoever compresses elsewhere waits for a turn, however fast that thread is.
        let turn = PACKING.acquire().await.unwrap();
        let first = packing.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(turn);
        let response = match first {
            Poll::Ready(response) => {
                assert!(here, "{bytes} bytes took the worker's time");
                response
            }
            Poll::Pending => packing.await,
        };
        assert_eq!(response.headers().get(CONTENT_ENCODING), Some(&GZIP));
        let Content::Whole(packed) = response.into_body() else { panic!("it is whole") };
        let mut plain = Vec::new();
        io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*packed), &mut plain).unwrap();
        assert_eq!(plain, body);
    }
}
