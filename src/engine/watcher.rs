//! The watcher: looks once a second whether the files of a running venue are still what it opened,
//! and keeps the [stamp](super::clock_stamp) of its clock.

use std::sync::Arc;
use std::time::Duration;

use super::background::Stepped;
use super::clock::Clock;
use super::clock_stamp::ClockStamp;
use super::halt::{Halt, HaltReason};
use super::history::HistoryStore;
use journal::watch::JournalFiles;

/// How often it looks: about what is acknowledged between a loss and the halt.
const WATCH_EVERY: Duration = Duration::from_secs(1);

/// The watcher's state.
#[derive(Debug)]
pub struct Watcher {
    /// The journal's files; a change of one halts the engine.
    pub files: Option<Arc<JournalFiles>>,
    /// The pages of history; the loss of theirs does not.
    pub history: Option<HistoryStore>,
    /// Where the clock's stamp is kept, if anywhere.
    pub stamp: Option<ClockStamp>,
    /// The venue's clock.
    pub clock: Arc<Clock>,
    /// Halts the engine.
    pub halt: Arc<Halt>,
}

impl Stepped for Watcher {
    fn step(&mut self) -> Duration {
        if self.halt.reason().is_none() {
            match (self.files.as_deref().and_then(changed), &self.history) {
                (Some(reason), _) => self.halt.halt(reason),
                (None, Some(history)) => history.watch(),
                (None, None) => {}
            }
        }
        for repair in self.files.iter().flat_map(|files| files.repairs().take()) {
            tracing::warn!("{repair}; check this disk");
        }
        if let Some(stamp) = &mut self.stamp {
            stamp.keep(&self.clock);
        }
        WATCH_EVERY
    }
}

/// Why to halt, if a file of the journal is not what it was; logs what to do about it.
pub fn changed(files: &JournalFiles) -> Option<HaltReason> {
    let change = files.change()?;
    tracing::error!("{change} while the server runs; {}", files.rescue());
    Some(HaltReason::FilesChanged(change))
}
