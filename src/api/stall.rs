//! A stream whose writer is not kept waiting for ever by a reader that does not read.
//!
//! hyper bounds the wait for requests only; without this, a client that never takes its answer
//! would hold its connection's place.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream that fails when a write has stood still for too long.
pub struct Impatient<S> {
    stream: S,
    wait: Duration,
    /// Runs while a write stands still.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    /// Writes to `stream`, waiting at most `wait` for it to take something.
    pub const fn new(stream: S, wait: Duration) -> Impatient<S> {
        Impatient { stream, wait, timer: None }
    }

    /// Passes on what the stream said to a write, or that its time is over.
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

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
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
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
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
            let mut near = Impatient::new(near, Duration::from_millis(1));
            let error = near.write_all(b"more than fits").await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);

            let mut near = Impatient::new(near.stream, Duration::from_mins(1));
            let mut read = [0_u8; 12];
            let (written, taken) =
                tokio::join!(near.write_all(b"12345678"), far.read_exact(&mut read));
            assert!(written.is_ok() && taken.is_ok());
            assert_eq!(&read[4..], b"12345678");
        });
    }
}
