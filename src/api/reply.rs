//! A successful answer, before it has become HTTP.

use bytes::Bytes;
use hyper::StatusCode;
use serde::Serialize;

use super::problem::Problem;
use super::routes::RequestClass;
use super::stream::Content;
use super::wire::print;
use crate::exchange::units::Sequence;

/// Bytes that the answer to an order takes: room for them is taken at once.
const BODY_BYTES_USUAL: usize = 512;

/// A successful answer.
#[derive(Debug)]
pub struct Reply {
    /// Status.
    pub status: StatusCode,
    /// The last record that the answer reflects.
    pub sequence: Sequence,
    /// Whether this is the answer to an earlier request, given once more.
    pub replayed: bool,
    /// The lane that it drew on, where that is not its route's.
    pub drew: Option<RequestClass>,
    /// Where the created thing is to be found.
    pub location: Option<String>,
    /// The body's media type; JSON where there is none.
    pub media: Option<&'static str>,
    /// Whether the body is in gzip already.
    pub gzipped: bool,
    /// What is said; nothing where the status has no content.
    pub body: Content,
}

impl Reply {
    /// An answer that says this.
    pub fn ok(sequence: Sequence, content: &impl Serialize) -> Result<Reply, Problem> {
        let body = print::printed(content, BODY_BYTES_USUAL)?;
        Ok(Reply::json(sequence, body.into()))
    }

    /// An answer that is in print.
    pub fn json(sequence: Sequence, body: Bytes) -> Reply {
        let body = Content::Whole(body);
        Reply { status: StatusCode::OK, body, ..Reply::no_content(sequence) }
    }

    /// An answer that lists the rows that `rows` finds in its member of this name: sent in pieces
    /// where it is long.
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

    /// An answer that is no JSON.
    pub fn text(sequence: Sequence, media: &'static str, body: Bytes) -> Reply {
        Reply { media: Some(media), ..Reply::json(sequence, body) }
    }

    /// The answer to a creation: the created thing and where it is.
    pub fn created(
        sequence: Sequence,
        location: String,
        content: &impl Serialize,
    ) -> Result<Reply, Problem> {
        let reply = Reply::ok(sequence, content)?;
        Ok(Reply { status: StatusCode::CREATED, location: Some(location), ..reply })
    }

    /// An answer that has nothing to say.
    pub const fn no_content(sequence: Sequence) -> Reply {
        Reply {
            status: StatusCode::NO_CONTENT,
            sequence,
            replayed: false,
            drew: None,
            location: None,
            media: None,
            gzipped: false,
            body: Content::Whole(Bytes::new()),
        }
    }

    /// The same answer, marked as given before if it was.
    #[must_use]
    pub fn replayed(self, replayed: bool) -> Reply {
        Reply { replayed, ..self }
    }
}
