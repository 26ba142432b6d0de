//! Seats: places on the heap in which requests are attended, one after the other. What attends a
//! request is large, and the allocator is slow with what is large: a seat is used again at once.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;

/// Seats kept while nobody sits in them. A thread seldom attends to more at a time, and a crowd
/// that came once must not be paid for ever after.
const SPARE_MAX: usize = 64;

/// A place for a future.
type Seat<F> = Pin<Box<Option<F>>>;

/// Seats that are free. Clones share them.
pub struct Seats<F>(Arc<Mutex<Vec<Seat<F>>>>);

/// A future in its seat.
pub struct Seated<F> {
    seat: Option<Seat<F>>,
    seats: Seats<F>,
}

impl<F> Clone for Seats<F> {
    fn clone(&self) -> Seats<F> {
        Seats(Arc::clone(&self.0))
    }
}

impl<F> Default for Seats<F> {
    fn default() -> Seats<F> {
        Seats(Arc::new(Mutex::new(Vec::new())))
    }
}

impl<F: Future> Seats<F> {
    /// Gives a future a seat, which it leaves at its end.
    pub fn seat(&self, future: F) -> Seated<F> {
        let mut seat = self.0.lock().pop().unwrap_or_else(|| Box::pin(None));
        seat.set(Some(future));
        Seated { seat: Some(seat), seats: self.clone() }
    }

    fn take_back(&self, mut seat: Seat<F>) {
        seat.set(None);
        let mut spare = self.0.lock();
        if spare.len() < SPARE_MAX {
            spare.push(seat);
        }
    }
}

impl<F: Future> Future for Seated<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let sitting = self.seat.as_mut().and_then(|seat| seat.as_mut().as_pin_mut());
        // After its end a future is not polled.
        let Some(sitting) = sitting else { return Poll::Pending };
        let came = ready!(sitting.poll(cx));
        if let Some(seat) = self.seat.take() {
            self.seats.take_back(seat);
        }
        Poll::Ready(came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_seat_is_used_again_and_what_sat_in_it_is_gone() {
        let (seats, held) = (Seats::default(), Arc::new(()));
        let attend = |number: usize| {
            let held = Arc::clone(&held);
            seats.seat(async move {
                tokio::task::yield_now().await;
                (number, Arc::strong_count(&held))
            })
        };
        let place = |seated: &Seated<_>| seated.seat.as_ref().map(|seat| &raw const **seat);
        let (first, second) = (attend(1), attend(2));
        let (one, two) = (place(&first), place(&second));
        assert_ne!(one, two);
        assert_eq!((first.await, Arc::strong_count(&held)), ((1, 3), 2));
        let third = attend(3);
        assert_eq!(place(&third), one);
        drop((second, third));
        // Those that did not come to their end took their seats with them.
        assert_eq!((seats.0.lock().len(), Arc::strong_count(&held)), (0, 1));
        let many: Vec<_> = (0..2 * SPARE_MAX).map(attend).collect();
        for seated in many {
            seated.await;
        }
        assert_eq!(seats.0.lock().len(), SPARE_MAX);
    }
}
