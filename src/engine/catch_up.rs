//! Catching up: the state with which an engine starts. It restores the newest valid snapshot and
//! replays the rest of the journal, before anything can be asked: one thread reads, verifies and
//! decodes blocks, this one applies them and compares the results, a third one folds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, Builder};

use crossbeam_channel::bounded;

use super::halt::HaltReason;
use super::history::HistoryStore;
use super::matcher;
use super::meter::Meter;
use super::pending::AppliedBlock;
use super::restore::{self, Pages, Restored};
use super::throttle::Throttle;
use exchange::units::Sequence;
use journal::disk::simulated;
use journal::reader::JournalReader;
use journal::replay::reading_ahead;
use journal::snapshot::SnapshotFolder;
use journal::{Journal, JournalError};
use views::ReadModel;
use views::history::History;

/// Applied blocks that may wait to be folded: enough that neither thread waits for the other at
/// every block.
const FOLDING_MAX: usize = 64;

/// Why an engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The journal is damaged or cannot be read.
    #[error("the journal cannot be replayed: {0}")]
    Journal(#[from] JournalError),
    /// What the engine would have halted for.
    #[error("the journal cannot be replayed: {0}")]
    Halted(HaltReason),
    /// The system could not start a thread.
    #[error("no thread could be started: {0}")]
    Thread(#[from] std::io::Error),
}

impl StartError {
    /// Whether the journal is damaged or contradicts itself, so that another start of the same
    /// software cannot succeed.
    pub const fn is_damage(&self) -> bool {
        match self {
            StartError::Journal(error) => error.is_damage(),
            StartError::Halted(reason) => reason.is_contradiction(),
            StartError::Thread(_) => false,
        }
    }
}

/// The state after the journal's last record, and the snapshot that it began with.
///
/// If a start from a snapshot goes wrong, the fault may be the snapshot's or the journal's. So the
/// whole journal is replayed from the first record, and if that succeeds the snapshot is set aside.
///
/// # Errors
/// [`StartError`]; nothing was changed.
pub fn catch_up(
    journal: &impl Journal,
    history: Option<&HistoryStore>,
    snapshots: Option<&SnapshotFolder>,
    meter: &Meter,
) -> Result<(Restored, Sequence), StartError> {
    let restored = restore_newest(history, snapshots, &journal.reader());
    let from = restored.sequence();
    match replay(journal, restored, history, meter) {
        Err(StartError::Halted(reason)) if from != Sequence::ZERO => {
            tracing::error!(
                snapshot = from.get(), %reason,
                "the start from this snapshot went wrong; everything is replayed from the journal"
            );
            let nothing = empty_state(history.inspect(|history| history.doubt()));
            let replayed = replay(journal, nothing, history, meter)?;
            if let Some(folder) = snapshots {
                set_aside(folder, from);
            }
            Ok((replayed, Sequence::ZERO))
        }
        replayed => replayed.map(|replayed| (replayed, from)),
    }
}

/// Replays to the journal's end.
fn replay(
    journal: &impl Journal,
    restored: Restored,
    history: Option<&HistoryStore>,
    meter: &Meter,
) -> Result<Restored, StartError> {
    let Restored { mut replayer, mut read_model } = restored;
    meter.matcher.post_applied(replayer.exchange().sequence());
    let blocks = journal.read(replayer.exchange().sequence().next());
    if simulated() {
        for block in blocks {
            let applied = matcher::apply(&mut replayer, &block?).map_err(StartError::Halted)?;
            fold(&applied, &mut read_model, history).map_err(StartError::Halted)?;
        }
        return Ok(Restored { replayer, read_model });
    }
    let died = |name| StartError::Halted(HaltReason::ThreadDied(name));
    let (folded, applied) = thread::scope(|scope| {
        let (to_folder, applied) = bounded::<Arc<AppliedBlock>>(FOLDING_MAX);
        let view = &mut read_model;
        let folder = Builder::new().name("folder".to_owned());
        let folder = folder.spawn_scoped(scope, move || {
            applied.iter().try_for_each(|applied| fold(&applied, view, history))
        })?;
        let applying = move || {
            reading_ahead(blocks, |blocks| {
                for block in blocks {
                    let block = block?;
                    let applied = matcher::apply(&mut replayer, &block);
                    let applied = applied.map_err(StartError::Halted)?;
                    meter.matcher.post_applied(block.last());
                    if to_folder.send(applied).is_err() {
                        // It says itself why it ended.
                        break;
                    }
                }
                Ok(replayer)
            })
        };
        let applied = catch_unwind(AssertUnwindSafe(applying));
        Ok::<_, std::io::Error>((folder.join(), applied))
    })?;
    let replayer = applied.unwrap_or_else(|_| Err(died("matcher")))?;
    folded.map_err(|_| died("folder"))?.map_err(StartError::Halted)?;
    Ok(Restored { replayer, read_model })
}

/// Folds a block.
fn fold(
    applied: &AppliedBlock,
    read_model: &mut ReadModel,
    history: Option<&HistoryStore>,
) -> Result<(), HaltReason> {
    applied.records().for_each(|applied| read_model.fold(&applied));
    if read_model.inconsistencies() > 0 {
        return Err(HaltReason::ReadModelBroken);
    }
    if let Some(history) = history {
        history.folded(read_model.watermark());
    }
    Ok(())
}

/// Takes a snapshot out of use that the journal has proved wrong.
fn set_aside(folder: &SnapshotFolder, snapshot: Sequence) {
    match folder.set_aside(snapshot) {
        Ok(()) => {
            tracing::warn!(snapshot = snapshot.get(), "the snapshot was wrong and is set aside");
        }
        Err(error) => tracing::error!(
            snapshot = snapshot.get(), %error,
            "the snapshot was wrong and could not be set aside: delete it, the server stopped"
        ),
    }
}

/// The empty state, for a start from the first record.
fn empty_state(history: Option<&HistoryStore>) -> Restored {
    let Some(history) = history else { return Restored::nothing(&History::default()) };
    history.folded(Sequence::ZERO);
    Restored::nothing(&history.history())
}

/// The state of the newest valid snapshot.
fn restore_newest(
    history: Option<&HistoryStore>,
    snapshots: Option<&SnapshotFolder>,
    journal: &JournalReader,
) -> Restored {
    let (Some(history), Some(folder)) = (history, snapshots) else { return empty_state(history) };
    let (latest, pages) = (Sequence::new(u64::MAX), Pages::Here(history));
    let restored = restore::newest(folder, journal, latest, pages, &mut Throttle::full());
    let Ok(restored) = restored else { return empty_state(Some(history)) };
    history.folded(restored.sequence());
    if restored.sequence() > Sequence::ZERO {
        tracing::info!(sequence = restored.sequence().get(), "a snapshot was restored");
    }
    restored
}

#[cfg(test)]
#[path = "../../tests/unit/engine/catch_up.rs"]
mod tests;
