//! A successful answer, before the door turns it into an HTTP response.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::http::HeaderValue;
use serde::Serialize;
use tokio::sync::mpsc::Receiver;

use super::listed::{Content, Rows};
use super::media;
use super::preconditions;
use super::problem::Problem;
use super::rates::RequestClass;
use super::wire;
use exchange::units::Sequence;

/// Initial buffer capacity: the size of the answer to an order.
const BODY_BYTES_USUAL: usize = 512;

/// What the answer to the handshake of a WebSocket says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// What becomes of the handshake's key.
    pub accept: String,
    /// The subprotocol, if the client asked for ours.
    pub protocol: Option<&'static str>,
}

/// A successful answer.
#[derive(Debug)]
pub struct Reply {
    /// Status.
    pub status: StatusCode,
    /// The last record that the answer reflects.
    pub sequence: Sequence,
    /// Whether it replays the answer to an earlier request.
    pub replayed: bool,
    /// The request class whose tokens it took, if not that of its route.
    pub drew: Option<RequestClass>,
    /// The path of the created object.
    pub location: Option<String>,
    /// The body's entity tag, with its quotes.
    pub tag: Option<String>,
    /// Whether it never changes, so that a browser may keep it.
    pub lasting: bool,
    /// What the browser is to keep, if anything.
    pub cookie: Option<HeaderValue>,
    /// The body's media type; JSON if `None`.
    pub media: Option<&'static str>,
    /// Whether the body is gzipped already.
    pub gzipped: bool,
    /// The answer to the handshake of a WebSocket.
    pub accepted: Option<Accepted>,
    /// The body; empty if the status has no content.
    pub body: Content,
}

impl Reply {
    /// A 200 answer with this content.
    pub fn ok(sequence: Sequence, content: &impl Serialize) -> Result<Reply, Problem> {
        let body = wire::printed(content, BODY_BYTES_USUAL)?;
        Ok(Reply::json(sequence, body.into()))
    }

    /// A 200 answer with serialised JSON.
    pub fn json(sequence: Sequence, body: Bytes) -> Reply {
        let body = Content::Whole(body);
        Reply { status: StatusCode::OK, body, ..Reply::no_content(sequence) }
    }

    /// A 200 answer whose member `member` lists the rows that `rows` takes out of `content`; a long
    /// list is sent in pieces.
    pub fn list<C: Serialize, T: Serialize + Send + 'static>(
        sequence: Sequence,
        mut content: C,
        member: &str,
        rows: impl FnOnce(&mut C) -> &mut Vec<T>,
    ) -> Result<Reply, Problem> {
        let rows = std::mem::take(rows(&mut content));
        let body = Content::list(&content, member, rows)
            .map_err(|_| Problem::internal("a list could not be printed"))?;
        Ok(Reply { status: StatusCode::OK, body, ..Reply::no_content(sequence) })
    }

    /// A 200 answer with several lists as members of `around`, in the order of its members; long
    /// ones are sent in pieces.
    pub fn lists(
        sequence: Sequence,
        around: &impl Serialize,
        members: Vec<(&str, Box<dyn Rows>)>,
    ) -> Result<Reply, Problem> {
        let body = Content::lists(around, members)
            .map_err(|_| Problem::internal("lists could not be printed"))?;
        Ok(Reply { status: StatusCode::OK, body, ..Reply::no_content(sequence) })
    }

    /// A 200 answer of another media type.
    pub fn text(sequence: Sequence, media: &'static str, body: Bytes) -> Reply {
        Reply { media: Some(media), ..Reply::json(sequence, body) }
    }

    /// A 202 answer: what is only proposed.
    pub fn accepted(sequence: Sequence, content: &impl Serialize) -> Result<Reply, Problem> {
        Ok(Reply { status: StatusCode::ACCEPTED, ..Reply::ok(sequence, content)? })
    }

    /// A 201 answer: the created object and its path.
    pub fn created(
        sequence: Sequence,
        location: String,
        content: &impl Serialize,
    ) -> Result<Reply, Problem> {
        let reply = Reply::ok(sequence, content)?;
        Ok(Reply { status: StatusCode::CREATED, location: Some(location), ..reply })
    }

    /// A 204 answer.
    pub const fn no_content(sequence: Sequence) -> Reply {
        Reply {
            status: StatusCode::NO_CONTENT,
            sequence,
            replayed: false,
            drew: None,
            location: None,
            tag: None,
            lasting: false,
            cookie: None,
            media: None,
            gzipped: false,
            accepted: None,
            body: Content::Whole(Bytes::new()),
        }
    }

    /// A 303 answer: the browser goes on to this path.
    pub fn see_other(sequence: Sequence, path: String, cookie: Option<HeaderValue>) -> Reply {
        let (status, location) = (StatusCode::SEE_OTHER, Some(path));
        Reply { status, location, cookie, ..Reply::no_content(sequence) }
    }

    /// The same content, of an address that nothing has.
    #[must_use]
    pub fn of_nothing(self) -> Reply {
        Reply { status: StatusCode::NOT_FOUND, ..self }
    }

    /// A 101 answer: what follows on the connection is a WebSocket.
    pub fn switching(sequence: Sequence, accepted: Accepted) -> Reply {
        let reply = Reply::no_content(sequence);
        Reply { status: StatusCode::SWITCHING_PROTOCOLS, accepted: Some(accepted), ..reply }
    }

    /// A 200 answer of events.
    pub fn events(sequence: Sequence, pieces: Receiver<Bytes>) -> Reply {
        let (status, media) = (StatusCode::OK, Some(media::EVENT_STREAM));
        Reply { status, media, body: Content::Events(pieces), ..Reply::no_content(sequence) }
    }

    /// A 304 answer: the client has what this one shows.
    #[must_use]
    pub fn not_modified(self) -> Reply {
        let status = StatusCode::NOT_MODIFIED;
        Reply { status, tag: self.tag, ..Reply::no_content(self.sequence) }
    }

    /// Adds this tag.
    #[must_use]
    pub fn with_tag(self, tag: String) -> Reply {
        Reply { tag: Some(tag), ..self }
    }

    /// Adds the tag of its body.
    #[must_use]
    pub fn tagged(self) -> Reply {
        let tag = match &self.body {
            Content::Whole(body) => Some(preconditions::tag_of(body)),
            _ => None,
        };
        Reply { tag, ..self }
    }

    /// Marks the answer as replayed, or not.
    #[must_use]
    pub fn replayed(self, replayed: bool) -> Reply {
        Reply { replayed, ..self }
    }
}
