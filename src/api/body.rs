//! The body of a request, read under the bounds of its size and time.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;
use hyper::header::{self, HeaderMap};

use super::Limits;
use super::media;
use super::problem::{FieldCode, FieldError, Kind, Problem};
use super::routes::BodyRule;

/// How long a body that nobody reads is waited for. Clients that send it do so right behind the
/// head; a stranger who does not must not hold his connection for long.
const UNREAD_WAIT: Duration = Duration::from_secs(1);

/// What reading a body may fail with.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Reads a body as its rule says.
///
/// # Errors
/// It is missing or there is one where there must be none, it is no JSON by its head, or it is too
/// large, too slow or cut off.
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
        return Err(Problem::new(Kind::UnsupportedMediaType, detail));
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
    match collected(Limited::new(body, max), limits.body_wait).await {
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
        Some(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Some(Err(_)) => Err(bad_body(FieldCode::Malformed, "did not arrive whole")),
    }
}

/// Reads what nobody took of a body and forgets it, so that its connection can go on: an answer may
/// be ready before the body has come, and whoever closes then loses the client's next request too.
/// False where that would be too much, or takes too long; then the connection must be closed.
pub async fn pass_over<B>(headers: &HeaderMap, body: Pin<&mut B>, limits: &Limits) -> bool
where
    B: Body<Data = Bytes>,
{
    if body.is_end_stream() {
        return true;
    }
    let max = limits.body_bytes_max;
    // Whoever asks first whether to send it has sent nothing, and need not.
    let asks_first = headers.contains_key(header::EXPECT);
    if asks_first || body.size_hint().lower() > u64::try_from(max).unwrap_or(u64::MAX) {
        return false;
    }
    let mut forgetting = pin!(forgotten(body, max));
    let came = poll_fn(|cx| Poll::Ready(forgetting.as_mut().poll(cx))).await;
    match came {
        Poll::Ready(whole) => whole,
        Poll::Pending => tokio::time::timeout(UNREAD_WAIT, forgetting).await.unwrap_or(false),
    }
}

/// Reads a body to its end; false where it has more bytes than that, or breaks off.
async fn forgotten<B: Body<Data = Bytes>>(mut body: Pin<&mut B>, max: usize) -> bool {
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

fn bad_body(code: FieldCode, detail: &'static str) -> Problem {
    Problem::invalid(vec![FieldError { field: "body".to_owned(), code, detail: detail.into() }])
}

/// A whole body, or `None` when its time is over.
async fn collected<B>(body: Limited<B>, wait: Duration) -> Option<Result<Bytes, BodyError>>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BodyError>,
{
    let mut collecting = pin!(body.collect());
    // Mostly it has come with its head, and no clock is needed.
    let came = poll_fn(|cx| Poll::Ready(collecting.as_mut().poll(cx))).await;
    let collected = match came {
        Poll::Ready(collected) => collected,
        Poll::Pending => tokio::time::timeout(wait, collecting).await.ok()?,
    };
    Some(collected.map(http_body_util::Collected::to_bytes))
}
