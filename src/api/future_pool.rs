//! Seats: places on the heap in which requests are attended, one after the other. What attends a
//! request is large: it is made once for each seat and stays where it is, since to make it anew
//! would be to copy it, and the allocator is slow with what is large.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;

/// Seats kept while nobody sits in them, each of between four and five kilobytes. A thread seldom
/// attends to more at a time, and a larger crowd that came once is not paid for ever after.
const SPARE_MAX: usize = 256;

/// Seats for requests `Q` that are answered with `R`. Clones share those that are free.
pub struct FuturePool<Q, R, F>(Arc<All<Q, R, F>>);

/// What all clones share.
struct All<Q, R, F> {
    attend: Box<dyn Fn(RequestSlot<Q, R>) -> F + Send + Sync>,
    spare: Mutex<Vec<PooledFuture<Q, R, F>>>,
}

/// Where a request lies before whoever attends to it, and then its answer.
pub struct RequestSlot<Q, R>(Arc<Mutex<SlotContents<Q, R>>>);

/// What lies there: one of them or neither. Each has a room of its own, which is less to copy than
/// one that both share.
struct SlotContents<Q, R> {
    asked: Option<Q>,
    answered: Option<R>,
}

/// A place, and what attends there to whatever comes before it.
struct PooledFuture<Q, R, F> {
    attending: Pin<Box<F>>,
    desk: RequestSlot<Q, R>,
}

/// A request in its seat.
pub struct PooledCall<Q, R, F> {
    seat: Option<PooledFuture<Q, R, F>>,
    seats: FuturePool<Q, R, F>,
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
    /// The next request. Nobody is woken for it: whoever puts it here asks for its answer.
    pub async fn next(&self) -> Q {
        poll_fn(|_| self.0.lock().asked.take().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Answers it.
    pub fn answer(&self, answer: R) {
        self.0.lock().answered = Some(answer);
    }

    fn answered(&self) -> Option<R> {
        self.0.lock().answered.take()
    }
}

impl<Q, R, F: Future<Output = ()>> FuturePool<Q, R, F> {
    /// Seats in which `attend` takes requests from its desk and answers them, and never ends.
    pub fn new(
        attend: impl Fn(RequestSlot<Q, R>) -> F + Send + Sync + 'static,
    ) -> FuturePool<Q, R, F> {
        FuturePool(Arc::new(All { attend: Box::new(attend), spare: Mutex::new(Vec::new()) }))
    }

    /// Gives a request a seat, which it leaves with its answer.
    pub fn seat(&self, request: Q) -> PooledCall<Q, R, F> {
        let spare = self.0.spare.lock().pop();
        let seat = spare.unwrap_or_else(|| {
            let desk =
                RequestSlot(Arc::new(Mutex::new(SlotContents { asked: None, answered: None })));
            PooledFuture { attending: Box::pin((self.0.attend)(desk.clone())), desk }
        });
        seat.desk.0.lock().asked = Some(request);
        PooledCall { seat: Some(seat), seats: self.clone() }
    }

    fn take_back(&self, seat: PooledFuture<Q, R, F>) {
        let mut spare = self.0.spare.lock();
        if spare.len() < SPARE_MAX {
            spare.push(seat);
        }
    }
}

impl<Q, R, F: Future<Output = ()>> Future for PooledCall<Q, R, F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        // After its end a future is not polled.
        let Some(seat) = &mut self.seat else { return Poll::Pending };
        // It waits for the next request as it waits for anything else.
        let (Poll::Ready(()) | Poll::Pending) = seat.attending.as_mut().poll(cx);
        let Some(answer) = seat.desk.answered() else { return Poll::Pending };
        if let Some(seat) = self.seat.take() {
            self.seats.take_back(seat);
        }
        Poll::Ready(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_seat_is_used_again_and_what_sat_in_it_is_gone() {
        let held = Arc::new(());
        let seats =
            FuturePool::new(|desk: RequestSlot<(usize, Arc<()>), (usize, usize)>| async move {
                loop {
                    let (number, held) = desk.next().await;
                    tokio::task::yield_now().await;
                    desk.answer((number, Arc::strong_count(&held)));
                }
            });
        let attend = |number: usize| seats.seat((number, Arc::clone(&held)));
        let place =
            |seated: &PooledCall<_, _, _>| seated.seat.as_ref().map(|s| Arc::as_ptr(&s.desk.0));
        let (first, second) = (attend(1), attend(2));
        let (one, two) = (place(&first), place(&second));
        assert_ne!(one, two);
        assert_eq!((first.await, Arc::strong_count(&held)), ((1, 3), 2));
        let third = attend(3);
        assert_eq!(place(&third), one);
        drop((second, third));
        // Those that did not come to their end took their seats with them.
        assert_eq!((seats.0.spare.lock().len(), Arc::strong_count(&held)), (0, 1));
        let many: Vec<_> = (0..2 * SPARE_MAX).map(attend).collect();
        for (number, seated) in many.into_iter().enumerate() {
            assert_eq!(seated.await.0, number);
        }
        assert_eq!(seats.0.spare.lock().len(), SPARE_MAX);
    }
}
