//! The bell of whoever waits for an answer.

use std::sync::Arc;
use std::task::{Context, Waker};

use super::mailbox::Mailbox;

/// Whoever waits for an answer, to be woken through the mailbox of the thread that polls it, if it
/// has one.
#[derive(Debug, Default)]
pub struct Bell {
    waker: Option<Waker>,
}

impl Bell {
    /// Notes who waits.
    pub fn hang(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waker = Some(cx.waker().clone()),
        }
    }

    /// Whom to wake: the mailbox, unless it is awake already.
    pub fn ring(&mut self, mailbox: Option<&Arc<Mailbox>>) -> Option<Waker> {
        let waker = self.waker.take()?;
        match mailbox {
            Some(mailbox) => mailbox.put(waker),
            None => Some(waker),
        }
    }
}
