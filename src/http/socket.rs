//! A client's connection: TCP, or TLS on it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::tls::{self, TlsStream};

/// A connection.
#[derive(Debug)]
pub enum Socket {
    /// As it is.
    Tcp(TcpStream),
    /// After its handshake.
    Tls(Box<TlsStream>),
}

impl Socket {
    /// The connection of the system's.
    pub fn tcp(&self) -> &TcpStream {
        match self {
            Socket::Tcp(stream) => stream,
            Socket::Tls(stream) => tls::tcp(stream),
        }
    }

    /// Whether the client speaks HTTP/2 on it.
    #[cfg(feature = "tls")]
    pub fn is_http2(&self) -> bool {
        matches!(self, Socket::Tls(stream) if tls::is_http2(stream))
    }
}

/// Does the same with either.
macro_rules! either {
    ($socket:expr, $stream:ident => $does:expr) => {
        match $socket {
            Socket::Tcp($stream) => $does,
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
        either!(self.get_mut(), stream => Pin::new(stream).poll_read(cx, buf))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        either!(self, stream => stream.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_shutdown(cx))
    }
}
