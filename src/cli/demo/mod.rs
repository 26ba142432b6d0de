//! The demo: a venue with a catalogue, people, sixty days of trading behind it and more to come,
//! for `serve --demo`.
//!
//! Must not know: any trading rule; HTTP beyond the client and the example lines it prints.

pub(crate) mod people;
pub(crate) mod pictures;
pub(crate) mod script;
pub(crate) mod chance;
pub(crate) mod walk;
pub(crate) mod flow;
pub(crate) mod scribe;
pub(crate) mod history;
pub(crate) mod living;
pub(crate) mod stage;
pub(crate) mod banner;

use std::net::SocketAddr;

use exchange::invariant::Broken;
use exchange::script::ScriptError;
use exchange::units::Sequence;
use journal::JournalError;
use journal::record::EncodeError;

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
    /// The journal cannot be read or written.
    #[error("the demo's past is not journaled: {0}")]
    Journal(#[from] JournalError),
    /// A record cannot be written.
    #[error("the demo's past cannot be written: {0}")]
    Record(#[from] EncodeError),
    /// The exchange contradicts itself.
    #[error("the demo's past contradicts itself: {0}")]
    Broken(#[from] Broken),
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

/// A demo in memory whose past ended some days ago, for the tests of this module.
#[cfg(test)]
fn venue() -> engine::Engine {
    use std::sync::LazyLock;

    use engine::{clock, start};
    use exchange::units::{Sequence, TimeMs};
    use journal::memory::MemoryJournal;
    use journal::{Journal, block::Block};

    const DAYS_AGO_MS: i64 = 5 * 24 * 60 * 60 * 1_000;
    // Written once, since it takes a while without optimisation.
    static PAST: LazyLock<Vec<Block>> = LazyLock::new(|| {
        let mut journal = MemoryJournal::new();
        let ended = TimeMs::new(clock::now().get() - DAYS_AGO_MS).unwrap();
        history::write(&mut journal, ended, pictures::Pictures::at("http://x")).unwrap().unwrap();
        journal.read(Sequence::new(1)).map(|block| (*block.unwrap()).clone()).collect()
    });
    let mut journal = MemoryJournal::new();
    for block in PAST.iter() {
        journal.append(block.clone()).unwrap();
    }
    start::start(journal, start::Options::default()).unwrap().engine()
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/demo/mod.rs"]
mod tests;
