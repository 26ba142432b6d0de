//! Mailboxes: callers on one worker thread are woken together, with one system call instead of one
//! each. A worker opens its own mailbox; callers on a thread without one are woken directly.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::outbox;

/// A thread that goes idle again within this time is busy.
const BUSY_WITHIN: Duration = Duration::from_millis(1);
/// A thread that went idle this many times without submitting a command only serves reads.
const READ_ONLY_IDLES: u32 = 16;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Mailbox>>> = const { RefCell::new(None) };
    /// When this thread last went idle.
    static LAST_IDLE: Cell<Option<Instant>> = const { Cell::new(None) };
    /// How often it went idle since a command was last submitted here.
    static IDLE_COUNT: Cell<u32> = const { Cell::new(0) };
}

/// Callers of one thread to be woken.
#[derive(Debug, Default)]
pub struct Mailbox(Mutex<Mail>);

#[derive(Debug, Default)]
struct Mail {
    callers: Vec<Waker>,
    /// The thread's own waker, unless it is awake already or about to be.
    thread: Option<Waker>,
}

impl Mailbox {
    /// This thread's mailbox, if it has opened one. Called for each command submitted.
    pub fn current() -> Option<Arc<Mailbox>> {
        IDLE_COUNT.set(0);
        CURRENT.with_borrow(Clone::clone)
    }

    /// The same for a caller that only reads.
    pub fn of_reader() -> Option<Arc<Mailbox>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Leaves word for a caller; returns the thread's waker if it must be woken for that.
    pub fn put(&self, caller: Waker) -> Option<Waker> {
        let mut mail = self.0.lock();
        mail.callers.push(caller);
        mail.thread.take()
    }
}

/// To be called before this thread goes idle. A busy thread that only serves reads yields: what
/// others send meanwhile is found at once, without a wake-up for each. A thread that is not busy
/// does not yield, since it would then have to wait for its turn; nor does one that submits
/// commands, since the sequencer waits for them.
pub fn give_way() {
    let now = Instant::now();
    let busy =
        LAST_IDLE.replace(Some(now)).is_some_and(|last| now.duration_since(last) < BUSY_WITHIN);
    if serves_reads_only() && busy {
        std::thread::yield_now();
    }
}

/// Whether this thread has gone idle often enough since a command was last submitted. Counts a
/// call.
fn serves_reads_only() -> bool {
    let idles = IDLE_COUNT.get().saturating_add(1);
    IDLE_COUNT.set(idles);
    idles > READ_ONLY_IDLES
}

/// Opens a mailbox for the callers on this thread and wakes those for whom word arrives. Must run
/// on this thread for as long as any of them waits; never ends by itself.
pub async fn open() {
    let mailbox = Arc::new(Mailbox::default());
    CURRENT.set(Some(Arc::clone(&mailbox)));
    let mut callers = Vec::new();
    let never: Infallible = poll_fn(|cx| {
        outbox::emptied_by(cx.waker());
        outbox::empty();
        {
            let mut mail = mailbox.0.lock();
            std::mem::swap(&mut mail.callers, &mut callers);
            mail.thread = Some(cx.waker().clone());
        }
        callers.drain(..).for_each(Waker::wake);
        Poll::Pending
    })
    .await;
    match never {}
}

#[cfg(test)]
#[path = "../../tests/unit/http/mailbox.rs"]
mod tests;
