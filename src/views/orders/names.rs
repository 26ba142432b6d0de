//! The index from client order ids to orders: fingerprints of a user's names in sorted runs,
//! partitioned by their leading bits. When [`FAN`] runs of one level exist, they are merged into
//! one of the next level, so that a name is written a few times and a lookup reads few pages.
//!
//! Merged runs are not deleted, since a replay may merge them again. So a name is written once per
//! level, four times in all.

use crate::history::chain::RowIndex;
use crate::history::{History, HistoryError, Kind, PageKey};
use exchange::idempotency::Fingerprint;
use exchange::ids::{Token, UserNo};
use exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged, read_bytes, write_bytes};

/// How many of a user's newest names are kept in memory before they are written as a run.
const RUN: u32 = 128;
/// Bits of the fingerprint that each level adds to the partition: eight runs become one with eight
/// times as many parts.
const FAN_BITS: u32 = 3;
/// How many runs are merged into one.
const FAN: u64 = 1 << FAN_BITS;
/// Levels of runs. Runs of the last level are not merged: that would block the writer for too long.
const LEVELS: u32 = 4;

/// The fingerprint of a name, and the index of its order among the user's orders.
type Entry = (u64, RowIndex);

/// Bytes of an [`Entry`].
const ENTRY_BYTES: usize = size_of::<u64>() + INDEX_BYTES;
/// Bytes of an index: enough for [`ROWS_MAX`](crate::history::stream::ROWS_MAX).
const INDEX_BYTES: usize = 6;

/// The first 64 bits of the fingerprint of a user's name.
pub(super) fn fingerprint(user: UserNo, name: &Token) -> u64 {
    let Fingerprint(bytes) = Fingerprint::of_order_name(user, name);
    bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The names of a user's orders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// Number of runs written at level 0.
    runs: u64,
    /// The newest names, oldest first.
    recent: Vec<Entry>,
}

/// A run of one level.
#[derive(Debug, Clone, Copy)]
struct Run {
    level: u32,
    number: u64,
}

impl Run {
    fn key(self, user: UserNo, part: u32) -> PageKey {
        let Run { level, number } = self;
        let page = u64::from(level) << 56 | number << 16 | u64::from(part);
        PageKey { kind: Kind::Names, owner: user.0, page }
    }

    /// The part of the run that holds this fingerprint.
    fn part(self, fingerprint: u64) -> u32 {
        let bits = FAN_BITS * self.level;
        if bits == 0 { 0 } else { u32::try_from(fingerprint >> (u64::BITS - bits)).unwrap_or(0) }
    }
}

impl Names {
    /// Adds a name.
    pub(super) fn add(&mut self, history: &History, user: UserNo, name: &Token, index: RowIndex) {
        self.recent.push((fingerprint(user, name), index));
        if self.recent.len() < RUN as usize {
            return;
        }
        self.recent.sort_unstable();
        let number = self.runs;
        history.put(Run { level: 0, number }.key(user, 0), packed(&self.recent));
        self.recent.clear();
        self.runs = self.runs.saturating_add(1);
        let mut written = self.runs;
        for level in 1..LEVELS {
            if !written.is_multiple_of(FAN) {
                return;
            }
            written /= FAN;
            merge(history, user, Run { level, number: written - 1 });
        }
    }

    /// The runs that have not been merged, those with the newest names first.
    fn newest_first(&self) -> impl Iterator<Item = Run> + use<> {
        let runs = self.runs;
        (0..LEVELS).flat_map(move |level| {
            let of_level = runs >> (FAN_BITS * level);
            let merged = if level + 1 < LEVELS { of_level / FAN * FAN } else { 0 };
            (merged..of_level).rev().map(move |number| Run { level, number })
        })
    }

    /// Calls `look` with the indexes of orders that may have this name, newest first, and returns
    /// the first result. `look` must return `None` for an order with another name, since
    /// fingerprints may collide.
    pub(super) fn find<T>(
        &self,
        history: &History,
        user: UserNo,
        name: &Token,
        mut look: impl FnMut(RowIndex) -> Result<Option<T>, HistoryError>,
    ) -> Result<Option<T>, HistoryError> {
        let fingerprint = fingerprint(user, name);
        let candidates = self.recent.iter().rev().filter(|(other, _)| *other == fingerprint);
        for (_, index) in candidates {
            if let Some(found) = look(*index)? {
                return Ok(Some(found));
            }
        }
        for run in self.newest_first() {
            let entries = read(history, run.key(user, run.part(fingerprint)))?;
            let same = entries.partition_point(|(other, _)| *other < fingerprint);
            let same = entries.get(same..).unwrap_or_default();
            let same = same.iter().take_while(|(other, _)| *other == fingerprint);
            for (_, index) in same.collect::<Vec<_>>().into_iter().rev() {
                if let Some(found) = look(*index)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// An image never has a full run in memory.
    fn check(&self) -> Result<(), BadImage> {
        if self.recent.len() < RUN as usize { Ok(()) } else { Err(BadImage::Value("names")) }
    }
}

impl Imaged for Names {
    fn write(&self, sink: &mut impl ImageSink) {
        let Names { runs, recent } = self;
        runs.write(sink);
        write_bytes(&packed(recent), sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let names = Names { runs: u64::read(source)?, recent: entries(&read_bytes(source)?)? };
        names.check()?;
        Ok(names)
    }
}

/// Merges eight runs of the level below into this run, part by part.
fn merge(history: &History, user: UserNo, run: Run) {
    if !history.keeps() {
        return;
    }
    let below = run.level - 1;
    for part in 0..1_u32 << (FAN_BITS * below) {
        let mut entries = Vec::new();
        for number in run.number * FAN..(run.number + 1) * FAN {
            match read(history, Run { level: below, number }.key(user, part)) {
                Ok(read) => entries.extend(read),
                Err(error) => history.failed(&error),
            }
        }
        entries.sort_unstable();
        let mut rest = entries.as_slice();
        for part in part << FAN_BITS..(part + 1) << FAN_BITS {
            let (own, later) = rest.split_at(rest.partition_point(|e| run.part(e.0) == part));
            history.put(run.key(user, part), packed(own));
            rest = later;
        }
    }
}

fn packed(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entries.len().saturating_mul(ENTRY_BYTES));
    for (fingerprint, index) in entries {
        fingerprint.write(&mut bytes);
        let [low @ .., _, _] = index.to_le_bytes();
        bytes.extend_from_slice(&low);
    }
    bytes
}

fn entries(mut bytes: &[u8]) -> Result<Vec<Entry>, BadImage> {
    let mut entries = Vec::with_capacity(bytes.len() / ENTRY_BYTES);
    while !bytes.is_empty() {
        let fingerprint = u64::read(&mut bytes)?;
        let (low, rest) = bytes.split_first_chunk::<INDEX_BYTES>().ok_or(BadImage::Truncated)?;
        let mut index = [0; size_of::<RowIndex>()];
        for (to, byte) in index.iter_mut().zip(low) {
            *to = *byte;
        }
        entries.push((fingerprint, RowIndex::from_le_bytes(index)));
        bytes = rest;
    }
    Ok(entries)
}

fn read(history: &History, key: PageKey) -> Result<Vec<Entry>, HistoryError> {
    entries(&history.get(key)?).map_err(|cause| HistoryError::Damaged { key, cause })
}

#[cfg(test)]
#[path = "../../../tests/unit/views/orders/names.rs"]
mod tests;
