//! WebSocket client of `play`: a stream with one key, on which commands are sent together.

use std::io::{ErrorKind, Read, Result as IoResult, Write};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tungstenite::client::IntoClientRequest;
use tungstenite::{Error, HandshakeError, Message, WebSocket};

use crate::{
    ANSWER_TIME_MAX, ApiKey, ClientError, REPEATS_MAX, Reply, Target, busy, pause_of, socket,
};

/// A stream.
pub struct Stream {
    socket: WebSocket<Ready>,
    /// The `id` of the next command.
    next: u64,
}

/// A socket that says at once that it would block; whoever uses it waits.
struct Ready(TcpStream);

impl Read for Ready {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Ready {
    fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> IoResult<()> {
        Ok(())
    }
}

#[derive(Serialize)]
struct Numbered<'a, C> {
    id: String,
    #[serde(flatten)]
    command: &'a C,
}

/// A message of the server; only answers have an id.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    id: Option<String>,
    #[serde(default)]
    status: u16,
    retry_after: Option<u64>,
    #[serde(default)]
    replayed: bool,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Stream {
    /// Opens a stream.
    ///
    /// # Errors
    /// [`ClientError::Connect`], [`ClientError::TimedOut`], or the error of the handshake.
    pub async fn open(target: &Target, key: &ApiKey) -> Result<Stream, ClientError> {
        let socket = tokio::time::timeout(ANSWER_TIME_MAX, open(target, key)).await;
        Ok(Stream { socket: socket.map_err(|_| ClientError::TimedOut)??, next: 0 })
    }

    /// Sends commands without waiting in between (objects without an `id`), and reads the answers,
    /// which must come in their order. Where the server was too busy for a command and for all
    /// behind it, those are retried after the pause that it names. One with an executed command
    /// behind it cannot be retried in its place, and keeps its refusal.
    ///
    /// # Errors
    /// An answer is missing; see [`ClientError::may_have_been_sent`].
    pub async fn ask<C: Serialize>(&mut self, commands: &[C]) -> Result<Vec<Reply>, ClientError> {
        let mut replies: Vec<Reply> = Vec::with_capacity(commands.len());
        let mut repeats = 0;
        loop {
            let left = commands.get(replies.len()..).unwrap_or_default();
            let attempt = tokio::time::timeout(ANSWER_TIME_MAX, self.attempt(left));
            let mut came = attempt.await.map_err(|_| ClientError::TimedOut)??;
            let done = came.iter().rposition(|(_, pause)| pause.is_none());
            let done = done.map_or(0, |last| last.saturating_add(1));
            let pause = came.get(done).and_then(|(_, pause)| *pause);
            let pause = pause.filter(|_| repeats < REPEATS_MAX);
            if pause.is_some() {
                came.truncate(done);
            }
            replies.extend(came.into_iter().map(|(reply, _)| Reply { repeats, ..reply }));
            let Some(pause) = pause else { return Ok(replies) };
            tokio::time::sleep(pause).await;
            repeats += 1;
        }
    }

    async fn attempt<C: Serialize>(
        &mut self,
        commands: &[C],
    ) -> Result<Vec<(Reply, Option<Duration>)>, ClientError> {
        let first = self.next;
        for command in commands {
            let numbered = Numbered { id: self.next.to_string(), command };
            let text = serde_json::to_string(&numbered).map_err(ClientError::Json)?;
            self.next = self.next.wrapping_add(1);
            match self.socket.write(Message::text(text)) {
                Err(error) if !would_block(&error) => return Err(error.into()),
                // What would block was kept, and leaves with the rest.
                Err(_) | Ok(()) => {}
            }
        }
        let started = Instant::now();
        while let Err(error) = self.socket.flush() {
            if !would_block(&error) {
                return Err(error.into());
            }
            self.socket.get_ref().0.writable().await.map_err(Error::Io)?;
        }
        let mut came = Vec::with_capacity(commands.len());
        while self.next != first.wrapping_add(came.len() as u64) {
            let text = self.text().await?;
            let answer: Answer = serde_json::from_str(&text).map_err(ClientError::Json)?;
            let Some(id) = answer.id else { continue };
            if id != first.wrapping_add(came.len() as u64).to_string() {
                return Err(ClientError::Order(id));
            }
            let status = StatusCode::from_u16(answer.status).unwrap_or_default();
            let body = answer.body.or(answer.error).map_or("", RawValue::get);
            let body = Bytes::copy_from_slice(body.as_bytes());
            let (took, replayed) = (started.elapsed(), answer.replayed);
            let pause = busy(status, answer.retry_after.map(pause_of));
            came.push((Reply { status, body, replayed, took, repeats: 0 }, pause));
        }
        Ok(came)
    }

    /// The next text.
    async fn text(&mut self) -> Result<tungstenite::Utf8Bytes, ClientError> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return Ok(text),
                Ok(Message::Close(Some(why))) => return Err(ClientError::Closed(why.to_string())),
                Ok(_) => {}
                Err(error) if would_block(&error) => {
                    self.socket.get_ref().0.readable().await.map_err(Error::Io)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn would_block(error: &Error) -> bool {
    matches!(error, Error::Io(error) if error.kind() == ErrorKind::WouldBlock)
}

async fn open(target: &Target, key: &ApiKey) -> Result<WebSocket<Ready>, ClientError> {
    let host = target.host_header.to_str().unwrap_or_default();
    let mut request = format!("ws://{host}{}/stream", target.base_path).into_client_request()?;
    request.headers_mut().insert("x-api-key", key.0.clone());
    let mut shaken = tungstenite::client(request, Ready(socket(target).await?));
    loop {
        match shaken {
            Ok((socket, _)) => return Ok(socket),
            Err(HandshakeError::Failure(error)) => return Err(error.into()),
            // Only reading blocks: the request is smaller than the buffer of a new socket.
            Err(HandshakeError::Interrupted(half)) => {
                half.get_ref().get_ref().0.readable().await.map_err(Error::Io)?;
                shaken = half.handshake();
            }
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/client/stream.rs"]
mod tests;
