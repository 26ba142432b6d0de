//! The frames of a WebSocket over a socket. What waits for an idle connection takes no memory: the
//! buffers belong to the thread, and a connection has some of its own only while it is blocked.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tungstenite::protocol::frame::{CloseFrame, FrameHeader};
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, Utf8Bytes, WebSocket};

use super::limits::MESSAGE_BYTES_MAX;

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;
/// Bytes that an idle connection keeps for what it reads.
const KEPT_BYTES: usize = 1024;
/// Largest buffer that a thread keeps for what it writes.
const SPARE_BYTES_MAX: usize = 256 * 1024;

thread_local! {
    static READ: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into_boxed_slice());
    static SPARE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A client's message.
    Text(Utf8Bytes),
    /// A message that is not text.
    Binary,
    /// A message that is too long; what follows cannot be read.
    TooLarge,
    /// Bytes that are no frames.
    Broken,
    /// The client has ended the connection.
    Ended,
}

/// A WebSocket.
pub struct Frames<S> {
    stream: S,
    protocol: WebSocket<Memory>,
    /// Whether what comes cannot be told apart into frames any more.
    is_broken: bool,
    /// Bytes that the socket took.
    written: u64,
}

/// Bytes that were read and not looked at, and those that are to be written.
#[derive(Debug, Default)]
struct Memory {
    read: Vec<u8>,
    looked_at: usize,
    unsent: Vec<u8>,
    sent: usize,
}

impl Read for Memory {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let rest = self.read.get(self.looked_at..).unwrap_or_default();
        if rest.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.looked_at = self.looked_at.saturating_add(count);
        if self.looked_at == self.read.len() {
            (self.read, self.looked_at) = (Vec::new(), 0);
        }
        Ok(count)
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Memory {
    /// The buffer of what is to be written: the thread's, while the connection has none.
    fn room(&mut self) -> &mut Vec<u8> {
        if self.unsent.capacity() == 0 {
            self.unsent = SPARE.take();
        }
        &mut self.unsent
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Frames<S> {
    /// The server's side of a connection that was upgraded, of which `read` was read already.
    pub fn new(stream: S, read: &[u8]) -> Frames<S> {
        let config = WebSocketConfig::default()
            .read_buffer_size(KEPT_BYTES)
            .write_buffer_size(0)
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let memory = Memory { read: read.to_vec(), ..Memory::default() };
        let protocol = WebSocket::from_raw_socket(memory, Role::Server, Some(config));
        Frames { stream, protocol, is_broken: false, written: 0 }
    }

    /// What comes next.
    pub fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Incoming> {
        while self.is_broken {
            self.protocol.get_mut().read.clear();
            if ready!(self.poll_fill(cx)).is_none() {
                return Poll::Ready(Incoming::Ended);
            }
        }
        let broken = loop {
            match self.protocol.read() {
                Ok(Message::Text(text)) => return Poll::Ready(Incoming::Text(text)),
                Ok(Message::Binary(_)) => return Poll::Ready(Incoming::Binary),
                // Pings are answered by the library; a close is answered, and then is the end.
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_)) => {
                }
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                    if ready!(self.poll_fill(cx)).is_none() {
                        return Poll::Ready(Incoming::Ended);
                    }
                }
                Err(Error::Capacity(_)) => break Incoming::TooLarge,
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                    return Poll::Ready(Incoming::Ended);
                }
                Err(_) => break Incoming::Broken,
            }
        };
        self.is_broken = true;
        Poll::Ready(broken)
    }

    /// Reads what there is on the socket; `None` at its end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        READ.with_borrow_mut(|bytes| {
            let mut bytes = ReadBuf::new(bytes);
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut bytes));
            if read.is_err() || bytes.filled().is_empty() {
                return Poll::Ready(None);
            }
            self.protocol.get_mut().read = bytes.filled().to_vec();
            Poll::Ready(Some(()))
        })
    }

    /// Adds a text message, given in parts, to what is to be written.
    pub fn push(&mut self, parts: &[&[u8]]) {
        let length = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.len()));
        let header = FrameHeader { opcode: OpCode::Data(Data::Text), ..FrameHeader::default() };
        let room = self.protocol.get_mut().room();
        // Writing to memory cannot fail.
        if header.format(u64::try_from(length).unwrap_or(u64::MAX), room).is_ok() {
            for part in parts {
                room.extend_from_slice(part);
            }
        }
    }

    /// Says why the connection ends; nothing can be pushed after it.
    pub fn close(&mut self, code: u16, reason: &str) {
        let (code, reason) = (CloseCode::from(code), Utf8Bytes::from(reason));
        if let Err(error) = self.protocol.close(Some(CloseFrame { code, reason })) {
            tracing::debug!(%error, "a connection had ended already");
        }
    }

    /// Bytes that were written.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Bytes that are to be written.
    pub fn unsent(&self) -> usize {
        let memory = self.protocol.get_ref();
        memory.unsent.len().saturating_sub(memory.sent)
    }

    /// Writes them.
    ///
    /// # Errors
    /// The socket is broken.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let memory = self.protocol.get_mut();
        while let Some(rest) = memory.unsent.get(memory.sent..).filter(|rest| !rest.is_empty()) {
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => {
                    memory.sent = memory.sent.saturating_add(count);
                    self.written = self.written.saturating_add(count as u64);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    // Keep no more than what is left of it.
                    if memory.sent > 0 {
                        let left = rest.to_vec();
                        memory.unsent.clear();
                        give_back(std::mem::replace(&mut memory.unsent, left));
                        memory.sent = 0;
                    }
                    return Poll::Pending;
                }
            }
        }
        memory.sent = 0;
        memory.unsent.clear();
        give_back(std::mem::take(&mut memory.unsent));
        // Over TLS some of it may still be on this side.
        Pin::new(&mut self.stream).poll_flush(cx)
    }
}

/// Keeps a buffer for this thread's next writes.
fn give_back(buffer: Vec<u8>) {
    SPARE.with_borrow_mut(|spare| {
        if buffer.capacity() > spare.capacity() && buffer.capacity() <= SPARE_BYTES_MAX {
            *spare = buffer;
        }
    });
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/frames.rs"]
mod tests;
