//! A stream that fails writes which make no progress for too long.
//!
//! hyper limits only the wait for requests; without this, a client that never reads its answer
//! would hold its connection slot for ever.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Vectored writes, head and body, are combined into one buffer up to this size: the system call is
/// cheaper for one buffer, and the copy of a usual answer costs less than that saves.
const COMBINED_BYTES_MAX: usize = 4096;

thread_local! {
    /// This thread's buffer for combined writes.
    static COMBINED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A stream whose writes fail after waiting for too long.
pub struct WriteTimeout<S> {
    stream: S,
    wait: Duration,
    /// Runs while a write makes no progress.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    /// Wraps `stream`; a write may wait at most `wait` for progress.
    pub const fn new(stream: S, wait: Duration) -> WriteTimeout<S> {
        WriteTimeout { stream, wait, timer: None }
    }

    /// Returns the stream's result, or `TimedOut` once the wait is over.
    fn timed<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.timer = None;
            return written;
        }
        let wait = self.wait;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(wait)));
        timer.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.timed(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bytes = bufs.iter().fold(0_usize, |bytes, buf| bytes.saturating_add(buf.len()));
        let stream = Pin::new(&mut self.stream);
        let written = if bytes > COMBINED_BYTES_MAX {
            stream.poll_write_vectored(cx, bufs)
        } else {
            COMBINED.with_borrow_mut(|combined| {
                combined.clear();
                for buf in bufs {
                    combined.extend_from_slice(buf);
                }
                stream.poll_write(cx, combined)
            })
        };
        self.timed(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.timed(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.timed(cx, closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::runtime::Builder;

    #[test]
    fn a_reader_that_does_not_read_is_given_up_and_one_that_does_is_not() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (near, mut far) = duplex(4);
            let mut near = WriteTimeout::new(near, Duration::from_millis(1));
            let error = near.write_all(b"more than fits").await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);

            let mut near = WriteTimeout::new(near.stream, Duration::from_mins(1));
            let mut read = [0_u8; 12];
            let (written, taken) =
                tokio::join!(near.write_all(b"12345678"), far.read_exact(&mut read));
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
                let mut near = WriteTimeout::new(near, Duration::from_mins(1));
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
}
