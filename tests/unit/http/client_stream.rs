//! Unit tests of `src/http/client_stream.rs`.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::Builder;

#[test]
fn a_reader_that_does_not_read_is_given_up_and_one_that_does_is_not() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (near, mut far) = duplex(4);
        let mut near = ClientStream::new(near, 0, Duration::from_millis(1), Presence::default());
        let error = near.write_all(b"more than fits").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);

        let mut near =
            ClientStream::new(near.stream, 0, Duration::from_mins(1), Presence::default());
        let mut read = [0_u8; 12];
        let (written, taken) = tokio::join!(near.write_all(b"12345678"), far.read_exact(&mut read));
        assert!(written.is_ok() && taken.is_ok());
        assert_eq!(&read[4..], b"12345678");
    });
}

#[test]
fn pieces_arrive_in_order_however_many_and_however_large_they_are() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        for piece_bytes in [1, 100, COMBINED_BYTES_MAX / 2, COMBINED_BYTES_MAX] {
            // Smaller than what is sent, so that writes are partial.
            let (near, mut far) = duplex(COMBINED_BYTES_MAX / 3);
            let mut near = ClientStream::new(near, 0, Duration::from_mins(1), Presence::default());
            let pieces: Vec<Vec<u8>> = (0..3).map(|n| vec![n; piece_bytes]).collect();
            let sends = async {
                let mut slices: Vec<_> = pieces.iter().map(|p| IoSlice::new(p)).collect();
                let mut left = slices.as_mut_slice();
                while !left.is_empty() {
                    let written = near.write_vectored(left).await.unwrap();
                    IoSlice::advance_slices(&mut left, written);
                }
                near.shutdown().await.unwrap();
            };
            let mut read = Vec::new();
            let ((), taken) = tokio::join!(sends, far.read_to_end(&mut read));
            assert_eq!((taken.unwrap(), &read), (3 * piece_bytes, &pieces.concat()));
        }
    });
}
