//! A successful answer, before it has become HTTP.

use hyper::StatusCode;
use serde::Serialize;

use super::problem::Problem;
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
    /// Where the created thing is to be found.
    pub location: Option<String>,
    /// The body's media type; JSON where there is none.
    pub media: Option<&'static str>,
    /// What is said; nothing where the status has no content.
    pub body: Vec<u8>,
}

impl Reply {
    /// An answer that says this.
    pub fn ok(sequence: Sequence, content: &impl Serialize) -> Result<Reply, Problem> {
        let mut body = Vec::with_capacity(BODY_BYTES_USUAL);
        serde_json::to_writer(&mut body, content)
            .map_err(|_| Problem::internal("an answer could not be printed"))?;
        let status = StatusCode::OK;
        Ok(Reply { status, sequence, replayed: false, location: None, media: None, body })
    }

    /// An answer that is no JSON.
    pub fn text(sequence: Sequence, media: &'static str, body: String) -> Reply {
        let (status, body) = (StatusCode::OK, body.into_bytes());
        let replayed = false;
        Reply { status, sequence, replayed, location: None, media: Some(media), body }
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
            location: None,
            media: None,
            body: Vec::new(),
        }
    }

    /// The same answer, marked as given before if it was.
    #[must_use]
    pub fn replayed(self, replayed: bool) -> Reply {
        Reply { replayed, ..self }
    }
}
