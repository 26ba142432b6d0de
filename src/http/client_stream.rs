//! A client's stream as hyper gets it: its input is followed (`framing.rs`), writes that make no
//! progress for too long fail, and a connection that is closed in the middle of a request is read
//! on for a while.
//!
//! hyper limits only the wait for requests; without this, a client that never reads its answer
//! would hold its connection slot for ever.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::framing::{Fault, Framing};
use super::presence::Presence;

/// Vectored writes, head and body, are combined into one buffer up to this size: the system call is
/// cheaper for one buffer, and the copy of a usual answer costs less than that saves.
const COMBINED_BYTES_MAX: usize = 4096;
/// How long, and up to how many bytes, the rest of a request is read whose answer came first: to
/// close while it arrives would reset the connection and lose the answer.
const LINGER_WAIT: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 64 * 1024;
/// Most bytes that are read before they are wanted, to see whether the client is still there.
const AHEAD_BYTES_MAX: usize = 4096;

thread_local! {
    /// This thread's buffer for combined writes.
    static COMBINED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The stream of a client.
pub struct ClientStream<S> {
    stream: S,
    framing: Framing,
    fault: Option<Fault>,
    wait: Duration,
    /// Runs while a write makes no progress.
    waiting: Option<Pin<Box<Sleep>>>,
    /// Runs while the rest of a request is read after its answer, and how much was.
    lingering: Option<(Pin<Box<Sleep>>, usize)>,
    /// Who wants to know whether the client is there, and what was read to see that.
    presence: Presence,
    ahead: Vec<u8>,
}

impl<S> ClientStream<S> {
    /// Wraps `stream`; chunks may announce a body of at most `body_max` bytes, and a write may wait
    /// at most `wait` for progress.
    pub const fn new(
        stream: S,
        body_max: u64,
        wait: Duration,
        presence: Presence,
    ) -> ClientStream<S> {
        ClientStream {
            stream,
            framing: Framing::new(body_max),
            fault: None,
            wait,
            waiting: None,
            lingering: None,
            presence,
            ahead: Vec::new(),
        }
    }

    /// The stream itself, of which nothing is followed any more.
    pub fn into_inner(self) -> S {
        self.stream
    }

    /// Returns the stream's result, or `TimedOut` once the wait is over.
    fn timed<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let wait = self.wait;
        let timer = self.waiting.get_or_insert_with(|| Box::pin(sleep(wait)));
        timer.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> ClientStream<S> {
    /// Closes the sending side, and then reads what is left of the request that came last.
    fn close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        if self.fault.is_none() && self.framing.is_between_requests() {
            return Poll::Ready(Ok(()));
        }
        let (timer, read) = self.lingering.get_or_insert_with(|| (Box::pin(sleep(LINGER_WAIT)), 0));
        while *read < LINGER_BYTES_MAX && timer.as_mut().poll(cx).is_pending() {
            let mut bytes = [0_u8; 4096];
            let mut bytes = ReadBuf::new(&mut bytes);
            let came = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut bytes));
            if came.is_err() || bytes.filled().is_empty() {
                break;
            }
            *read = read.saturating_add(bytes.filled().len());
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> ClientStream<S> {
    /// Looks whether the client is there, if somebody wants to know.
    fn look(&mut self, cx: &mut Context<'_>) {
        while self.presence.is_asked() && self.ahead.len() < AHEAD_BYTES_MAX {
            let mut bytes = [0_u8; 1024];
            let mut bytes = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(cx, &mut bytes) {
                Poll::Pending => return,
                // The next request.
                Poll::Ready(Ok(())) if !bytes.filled().is_empty() => {
                    self.ahead.extend_from_slice(bytes.filled());
                }
                Poll::Ready(_) => {
                    self.presence.end();
                    // Whoever asks is polled with the connection.
                    return cx.waker().wake_by_ref();
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(fault) = self.fault {
            self.fault = Some(Fault::Refused);
            let room = fault.ending().len().min(buf.remaining());
            buf.put_slice(fault.ending().get(..room).unwrap_or_default());
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        if self.ahead.is_empty() {
            ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        } else {
            let room = self.ahead.len().min(buf.remaining());
            buf.put_slice(self.ahead.get(..room).unwrap_or_default());
            self.ahead = self.ahead.split_off(room);
        }
        let came = buf.filled_mut().get_mut(before..).unwrap_or_default();
        if let Err((sound, fault)) = self.framing.follow(came) {
            self.fault = Some(fault);
            buf.set_filled(before.saturating_add(sound));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
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
        // Whoever serves a request flushes before it rests.
        self.look(cx);
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.timed(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = self.close(cx);
        self.timed(cx, closed)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/client_stream.rs"]
mod tests;
