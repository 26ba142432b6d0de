//! Mailboxes: answers for callers of one worker thread are delivered together with one wake-up,
//! instead of one system call each. A worker opens its own mailbox; callers on a thread without one
//! are answered directly.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::pending::Delivery;

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

/// Answers that wait for the callers of one thread.
#[derive(Debug, Default)]
pub struct Mailbox {
    deliveries: Mutex<Vec<Delivery>>,
    arrived: Notify,
}

impl Mailbox {
    /// This thread's mailbox, if it has opened one. Called for each command submitted.
    pub fn current() -> Option<Arc<Mailbox>> {
        IDLE_COUNT.set(0);
        CURRENT.with_borrow(Clone::clone)
    }

    /// Adds deliveries, leaving none in the given vector, and wakes the thread once.
    pub fn put(&self, deliveries: &mut Vec<Delivery>) {
        {
            let mut waiting = self.deliveries.lock();
            if waiting.is_empty() {
                // Swapped, so that the vectors' capacity is reused.
                std::mem::swap(&mut *waiting, deliveries);
            } else {
                waiting.append(deliveries);
            }
        }
        self.arrived.notify_one();
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

/// Opens a mailbox for the callers on this thread and delivers what arrives. Must run on this
/// thread for as long as any of them waits; never ends by itself.
pub async fn open() {
    let mailbox = Arc::new(Mailbox::default());
    CURRENT.set(Some(Arc::clone(&mailbox)));
    let mut deliveries = Vec::new();
    loop {
        mailbox.arrived.notified().await;
        std::mem::swap(&mut *mailbox.deliveries.lock(), &mut deliveries);
        deliveries.drain(..).for_each(Delivery::deliver);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/mailbox.rs"]
mod tests;
