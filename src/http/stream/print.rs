//! What the server says on a stream beside the messages of its channels.

use exchange::ids::Token;
use exchange::units::{Sequence, TimeMs};

use super::frames::Frames;
use crate::listed::Content;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::wire::printed;
use crate::wire::problem::ProblemJson;
use crate::wire::said::{
    AcceptedJson, ChannelJson, HeartbeatMessageJson, RefusedMessageJson, WelcomeJson,
};

/// Usual size of what is said.
const BYTES_USUAL: usize = 256;

/// What a control message came to.
#[derive(Debug)]
pub enum Done {
    /// A sign of life, with how far the connection is.
    Pong(Option<Sequence>, TimeMs),
    /// The client was let in, as of a record; whether the orders placed here end with it.
    LetIn(Sequence, bool),
    /// What came of each channel.
    Channels(Vec<ChannelAnswer>),
}

/// What came of asking for a channel.
#[derive(Debug)]
pub struct ChannelAnswer {
    /// Its name as it was asked for.
    pub channel: String,
    /// The record as of which it begins, if it does.
    pub came: Result<Option<Sequence>, Problem>,
}

fn text(content: &impl serde::Serialize) -> Vec<u8> {
    printed(content, BYTES_USUAL).unwrap_or_else(|error| {
        tracing::error!(%error, "a message of a stream could not be printed");
        Vec::new()
    })
}

/// The first message.
pub fn welcome(now: TimeMs) -> Vec<u8> {
    text(&WelcomeJson::of(now))
}

/// Everything up to `head` was sent.
pub fn heartbeat(head: Sequence, now: TimeMs) -> Vec<u8> {
    text(&HeartbeatMessageJson::of(head, now))
}

/// The answer to a control message.
pub fn done(id: Option<&Token>, done: &Done) -> Vec<u8> {
    let id = id.map(Token::as_str);
    let answer = match done {
        Done::Pong(head, now) => AcceptedJson::of(id, *head, Some(*now), None, None),
        Done::LetIn(as_of, ends_orders) => {
            AcceptedJson::of(id, Some(*as_of), None, Some(*ends_orders), None)
        }
        Done::Channels(channels) => {
            let channels = channels.iter().map(|ChannelAnswer { channel, came }| match came {
                Ok(sequence) => ChannelJson::of(channel, *sequence, None, None),
                Err(problem) => {
                    let error = Some(ProblemJson::of(problem, ""));
                    ChannelJson::of(channel, problem.sequence, retry_after(problem), error)
                }
            });
            AcceptedJson::of(id, None, None, None, Some(channels.collect()))
        }
    };
    text(&answer)
}

/// The answer to a message that was refused.
pub fn refused(
    id: Option<&Token>,
    problem: &Problem,
    as_of: Option<Sequence>,
    request_id: &str,
) -> Vec<u8> {
    let error = ProblemJson::of(problem, request_id);
    let status = problem.kind.status().as_u16();
    let (sequence, wait) = (problem.sequence.or(as_of), retry_after(problem));
    text(&RefusedMessageJson::of(id.map(Token::as_str), status, sequence, wait, error))
}

/// Seconds after which what was refused may be sent again.
fn retry_after(problem: &Problem) -> Option<u64> {
    let wait = problem.allowance.as_ref().and_then(|allowance| allowance.wait_seconds);
    let wait = wait.or_else(|| problem.wait.map(|wait| wait.get().into()));
    wait.or_else(|| problem.kind.retry_after().map(u64::from))
}

/// Adds the answer to a command.
pub fn answer<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(
    to: &mut Frames<S>,
    id: &Token,
    reply: Reply,
) {
    let Reply { status, sequence, replayed, body, .. } = reply;
    let body = whole(body);
    let (status, mut head) = (status.as_u16(), Vec::with_capacity(BYTES_USUAL));
    head.extend_from_slice(b"{\"id\":");
    if serde_json::to_writer(&mut head, id.as_str()).is_err() {
        head.extend_from_slice(b"null");
    }
    head.extend_from_slice(b",\"status\":");
    let decimal = |to: &mut Vec<u8>, number: u64| {
        to.extend_from_slice(exchange::decimal::DecimalText::of_integer(number).as_bytes());
    };
    decimal(&mut head, status.into());
    head.extend_from_slice(b",\"sequence\":");
    decimal(&mut head, sequence.get());
    if replayed {
        head.extend_from_slice(b",\"replayed\":true");
    }
    head.extend_from_slice(b",\"body\":");
    to.push(&[&head, if body.is_empty() { b"null" } else { &body }, b"}"]);
}

/// All of a body: a message is one text.
fn whole(body: Content) -> bytes::Bytes {
    match body {
        Content::Whole(bytes) => bytes,
        Content::Listed(mut list) => {
            let mut all = Vec::new();
            while let Ok(Some(piece)) = list.piece() {
                all.extend_from_slice(&piece);
            }
            all.into()
        }
        Content::Packed(_) | Content::Events(_) => bytes::Bytes::new(),
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/print.rs"]
mod tests;
