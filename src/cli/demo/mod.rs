//! The demo: creates a venue with a catalogue, users and order books, for `serve --demo`.
//!
//! Must not know: any trading rule; HTTP beyond the example lines it prints.

pub(crate) mod people;
pub(crate) mod script;
pub(crate) mod seed;
pub(crate) mod banner;

use std::io;
use std::net::SocketAddr;

use engine::past::PastError;
use engine::pending::Refusal;
use exchange::reject::Reject;
use exchange::script::ScriptError;
use exchange::units::Sequence;

/// Why the demo could not be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SeedError {
    /// The data directory holds a venue that is not a demo.
    #[error("this data directory holds a venue that is not a demo; give the demo its own")]
    NotADemo,
    /// The data directory holds the beginning of another demo.
    #[error("record {} is not of this demo: another version began it; delete its data", .0.get())]
    OfAnother(Sequence),
    /// The embedded script is wrong.
    #[error("the demo's script cannot be read: {0}")]
    Script(#[from] ScriptError),
    /// The embedded script cannot be unpacked.
    #[error("the demo's script cannot be unpacked: {0}")]
    Packed(#[from] io::Error),
    /// The journal cannot be read.
    #[error("the demo that was begun cannot be read: {0}")]
    Begun(#[from] PastError),
    /// The exchange refused a command that must succeed.
    #[error("record {} was refused: {reject}", sequence.get())]
    Refused {
        /// The command's sequence number.
        sequence: Sequence,
        /// Why.
        reject: Reject,
    },
    /// The engine takes no commands.
    #[error("the engine takes no commands: {0}")]
    Engine(#[from] Refusal),
}

/// The demo was told to listen on an address that others can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the demo's keys are public, so it listens on the loopback only, not on {0}")]
pub(crate) struct NotLoopback(pub SocketAddr);

/// Refuses addresses other than loopback: the demo's keys are public.
///
/// # Errors
/// The address is not a loopback address.
pub(crate) fn loopback_only(address: SocketAddr) -> Result<(), NotLoopback> {
    if address.ip().to_canonical().is_loopback() { Ok(()) } else { Err(NotLoopback(address)) }
}

/// A bootstrapped in-memory venue for the tests of this module.
#[cfg(test)]
fn venue() -> engine::Engine {
    let journal = journal::memory::MemoryJournal::new();
    let engine = engine::start::start(journal, engine::start::Options::default()).unwrap().engine();
    super::bootstrap::bootstrap(&engine, None, |_| true).unwrap();
    engine
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/mod.rs"]
mod tests;
