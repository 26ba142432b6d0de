//! The demo: creates a venue with a catalogue, users and order books, for `serve --demo`.
//!
//! Must not know: any trading rule; HTTP beyond the example lines it prints.

pub mod texts;
pub mod people;
pub mod seed;
pub mod books;
pub mod bets;
pub mod quotes;
pub mod pipeline;
pub mod banner;

use std::net::SocketAddr;

use engine::pending::Refusal;
use exchange::reject::Reject;
use exchange::units::Sequence;
use flow::{AccountIndex, FlowError, OrderRef};

use texts::CatalogueError;

/// Why the demo could not be created.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// The data directory holds a venue that is not a demo.
    #[error("this data directory holds a venue that is not a demo; give the demo its own")]
    NotADemo,
    /// The embedded catalogue is wrong.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The embedded recording is wrong.
    #[error("the demo's recorded flow cannot be read: {0}")]
    Flow(#[from] FlowError),
    /// The exchange refused a command that must succeed.
    #[error("record {} was refused: {reject}", sequence.get())]
    Refused {
        /// The command's sequence number.
        sequence: Sequence,
        /// Why.
        reject: Reject,
    },
    /// Something was created and cannot be found.
    #[error("the demo's {0} was created and cannot be found")]
    Vanished(String),
    /// The catalogue asks for a flow that was not recorded.
    #[error("the recorded flow has no market {0:?}")]
    NoSuchFlow(String),
    /// The recorded flow has an account without a user.
    #[error("account {} of the recorded flow has no user", .0.0)]
    NoSuchAccount(AccountIndex),
    /// The recorded flow cancels an order that was not accepted.
    #[error("order {} of the recorded flow was never accepted", .0.0)]
    NoSuchOrder(OrderRef),
    /// The engine takes no commands.
    #[error("the engine takes no commands: {0}")]
    Engine(Refusal),
    /// The engine stopped with commands unanswered.
    #[error("the engine stopped before it answered")]
    Stopped,
}

/// The demo was told to listen on an address that others can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the demo's keys are public, so it listens on the loopback only, not on {0}")]
pub struct NotLoopback(pub SocketAddr);

/// Refuses addresses other than loopback: the demo's keys are public.
///
/// # Errors
/// The address is not a loopback address.
pub fn loopback_only(address: SocketAddr) -> Result<(), NotLoopback> {
    if address.ip().to_canonical().is_loopback() { Ok(()) } else { Err(NotLoopback(address)) }
}

/// A bootstrapped in-memory venue for the tests of this module.
#[cfg(test)]
async fn venue() -> engine::Engine {
    let journal = journal::memory::MemoryJournal::new();
    let engine = engine::start::start(journal).unwrap().engine();
    super::bootstrap::bootstrap(&engine, None, |_| true).await.unwrap();
    engine
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/mod.rs"]
mod tests;
