//! Bells: how a connection that waits for messages is woken, once for all that there is.

use std::sync::Arc;
use std::task::{Context, Waker};

use parking_lot::Mutex;

use crate::mailbox::Mailbox;

/// The bell of one connection.
#[derive(Debug, Default)]
pub struct Bell {
    waker: Mutex<Option<Waker>>,
    mailbox: Option<Arc<Mailbox>>,
}

impl Bell {
    /// The bell of a connection that this thread serves.
    pub fn here() -> Bell {
        Bell { waker: Mutex::default(), mailbox: Mailbox::of_reader() }
    }

    /// Has the task woken by the next ring.
    pub fn hang(&self, cx: &Context<'_>) {
        let mut waker = self.waker.lock();
        match &mut *waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => *waker = Some(cx.waker().clone()),
        }
    }

    /// Rings; returns whom to wake, once all bells have rung.
    pub fn ring(&self) -> Option<Waker> {
        let waker = self.waker.lock().take()?;
        match &self.mailbox {
            Some(mailbox) => mailbox.put(waker),
            None => Some(waker),
        }
    }
}
