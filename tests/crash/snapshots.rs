//! The snapshots beside the journal: each that has its final name is whole and equals the audited
//! state at its record; starts use only such snapshots.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use exchange::Exchange;
use exchange::units::Sequence;
use journal::block::Head;
use journal::snapshot::{Kind, Point, SnapshotFolder};
use views::ReadModel;

/// Counts of what was seen of snapshots.
#[derive(Debug, Default)]
pub struct Seen {
    /// Snapshots compared with the audit.
    pub compared: u64,
    /// Starts that began with a snapshot.
    pub starts: u64,
    /// Kills that left one half written: a file still under its temporary name, or only the first
    /// of the two files.
    pub kills_while_written: u64,
    /// Starts that skipped a snapshot whose second file was missing.
    pub passed_over: u64,
}

/// One venue's snapshots through all its kills.
#[derive(Debug)]
pub struct Watch {
    folder: SnapshotFolder,
    /// Snapshots present and not compared yet.
    left: BTreeSet<Sequence>,
    /// Snapshots equal to the audited state.
    sound: BTreeSet<Sequence>,
}

impl Watch {
    pub fn of(venue: &Path) -> Watch {
        let folder = SnapshotFolder::of(venue);
        Watch { folder, left: BTreeSet::new(), sound: BTreeSet::new() }
    }

    /// Before an audit that begins at `head`: lists the snapshots present.
    pub fn look(&mut self, venue: &Path, head: &Head, seen: &mut Seen) {
        let states = self.folder.list(Kind::State).unwrap();
        let newest = states.first().copied();
        // A snapshot at or after the audit's position may have been written again.
        let again = |sequence: &Sequence| *sequence >= head.sequence;
        self.left = states
            .into_iter()
            .filter(|sequence| again(sequence) || !self.sound.contains(sequence))
            .collect();
        let alone = newest.is_some_and(|newest| !self.folder.path(Kind::Views, newest).exists());
        seen.kills_while_written += u64::from(alone || has_part_file(venue));
    }

    /// Compares the snapshot of the last audited record, if there is one.
    pub fn compare(
        &mut self,
        head: &Head,
        exchange: &Exchange,
        model: &ReadModel,
        seen: &mut Seen,
    ) -> Result<(), String> {
        if !self.left.remove(&head.sequence) {
            return Ok(());
        }
        let named = |error: String| format!("snapshot of record {}: {error}", head.sequence);
        let (point, image) = self.read(Kind::State, head.sequence).map_err(named)?;
        let state = exchange.digest().unwrap();
        let audited = (head.sequence, head.time, head.hash, state);
        if (point.sequence, point.time, point.chain, point.state) != audited {
            return Err(named(format!("{point:?} and not {head:?} {state}")));
        }
        if image != exchange.image().unwrap() {
            return Err(named("another state".to_owned()));
        }
        // The views file is missing if the kill came right after the state file, or if newer
        // snapshots made it obsolete.
        if self.folder.path(Kind::Views, head.sequence).exists() {
            let (of, image) = self.read(Kind::Views, head.sequence).map_err(named)?;
            let mut audited = Vec::new();
            model.write_image(&mut audited).unwrap();
            if of != point || image != audited {
                return Err(named("another read model".to_owned()));
            }
        }
        seen.compared += u64::from(self.sound.insert(head.sequence));
        Ok(())
    }

    /// After the audit no snapshot may be left uncompared.
    pub fn judge_left(&self) -> Result<(), String> {
        let left = &self.left;
        if left.is_empty() { Ok(()) } else { Err(format!("snapshots of no block's end: {left:?}")) }
    }

    /// Checks what a server's log says of the snapshots at its start.
    pub fn judge_start(&self, log: &str, seen: &mut Seen) -> Result<(), String> {
        for line in log.lines() {
            if line.contains("snapshot not used") {
                // A kill between writing the two files leaves the second missing; nothing else is
                // allowed.
                if !line.contains("SNAPSHOT_READ") {
                    return Err(format!("a snapshot was damaged: {line}"));
                }
                seen.passed_over += 1;
            }
            let Some((_, from)) = line.split_once("a snapshot was restored sequence=") else {
                continue;
            };
            let from = from.split_whitespace().next().and_then(|word| word.parse().ok());
            if !from.is_some_and(|from| self.sound.contains(&Sequence::new(from))) {
                return Err(format!("a start from what was not audited: {line}"));
            }
            seen.starts += 1;
        }
        Ok(())
    }

    fn read(&self, kind: Kind, sequence: Sequence) -> Result<(Point, Vec<u8>), String> {
        let mut file = self.folder.read(kind, sequence).map_err(|damage| damage.to_string())?;
        let (point, mut image) = (file.header().point, Vec::new());
        file.read_to_end(&mut image).map_err(|error| error.to_string())?;
        file.drain().map_err(|damage| damage.to_string())?;
        Ok((point, image))
    }
}

/// Whether a file is left under its temporary name.
fn has_part_file(venue: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(venue.join("snapshots")) else { return false };
    entries.any(|entry| entry.unwrap().path().extension().is_some_and(|end| end == "part"))
}
