//! A pool of boxed futures that process requests. The future that handles a request is large, so
//! the pool allocates it once and reuses it: creating it anew would copy it, and large
//! allocations are slow. One pooled future handles one request at a time.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;

/// Idle futures kept, of four to five kilobytes each. A thread seldom handles more requests at a
/// time, and a rare peak must not hold memory for ever.
const IDLE_MAX: usize = 256;

/// A pool for requests `Q` with answers `R`. Clones share the idle futures.
pub struct FuturePool<Q, R, F>(Arc<Shared<Q, R, F>>);

/// State shared by all clones.
struct Shared<Q, R, F> {
    handler: Box<dyn Fn(RequestSlot<Q, R>) -> F + Send + Sync>,
    idle: Mutex<Vec<PooledFuture<Q, R, F>>>,
}

/// Hands a request to its future and the answer back.
pub struct RequestSlot<Q, R>(Arc<Mutex<SlotContents<Q, R>>>);

/// At most one of the two is set. Two fields are cheaper to move in and out of than one enum.
struct SlotContents<Q, R> {
    request: Option<Q>,
    answered: Option<R>,
}

/// A pooled future and the slot through which it gets requests.
struct PooledFuture<Q, R, F> {
    future: Pin<Box<F>>,
    slot: RequestSlot<Q, R>,
}

/// A request being processed; resolves to its answer.
pub struct PooledCall<Q, R, F> {
    pooled: Option<PooledFuture<Q, R, F>>,
    pool: FuturePool<Q, R, F>,
}

impl<Q, R, F> Clone for FuturePool<Q, R, F> {
    fn clone(&self) -> Self {
        FuturePool(Arc::clone(&self.0))
    }
}

impl<Q, R> Clone for RequestSlot<Q, R> {
    fn clone(&self) -> Self {
        RequestSlot(Arc::clone(&self.0))
    }
}

impl<Q, R> RequestSlot<Q, R> {
    /// Waits for the next request. It is not woken for one: [`PooledCall`] polls it after storing
    /// the request.
    pub async fn next(&self) -> Q {
        poll_fn(|_| self.0.lock().request.take().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Stores the answer to the request.
    pub fn answer(&self, answer: R) {
        self.0.lock().answered = Some(answer);
    }

    fn answered(&self) -> Option<R> {
        self.0.lock().answered.take()
    }
}

impl<Q, R, F: Future<Output = ()>> FuturePool<Q, R, F> {
    /// A pool whose futures `handler` creates. Such a future takes requests from its slot and
    /// answers them, and must never end.
    pub fn new(
        handler: impl Fn(RequestSlot<Q, R>) -> F + Send + Sync + 'static,
    ) -> FuturePool<Q, R, F> {
        FuturePool(Arc::new(Shared { handler: Box::new(handler), idle: Mutex::new(Vec::new()) }))
    }

    /// Processes a request in an idle future, or in a new one. The future returns to the pool with
    /// the answer; a call dropped before that drops its future too.
    pub fn call(&self, request: Q) -> PooledCall<Q, R, F> {
        let idle = self.0.idle.lock().pop();
        let pooled = idle.unwrap_or_else(|| {
            let slot =
                RequestSlot(Arc::new(Mutex::new(SlotContents { request: None, answered: None })));
            PooledFuture { future: Box::pin((self.0.handler)(slot.clone())), slot }
        });
        pooled.slot.0.lock().request = Some(request);
        PooledCall { pooled: Some(pooled), pool: self.clone() }
    }

    fn recycle(&self, pooled: PooledFuture<Q, R, F>) {
        let mut idle = self.0.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(pooled);
        }
    }
}

impl<Q, R, F: Future<Output = ()>> Future for PooledCall<Q, R, F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        // A future is not polled after it has finished.
        let Some(pooled) = &mut self.pooled else { return Poll::Pending };
        // It never finishes: it is pending even when it waits for the next request.
        let (Poll::Ready(()) | Poll::Pending) = pooled.future.as_mut().poll(cx);
        let Some(answer) = pooled.slot.answered() else { return Poll::Pending };
        if let Some(pooled) = self.pooled.take() {
            self.pool.recycle(pooled);
        }
        Poll::Ready(answer)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/future_pool.rs"]
mod tests;
