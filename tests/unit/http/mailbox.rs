//! Unit tests of `src/http/mailbox.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use super::*;

#[test]
fn a_thread_is_quiet_once_nothing_was_asked_for_long() {
    for _ in 0..2 {
        assert!(Mailbox::current().is_none());
        assert!((0..READ_ONLY_IDLES).all(|_| !serves_reads_only()));
        assert!((0..3).all(|_| serves_reads_only()));
    }
}

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn the_thread_that_opened_the_box_is_woken_once_and_wakes_all_callers() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        assert!(Mailbox::current().is_none());
        let opened = tokio::spawn(open());
        for round in 1..=3 {
            tokio::task::yield_now().await;
            let mailbox = Mailbox::current().unwrap();
            let callers: [Arc<Woken>; 3] = Default::default();
            let put = |caller: &Arc<Woken>| mailbox.put(Waker::from(Arc::clone(caller)));
            let thread: Vec<Option<Waker>> = callers.iter().map(put).collect();
            assert_eq!(thread.iter().filter(|waker| waker.is_some()).count(), 1, "{round}");
            assert!(callers.iter().all(|caller| caller.0.load(Ordering::SeqCst) == 0));
            std::thread::spawn(|| thread.into_iter().flatten().for_each(Waker::wake));
            while callers.iter().any(|caller| caller.0.load(Ordering::SeqCst) == 0) {
                tokio::task::yield_now().await;
            }
            assert!(callers.iter().all(|caller| caller.0.load(Ordering::SeqCst) == 1));
        }
        opened.abort();
    });
}
