//! Reads request bodies within limits of size and time.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{self, HeaderMap};

use super::limits::Limits;
use super::media;
use super::problem::{FieldCode, FieldError, Kind, Problem};

/// How long to wait for a body that no endpoint reads. Clients send it right after the head; one
/// that does not must not hold its connection for long.
const UNREAD_WAIT: Duration = Duration::from_secs(1);

/// Error of reading a body.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Whether a request carries a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyRule {
    /// It is ignored.
    Ignored,
    /// It must be empty: a client that sends one expects an effect that it would not have.
    Absent,
    /// It is optional.
    Optional,
    /// It is required.
    Required,
}

/// Reads a body according to its rule.
///
/// # Errors
/// The body is missing, or present where none is allowed; its headers do not announce JSON; or it
/// is too large, too slow or incomplete.
pub async fn take_body<B>(
    headers: &HeaderMap,
    rule: BodyRule,
    body: B,
    limits: &Limits,
) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BodyError>,
{
    if rule != BodyRule::Absent && !media::sends_json(headers) {
        let detail = "send the body as application/json in UTF-8, and not compressed";
        let coded = media::is_coded(headers);
        return Err(Problem { coded, ..Problem::new(Kind::UnsupportedMediaType, detail) });
    }
    let announced = headers.contains_key(header::CONTENT_LENGTH)
        || headers.contains_key(header::TRANSFER_ENCODING);
    if rule == BodyRule::Required && !announced {
        let detail = "a body is needed; announce its length or send it in chunks";
        return Err(Problem::new(Kind::LengthRequired, detail));
    }
    let max = limits.body_bytes_max;
    let too_large = || Problem::new(Kind::ContentTooLarge, format!("a body may have {max} bytes"));
    if body.size_hint().lower() > u64::try_from(max).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    match whole(Limited::new(body, max), limits.body_wait).await {
        None => Err(Problem::new(Kind::RequestTimeout, "the body took too long to arrive")),
        Some(Ok(bytes)) if rule == BodyRule::Absent => {
            let mut said = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
            match (said.next(), said.next(), said.next()) {
                (None, ..) | (Some(b'{'), Some(b'}'), None) => Ok(Bytes::new()),
                _ => {
                    let detail = "is not taken here: all is said in the path and the query";
                    Err(bad_body(FieldCode::UnknownField, detail))
                }
            }
        }
        Some(Ok(bytes)) => Ok(bytes),
        Some(Err(error)) if is_too_large(&*error) => Err(too_large()),
        Some(Err(_)) => Err(bad_body(FieldCode::Malformed, "did not arrive whole")),
    }
}

/// An incoming body that tracks how much of it was read: hyper's body, if it came in several
/// frames, reports neither its end nor that it broke off.
pub struct IncomingBody<'a, B> {
    body: Pin<&'a mut B>,
    read: Read,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    Nothing,
    Some,
    Whole,
    Broken,
}

impl<'a, B: Body<Data = Bytes>> IncomingBody<'a, B> {
    /// Wraps a body that was not read yet.
    pub fn new(body: Pin<&'a mut B>) -> IncomingBody<'a, B> {
        let read = if body.is_end_stream() { Read::Whole } else { Read::Nothing };
        IncomingBody { body, read }
    }

    /// Whether it was read to its end.
    pub fn is_whole(&self) -> bool {
        self.read == Read::Whole
    }

    /// Reads and discards the rest, so that the connection can be kept: the answer may be ready
    /// before the body has arrived, and closing then would lose the client's next request too.
    /// False if the rest is too large or too slow; then the connection must be closed.
    pub async fn drain(&mut self, headers: &HeaderMap, limits: &Limits) -> bool {
        let max = limits.body_bytes_max;
        match self.read {
            Read::Whole => return true,
            Read::Broken => return false,
            // A client that sent `Expect` has sent no body yet, and need not.
            Read::Nothing if headers.contains_key(header::EXPECT) => return false,
            Read::Nothing | Read::Some => {}
        }
        if self.size_hint().lower() > u64::try_from(max).unwrap_or(u64::MAX) {
            return false;
        }
        let mut discarding = pin!(discard(self, max));
        let came = poll_fn(|cx| Poll::Ready(discarding.as_mut().poll(cx))).await;
        match came {
            Poll::Ready(whole) => whole,
            Poll::Pending => tokio::time::timeout(UNREAD_WAIT, discarding).await.unwrap_or(false),
        }
    }
}

impl<B: Body<Data = Bytes>> Body for IncomingBody<'_, B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let came = self.body.as_mut().poll_frame(cx);
        self.read = match &came {
            Poll::Ready(Some(Ok(_))) if self.body.is_end_stream() => Read::Whole,
            Poll::Ready(None) if self.read != Read::Broken => Read::Whole,
            Poll::Ready(Some(Err(_)) | None) => Read::Broken,
            Poll::Ready(Some(Ok(_))) | Poll::Pending => Read::Some,
        };
        came
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Discards a body to its end; false if it has more than `max` bytes or breaks off.
async fn discard<B: Body<Data = Bytes> + Unpin>(body: &mut B, max: usize) -> bool {
    let mut left = max;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(bytes) {
            Some(less) => left = less,
            None => return false,
        }
    }
    true
}

/// Whether a body ended because it is too large, or announces a chunk that would make it so.
fn is_too_large(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    // hyper says so of its own bounds only: of a chunk's size, its extensions, and trailers.
    let hyper = error.downcast_ref::<hyper::Error>().and_then(std::error::Error::source);
    let bound = hyper.and_then(|cause| cause.downcast_ref::<std::io::Error>());
    error.is::<LengthLimitError>()
        || bound.is_some_and(|cause| cause.kind() == std::io::ErrorKind::InvalidData)
}

fn bad_body(code: FieldCode, detail: &'static str) -> Problem {
    Problem::invalid(vec![FieldError { field: "body".to_owned(), code, detail: detail.into() }])
}

/// The whole body, or `None` after the timeout.
async fn whole<B>(body: Limited<B>, wait: Duration) -> Option<Result<Bytes, BodyError>>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BodyError>,
{
    let mut body = pin!(body);
    // Usually the body arrived with its head, in one frame of announced length: then neither a
    // timer nor another buffer is needed.
    let first = match poll_fn(|cx| Poll::Ready(body.as_mut().poll_frame(cx))).await {
        Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        Poll::Ready(Some(Err(error))) => return Some(Err(error)),
        Poll::Ready(None) => return Some(Ok(Bytes::new())),
        Poll::Pending => Bytes::new(),
    };
    if body.is_end_stream() {
        return Some(Ok(first));
    }
    let rest = tokio::time::timeout(wait, body.collect()).await.ok()?;
    let all = |rest: Bytes| match (first.is_empty(), rest.is_empty()) {
        (_, true) => first,
        (true, false) => rest,
        (false, false) => [first, rest].concat().into(),
    };
    Some(rest.map(|rest| all(rest.to_bytes())))
}

#[cfg(test)]
#[path = "../../tests/unit/http/body.rs"]
mod tests;
