//! One connection's subscriptions.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::channel::Channel;
use super::hub::Hub;
use super::message::{Asked, Delivered, Message, Slow};
use crate::auth::Caller;
use crate::problem::Problem;
use engine::Engine;
use exchange::units::Sequence;

/// One connection's subscriptions; dropping it gives everything back.
#[derive(Debug)]
pub struct Listening {
    pub(super) hub: Arc<Hub>,
    pub(super) engine: Engine,
}

impl Listening {
    /// Subscribes to channels: to each from its snapshot on, or from after the record `from`. What
    /// came of each, in their order; the others stand where one is refused.
    pub fn subscribe(
        &mut self,
        caller: &Caller,
        channels: &[Channel],
        from: Option<Sequence>,
    ) -> Vec<Asked> {
        let _ = (caller, channels, from, &self.hub);
        Vec::new()
    }

    /// Ends subscriptions; what was not handed out of them is not any more.
    pub fn unsubscribe(&mut self, channels: &[Channel]) -> Vec<Result<(), Problem>> {
        let _ = channels;
        Vec::new()
    }

    /// How many channels are subscribed to.
    pub fn count(&self) -> usize {
        0
    }

    /// Appends the next messages in order, about `bytes_max` of them; pending if there is none,
    /// and then the task is woken when there is one.
    ///
    /// # Errors
    /// The reader is too slow for a channel of which nothing may be left out.
    pub fn poll_messages(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<Arc<Message>>,
        bytes_max: usize,
    ) -> Poll<Result<Delivered, Slow>> {
        let _ = (cx, into, bytes_max);
        Poll::Pending
    }

    /// Whether the reader is too slow, to be asked while nothing is taken from it.
    ///
    /// # Errors
    /// It is.
    pub fn check(&self) -> Result<(), Slow> {
        Ok(())
    }

    /// Everything up to this record that concerns the connection was handed out.
    pub fn head(&self) -> Sequence {
        self.engine.watermark()
    }
}
