//! Unit tests of `src/http/future_pool.rs`.

use super::*;

#[tokio::test]
async fn a_future_is_reused_and_keeps_nothing_of_its_last_request() {
    let held = Arc::new(());
    let pool = FuturePool::new(|slot: RequestSlot<(usize, Arc<()>), (usize, usize)>| async move {
        loop {
            let (number, held) = slot.next().await;
            tokio::task::yield_now().await;
            slot.answer((number, Arc::strong_count(&held)));
        }
    });
    let handler = |number: usize| pool.call((number, Arc::clone(&held)));
    let place = |call: &PooledCall<_, _, _>| call.pooled.as_ref().map(|s| Arc::as_ptr(&s.slot.0));
    let (first, second) = (handler(1), handler(2));
    let (one, two) = (place(&first), place(&second));
    assert_ne!(one, two);
    assert_eq!((first.await, Arc::strong_count(&held)), ((1, 3), 2));
    let third = handler(3);
    assert_eq!(place(&third), one);
    drop((second, third));
    // Calls that were dropped early have dropped their futures.
    assert_eq!((pool.0.idle.lock().len(), Arc::strong_count(&held)), (0, 1));
    let many: Vec<_> = (0..2 * IDLE_MAX).map(handler).collect();
    for (number, call) in many.into_iter().enumerate() {
        assert_eq!(call.await.0, number);
    }
    assert_eq!(pool.0.idle.lock().len(), IDLE_MAX);
}
