//! Unit tests of `src/http/door.rs`.

use super::*;

#[test]
fn retryable_problems_have_retry_after() {
    use exchange::reject::Reject;
    let waits = |kind: Kind| {
        let response = failure(&Problem::new(kind, "x"), None, "id", HeaderMap::new());
        response.headers().get(header::RETRY_AFTER).cloned()
    };
    for reject in Reject::ALL {
        let kind = Kind::Refused(reject);
        // An empty bucket sets `Retry-After` itself.
        let expected = kind.status() == hyper::StatusCode::TOO_MANY_REQUESTS;
        assert_eq!(waits(kind).is_some(), expected, "{kind:?}");
    }
    let own = Kind::OWN.into_iter().filter(|kind| waits(*kind).is_some());
    let expected = [Kind::Overloaded, Kind::Stopping, Kind::ReplayBusy, Kind::Starting];
    assert_eq!(own.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_panic_becomes_an_answer() {
    assert_eq!(caught(pin!(async { 1 })).await, Some(1));
    let panics = pin!(async { panic!("expected by this test") });
    assert_eq!(caught(panics).await, None::<u8>);
}
