//! Unit tests of `src/engine/mailbox.rs`.

use super::*;
use crate::pending::{CommandOutcome, Refusal, ReplySlot};

#[test]
fn a_thread_is_quiet_once_nothing_was_asked_for_long() {
    for _ in 0..2 {
        assert!(Mailbox::current().is_none());
        assert!((0..READ_ONLY_IDLES).all(|_| !serves_reads_only()));
        assert!((0..3).all(|_| serves_reads_only()));
    }
}

#[test]
fn letters_are_handed_out_on_the_thread_that_opened_the_box() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        assert!(Mailbox::current().is_none());
        let opened = tokio::spawn(open());
        tokio::task::yield_now().await;
        let mailbox = Mailbox::current().unwrap();
        let (slots, answers): (Vec<_>, Vec<_>) = (0..3).map(|_| ReplySlot::new(None)).unzip();
        let deliveries = slots.into_iter().filter_map(|slot| {
            assert!(Arc::ptr_eq(slot.mailbox().unwrap(), &mailbox));
            slot.delivery(CommandOutcome::Refused(Refusal::Overloaded))
        });
        let mut deliveries: Vec<Delivery> = deliveries.collect();
        std::thread::spawn(move || mailbox.put(&mut deliveries)).join().unwrap();
        for answer in answers {
            assert_eq!(answer.await.unwrap().unwrap_err(), Refusal::Overloaded);
        }
        opened.abort();
    });
}
