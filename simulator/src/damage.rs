//! Damage to what is on the disk while the venue is off: what a start must mend, and what it must
//! refuse, by which name.

use std::path::Path;

use crate::chance::Chance;
use crate::disk::Disk;
use crate::venue::{archive, data};

/// What a start must do.
#[derive(Debug, Clone, Copy)]
pub enum Expected {
    /// Start: there is a copy, or it can be made again.
    Started,
    /// Refuse, with one of these codes.
    Refused(&'static [&'static str]),
    /// Refuse with one of these codes, or start and take nothing damaged for sound.
    Seen(&'static [&'static str]),
}

/// All that may be damaged.
pub const NAMES: [&str; 14] = [
    "a bit of a sealed segment flipped",
    "the first segment was lost",
    "a sealed segment was lost",
    "a sealed segment was truncated",
    "a bit of the copy flipped",
    "the copy was lost",
    "a bit of a snapshot flipped",
    "the history was lost",
    "a bit of the open segment flipped",
    "the open segment was truncated",
    "a bit of the marker flipped",
    "the marker was lost",
    "a bit of the archive flipped",
    "a bit of a history page flipped",
];
/// The codes by which starts are refused.
pub const CODES: [&str; 9] = [
    "RECOVERY_TAIL",
    "RECOVERY_BEYOND",
    "RECOVERY_SHORT",
    "RECOVERY_MARKER",
    "OPEN_LOST",
    "OPEN_FILE_MISSING",
    "ARCHIVE_DAMAGED",
    "ARCHIVE_OTHER_JOURNAL",
    "ARCHIVE_AHEAD",
];
/// Bytes at the end of the log, about those of its last block.
const LAST_BYTES: usize = 400;
/// Those of a damaged archive.
const ARCHIVE: &[&str] = &["ARCHIVE_DAMAGED", "ARCHIVE_OTHER_JOURNAL"];

/// The codes of a damaged end of the log.
const TAIL: &[&str] = &["RECOVERY_TAIL", "RECOVERY_BEYOND"];

fn flip(disk: &Disk, path: &Path, at: usize, bit: u8) -> bool {
    disk.damage(path, |bytes| {
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << (bit % 8);
        }
    })
}

/// The first records of the log's segments that are there.
pub fn firsts(disk: &Disk) -> Vec<u64> {
    let segments = disk.files(&data().join("journal/log"));
    let segments = segments.iter().filter(|path| path.extension().is_some_and(|of| of == "blocks"));
    segments.filter_map(|path| path.file_stem()?.to_str()?.parse().ok()).collect()
}

/// The last segment that the copy has, as far as was noted; a note without a copy says nothing.
pub fn fed(disk: &Disk) -> u64 {
    if disk.read(&data().join("journal/sled/db")).is_none() {
        return 0;
    }
    let noted = disk.read(&data().join("journal/sled.fed")).unwrap_or_default();
    String::from_utf8_lossy(&noted).trim().parse().unwrap_or(0)
}

/// Damages something, if there is something to damage; says what, and what must come of it. Both
/// copies of the same are not damaged: the log's is not sound before it reaches beyond
/// `sound_after`.
pub fn some(
    disk: &Disk,
    chance: &mut Chance,
    sound_after: Option<u64>,
) -> Option<(&'static str, Expected)> {
    let log = data().join("journal/log");
    let segments: Vec<_> = disk.files(&log);
    let segments: Vec<_> =
        segments.iter().filter(|path| path.extension().is_some_and(|of| of == "blocks")).collect();
    let (open, sealed) = segments.split_last()?;
    let (any, bit) = (chance.number(), chance.byte(0, 7));
    let within = |length: usize| usize::try_from(any).unwrap_or(0).checked_rem(length).unwrap_or(0);
    let fed = Some(fed(disk)).filter(|fed| Some(*fed) > sound_after).unwrap_or(0);
    let copied = |path: &&&std::path::PathBuf| {
        let first = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        first.is_some_and(|first| first <= fed)
    };
    let copied: Vec<_> = sealed.iter().filter(copied).collect();
    // Half of the time what was copied last.
    let one = if chance.one_in(2) { copied.last() } else { copied.get(within(copied.len())) };
    let used = disk.read(open).map_or(0, |bytes| {
        bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1))
    });
    let (started, marker) = (Expected::Started, data().join("refused"));
    let snapshots = disk.files(&data().join("snapshots"));
    let named = match chance.below(13) {
        0 => {
            let path = one?;
            flip(disk, path, within(disk.read(path)?.len()), bit);
            ("a bit of a sealed segment flipped", started)
        }
        1 => {
            let path = one?;
            disk.lose(path);
            if Some(path) == copied.first() {
                ("the first segment was lost", Expected::Refused(&["OPEN_LOST"]))
            } else {
                ("a sealed segment was lost", started)
            }
        }
        2 => {
            let path = one?;
            let length = within(disk.read(path)?.len());
            disk.damage(path, |bytes| bytes.truncate(length));
            ("a sealed segment was truncated", started)
        }
        3 => {
            let path = data().join("journal/sled/db");
            let length = disk.read(&path)?.len();
            flip(disk, &path, within(length), bit);
            ("a bit of the copy flipped", started)
        }
        4 => {
            disk.lose(&data().join("journal/sled")).then_some(())?;
            ("the copy was lost", started)
        }
        5 => {
            let path = snapshots.get(within(snapshots.len()))?;
            flip(disk, path, within(disk.read(path)?.len()), bit);
            ("a bit of a snapshot flipped", started)
        }
        6 => {
            disk.lose(&data().join("history")).then_some(())?;
            ("the history was lost", started)
        }
        7 => {
            (used > 0).then_some(())?;
            // Half of the time where what was interrupted would stand.
            let end = if chance.one_in(2) { used.min(LAST_BYTES) } else { used };
            flip(disk, open, used.saturating_sub(end).saturating_add(within(end)), bit);
            ("a bit of the open segment flipped", Expected::Refused(TAIL))
        }
        8 => {
            let length = within(disk.read(open)?.len());
            disk.damage(open, |bytes| bytes.truncate(length));
            ("the open segment was truncated", Expected::Refused(&["RECOVERY_SHORT"]))
        }
        9 => {
            flip(disk, &marker, within(disk.read(&marker)?.len()), bit);
            ("a bit of the marker flipped", Expected::Refused(&["RECOVERY_MARKER"]))
        }
        10 => {
            disk.lose(&marker).then_some(())?;
            ("the marker was lost", Expected::Refused(&["OPEN_FILE_MISSING"]))
        }
        11 => {
            let files = disk.files(&archive());
            let files: Vec<_> = files.iter().filter(|path| path.extension().is_some()).collect();
            let path = files.get(within(files.len()))?;
            flip(disk, path, within(disk.read(path)?.len()), bit);
            ("a bit of the archive flipped", Expected::Seen(ARCHIVE))
        }
        _ => {
            let path = data().join("history/pages");
            let length = disk.read(&path)?.len();
            flip(disk, &path, within(length), bit);
            ("a bit of a history page flipped", Expected::Seen(&[]))
        }
    };
    Some(named)
}
