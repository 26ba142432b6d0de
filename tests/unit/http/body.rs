//! Unit tests of `src/http/body.rs`.

use std::collections::VecDeque;

use hyper::header::HeaderValue;
use proptest::prelude::*;

use super::*;

/// A body of several frames, some of them delayed, with an error where it breaks off. Like
/// hyper's, it is over after that, and may not report its end.
struct Script {
    pieces: VecDeque<(bool, Result<Frame<Bytes>, &'static str>)>,
    says_so: bool,
}

impl Body for Script {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some((waits @ true, _)) = self.pieces.front_mut() {
            *waits = false;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let piece = self.pieces.pop_front().map(|(_, piece)| piece);
        Poll::Ready(piece.map(|piece| Ok(piece?)))
    }

    fn is_end_stream(&self) -> bool {
        self.says_so && self.pieces.is_empty()
    }
}

fn taken(body: Script, max: usize) -> Result<Bytes, Problem> {
    let limits = Limits { body_bytes_max: max, ..Limits::STANDARD };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::TRANSFER_ENCODING, HeaderValue::from_static("chunked")),
    ];
    let headers = HeaderMap::from_iter(headers);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(take_body(&headers, BodyRule::Required, body, &limits))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever the frames and delays: the result is all of them in order, or the error, never
    /// a part.
    #[test]
    fn a_body_is_taken_whole_or_not_at_all(
        pieces in proptest::collection::vec((any::<bool>(), 0_usize..20), 0..5),
        trailers in proptest::option::of(any::<bool>()),
        breaks in proptest::option::of(any::<bool>()),
        says_so in any::<bool>(),
        max in 0_usize..60,
    ) {
        let (mut all, mut script) = (Vec::new(), VecDeque::new());
        for (number, (waits, length)) in (b'a'..).zip(&pieces) {
            let piece = vec![number; *length];
            all.extend_from_slice(&piece);
            script.push_back((*waits, Ok(Frame::data(Bytes::from(piece)))));
        }
        script.extend(trailers.map(|waits| (waits, Ok(Frame::trailers(HeaderMap::new())))));
        script.extend(breaks.map(|waits| (waits, Err("broken off"))));
        let came = taken(Script { pieces: script, says_so }, max);
        match came {
            Ok(bytes) => {
                prop_assert!(breaks.is_none() && all.len() <= max);
                prop_assert_eq!(bytes, all);
            }
            Err(Problem { kind: Kind::ContentTooLarge, .. }) => prop_assert!(all.len() > max),
            Err(problem) => {
                prop_assert!(breaks.is_some() && all.len() <= max, "{:?}", problem.kind);
                prop_assert_eq!(problem.kind.status(), hyper::StatusCode::BAD_REQUEST);
            }
        }
    }
}
