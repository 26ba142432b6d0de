//! Mailboxes: how answers that are ready together reach the callers of one thread with one wake-up,
//! where each would cost a system call of its own. A thread that runs many callers opens one for
//! itself; whoever asks from any other thread is answered directly.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::pending::Delivery;

/// A thread that is about to sleep so soon after it last was is busy.
const BUSY_WITHIN: Duration = Duration::from_millis(1);
/// A thread where nothing was asked for so many sleeps only has readers to serve.
const QUIET_SLEEPS: u32 = 16;

thread_local! {
    static HERE: RefCell<Option<Arc<Mailbox>>> = const { RefCell::new(None) };
    /// When this thread was last about to sleep.
    static TIRED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// How often it was since anything was asked here whose answer comes to its mailbox.
    static QUIET: Cell<u32> = const { Cell::new(0) };
}

/// Where answers wait for the callers of one thread.
#[derive(Debug, Default)]
pub struct Mailbox {
    letters: Mutex<Vec<Delivery>>,
    came: Notify,
}

impl Mailbox {
    /// This thread's, if it has opened one: for whoever asks something.
    pub fn here() -> Option<Arc<Mailbox>> {
        QUIET.set(0);
        HERE.with_borrow(Clone::clone)
    }

    /// Puts letters in, leaving none, and wakes the thread once.
    pub fn put(&self, letters: &mut Vec<Delivery>) {
        {
            let mut waiting = self.letters.lock();
            if waiting.is_empty() {
                // Their places are given back to be filled again.
                std::mem::swap(&mut *waiting, letters);
            } else {
                waiting.append(letters);
            }
        }
        self.came.notify_one();
    }
}

/// To be called before this thread sleeps. If it is busy with readers alone, others go first: what
/// they send meanwhile is found at once, and nobody need wake this thread for each piece of it. One
/// that is not busy is better woken, since whoever gave way waits for its turn; and one that hands
/// commands in is waited for by those who journal them.
pub fn give_way() {
    let now = Instant::now();
    let busy = TIRED.replace(Some(now)).is_some_and(|last| now.duration_since(last) < BUSY_WITHIN);
    if is_quiet() && busy {
        std::thread::yield_now();
    }
}

/// Whether this thread has slept often enough since anything was asked here, and will once more.
fn is_quiet() -> bool {
    let sleeps = QUIET.get().saturating_add(1);
    QUIET.set(sleeps);
    sleeps > QUIET_SLEEPS
}

/// Opens a mailbox for the callers on this thread, and hands out what comes; to be run on this
/// thread for as long as any of them waits. Never ends by itself.
pub async fn open() {
    let mailbox = Arc::new(Mailbox::default());
    HERE.set(Some(Arc::clone(&mailbox)));
    let mut letters = Vec::new();
    loop {
        mailbox.came.notified().await;
        std::mem::swap(&mut *mailbox.letters.lock(), &mut letters);
        letters.drain(..).for_each(Delivery::deliver);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pending::{CommandOutcome, Refusal, ReplySlot};

    #[test]
    fn a_thread_is_quiet_once_nothing_was_asked_for_long() {
        for _ in 0..2 {
            assert!(Mailbox::here().is_none());
            assert!((0..QUIET_SLEEPS).all(|_| !is_quiet()));
            assert!((0..3).all(|_| is_quiet()));
        }
    }

    #[test]
    fn letters_are_handed_out_on_the_thread_that_opened_the_box() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            assert!(Mailbox::here().is_none());
            let opened = tokio::spawn(open());
            tokio::task::yield_now().await;
            let mailbox = Mailbox::here().unwrap();
            let (slots, answers): (Vec<_>, Vec<_>) = (0..3).map(|_| ReplySlot::new(None)).unzip();
            let letters = slots.into_iter().filter_map(|slot| {
                assert!(Arc::ptr_eq(slot.home().unwrap(), &mailbox));
                slot.letter(CommandOutcome::Refused(Refusal::Overloaded))
            });
            let mut letters: Vec<Delivery> = letters.collect();
            std::thread::spawn(move || mailbox.put(&mut letters)).join().unwrap();
            for answer in answers {
                assert_eq!(answer.await.unwrap().unwrap_err(), Refusal::Overloaded);
            }
            opened.abort();
        });
    }
}
