//! Whether the client of a connection is still there: looked at only while a read waits, since to
//! look costs every request a second read of its socket.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// A connection's client. Clones are of the same.
#[derive(Debug, Clone, Default)]
pub struct Presence(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether somebody wants to know.
    asked: AtomicBool,
    /// Whether it has closed its side.
    gone: AtomicBool,
}

impl Presence {
    /// Ends when the client has closed its side. Only the connection's own task is woken, by which
    /// all that serves the connection is polled.
    pub async fn ended(&self) {
        struct Asking<'a>(&'a AtomicBool);

        impl Drop for Asking<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Relaxed);
            }
        }

        let State { asked, gone } = &*self.0;
        asked.store(true, Ordering::Relaxed);
        let _asking = Asking(asked);
        poll_fn(|_| if gone.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending })
            .await;
    }

    /// Whether to look.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// Notes that the client has closed its side.
    pub fn end(&self) {
        self.0.gone.store(true, Ordering::Relaxed);
    }
}
