//! A client's connection: TCP, TLS on it, or a socket of the file system.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use super::tls::{self, TlsStream};

/// Bytes that this thread reads before a connection's turn is over: a client may fill them with
/// frames that ask for nothing, at a few bytes each, and others would wait for all that it sends.
const READ_A_TURN: usize = 16 * 1024;

thread_local! {
    /// Bytes read since a turn was over for that.
    static READ: Cell<usize> = const { Cell::new(0) };
}

/// A connection on its way to the worker that serves it.
#[derive(Debug)]
pub enum Accepted {
    /// By a port.
    Tcp(std::net::TcpStream),
    /// By a socket of the file system.
    Unix(std::os::unix::net::UnixStream),
}

impl Accepted {
    /// The connection on this thread's runtime.
    ///
    /// # Errors
    /// The runtime cannot watch it.
    pub fn here(self) -> io::Result<Socket> {
        match self {
            Accepted::Tcp(stream) => TcpStream::from_std(stream).map(Socket::Tcp),
            Accepted::Unix(stream) => UnixStream::from_std(stream).map(Socket::Unix),
        }
    }
}

/// A connection.
#[derive(Debug)]
pub enum Socket {
    /// As it is.
    Tcp(TcpStream),
    /// The same, of this machine.
    Unix(UnixStream),
    /// After its handshake.
    Tls(Box<TlsStream>),
}

impl Socket {
    /// The connection of the network's, if it is one.
    pub fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Socket::Tcp(stream) => Some(stream),
            Socket::Unix(_) => None,
            Socket::Tls(stream) => Some(tls::tcp(stream)),
        }
    }

    /// Whether the client speaks HTTP/2 on it.
    #[cfg(feature = "tls")]
    pub fn is_http2(&self) -> bool {
        matches!(self, Socket::Tls(stream) if tls::is_http2(stream))
    }
}

/// Does the same with each.
macro_rules! each {
    ($socket:expr, $stream:ident => $does:expr) => {
        match $socket {
            Socket::Tcp($stream) => $does,
            Socket::Unix($stream) => $does,
            Socket::Tls($stream) => $does,
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if READ.get() >= READ_A_TURN {
            READ.set(0);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let came = each!(self.get_mut(), stream => Pin::new(stream).poll_read(cx, buf));
        READ.set(READ.get().saturating_add(buf.filled().len().saturating_sub(before)));
        came
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        each!(self, stream => stream.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_shutdown(cx))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/socket.rs"]
mod tests;
