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
#[path = "../../tests/unit/http/write_timeout.rs"]
mod tests;
