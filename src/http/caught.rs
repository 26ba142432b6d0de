//! What panics in an endpoint is its request's fault alone: the answer is 500, and nothing ends.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::problem::Problem;
use super::reply::Reply;

/// The result of a future, or `None` if it panicked.
pub async fn caught<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|cx| poll_caught(future.as_mut(), cx)).await
}

fn poll_caught<F: Future + ?Sized>(
    future: Pin<&mut F>,
    cx: &mut Context<'_>,
) -> Poll<Option<F::Output>> {
    // After a panic the future is never polled again, so its broken state is not observed.
    match catch_unwind(AssertUnwindSafe(|| future.poll(cx))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    }
}

/// An endpoint's answer, if it is there, even if it panics.
pub fn polled(
    future: Pin<&mut (dyn Future<Output = Result<Reply, Problem>> + Send)>,
    cx: &mut Context<'_>,
) -> Poll<Result<Reply, Problem>> {
    let panicked = || Err(Problem::internal("an endpoint panicked"));
    poll_caught(future, cx).map(|came| came.unwrap_or_else(panicked))
}
