//! Which order has which name, for ever: fingerprints of a user's names in sorted runs, cut by
//! their first bits. Runs of equal length are merged as they become several, so that a name is
//! written a few times and looked for in a few places, however many there are.
//!
//! Runs that were merged are left where they are: a replay may merge them again. So a name is
//! written once a level, four times in all, and what is left behind is three quarters of that.

use crate::exchange::idempotency::Fingerprint;
use crate::exchange::ids::{Token, UserNo};
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, read_bytes, write_bytes,
};
use crate::projection::history::chain::RowIndex;
use crate::projection::history::{History, HistoryError, Kind, PageKey};

/// Names of a user that wait in memory until they are a run.
const RUN: u32 = 128;
/// Bits of a fingerprint that a level adds to the cut: eight runs become one of eight times as
/// many parts.
const FAN_BITS: u32 = 3;
/// How many runs become one.
const FAN: u32 = 1 << FAN_BITS;
/// Levels of runs; those of the last one are not merged any more, since to merge them would keep
/// everybody waiting for too long.
const LEVELS: u32 = 4;

/// What is kept of a name, and whose place among the user's orders it is.
type Entry = (u64, RowIndex);

/// Bytes of an [`Entry`].
const ENTRY_BYTES: usize = 12;

/// What is kept of a name.
pub(super) fn mark(user: UserNo, name: &Token) -> u64 {
    let Fingerprint(bytes) = Fingerprint::of_order_name(user, name);
    bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The names of a user's orders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// Runs written at the lowest level.
    runs: u32,
    /// The newest names, oldest first.
    waiting: Vec<Entry>,
}

/// A run of some level.
#[derive(Debug, Clone, Copy)]
struct Run {
    level: u32,
    number: u32,
}

impl Run {
    fn key(self, user: UserNo, part: u32) -> PageKey {
        let Run { level, number } = self;
        let page = u64::from(level) << 56 | u64::from(number) << 16 | u64::from(part);
        PageKey { kind: Kind::Names, owner: user.0, page }
    }

    /// Which part of the run has this mark.
    fn part(self, mark: u64) -> u32 {
        let bits = FAN_BITS * self.level;
        if bits == 0 { 0 } else { u32::try_from(mark >> (u64::BITS - bits)).unwrap_or(0) }
    }
}

impl Names {
    /// Takes down a name.
    pub(super) fn add(&mut self, history: &History, user: UserNo, name: &Token, place: RowIndex) {
        self.waiting.push((mark(user, name), place));
        if self.waiting.len() < RUN as usize {
            return;
        }
        self.waiting.sort_unstable();
        let number = self.runs;
        history.put(Run { level: 0, number }.key(user, 0), packed(&self.waiting));
        self.waiting.clear();
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

    /// The runs that there are, the one with the newest names first.
    fn newest_first(&self) -> impl Iterator<Item = Run> + use<> {
        let runs = self.runs;
        (0..LEVELS).flat_map(move |level| {
            let of_level = runs >> (FAN_BITS * level);
            let merged = if level + 1 < LEVELS { of_level / FAN * FAN } else { 0 };
            (merged..of_level).rev().map(move |number| Run { level, number })
        })
    }

    /// What `look` finds at the newest place of this name. It is asked for places that may have
    /// the name, and says nothing of those that have not.
    pub(super) fn find<T>(
        &self,
        history: &History,
        user: UserNo,
        name: &Token,
        mut look: impl FnMut(RowIndex) -> Result<Option<T>, HistoryError>,
    ) -> Result<Option<T>, HistoryError> {
        let mark = mark(user, name);
        let places = self.waiting.iter().rev().filter(|(other, _)| *other == mark);
        for (_, place) in places {
            if let Some(found) = look(*place)? {
                return Ok(Some(found));
            }
        }
        for run in self.newest_first() {
            let entries = read(history, run.key(user, run.part(mark)))?;
            let same = entries.partition_point(|(other, _)| *other < mark);
            let same = entries.get(same..).unwrap_or_default();
            let same = same.iter().take_while(|(other, _)| *other == mark);
            for (_, place) in same.collect::<Vec<_>>().into_iter().rev() {
                if let Some(found) = look(*place)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// How many names wait, in an image no more than can.
    fn check(&self) -> Result<(), BadImage> {
        if self.waiting.len() < RUN as usize { Ok(()) } else { Err(BadImage::Value("names")) }
    }
}

impl Imaged for Names {
    fn write(&self, sink: &mut impl ImageSink) {
        let Names { runs, waiting } = self;
        runs.write(sink);
        write_bytes(&packed(waiting), sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let names = Names { runs: u32::read(source)?, waiting: entries(&read_bytes(source)?)? };
        names.check()?;
        Ok(names)
    }
}

/// Makes a run of the eight below it, part by part.
fn merge(history: &History, user: UserNo, run: Run) {
    if !history.keeps() {
        return;
    }
    let below = run.level - 1;
    for part in 0..1_u32 << (FAN_BITS * below) {
        let mut entries = Vec::new();
        for number in (run.number * FAN..).take(FAN as usize) {
            match read(history, Run { level: below, number }.key(user, part)) {
                Ok(read) => entries.extend(read),
                Err(error) => history.failed(&error),
            }
        }
        entries.sort_unstable();
        let mut rest = entries.as_slice();
        for part in (part << FAN_BITS..).take(FAN as usize) {
            let (own, later) = rest.split_at(rest.partition_point(|e| run.part(e.0) == part));
            history.put(run.key(user, part), packed(own));
            rest = later;
        }
    }
}

fn packed(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entries.len().saturating_mul(ENTRY_BYTES));
    for (mark, place) in entries {
        mark.write(&mut bytes);
        place.write(&mut bytes);
    }
    bytes
}

fn entries(mut bytes: &[u8]) -> Result<Vec<Entry>, BadImage> {
    let mut entries = Vec::with_capacity(bytes.len() / ENTRY_BYTES);
    while !bytes.is_empty() {
        entries.push((u64::read(&mut bytes)?, RowIndex::read(&mut bytes)?));
    }
    Ok(entries)
}

fn read(history: &History, key: PageKey) -> Result<Vec<Entry>, HistoryError> {
    entries(&history.get(key)?).map_err(|cause| HistoryError::Damaged { key, cause })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::projection::history::page_storage::{MemoryPages, PageStorage};

    #[test]
    fn every_name_leads_to_its_newest_order_at_every_length() {
        let shelf = Arc::new(MemoryPages::default());
        let (history, user) = (History::on(Arc::clone(&shelf) as _), UserNo(3));
        let name = |n: u32| Token::new(&format!("n{n}")).unwrap();
        // Long enough for the last level, and each name is given twice.
        let (total, different) = (RUN * FAN * FAN * FAN + 1000, 40_000);
        let (mut names, mut next_check) = (Names::default(), 1);
        for place in 0..total {
            names.add(&history, user, &name(place % different), place);
            let count = place + 1;
            if count < next_check && count < total {
                continue;
            }
            next_check = count * 2;
            for asked in [0, place.min(1), place / 2, place.saturating_sub(130), place] {
                let newest = asked + (place - asked) / different * different;
                let given = |at: RowIndex| Ok((at % different == asked % different).then_some(at));
                let found = names.find(&history, user, &name(asked % different), given);
                assert_eq!(found, Ok(Some(newest)), "{asked} of {count}");
            }
            let found = names.find(&history, user, &name(different), |at| Ok(Some(at)));
            assert_eq!(found, Ok(None));
            let mut bytes = Vec::new();
            names.write(&mut bytes);
            assert_eq!(Names::read(&mut bytes.as_slice()), Ok(names.clone()));
        }
        // However many there are, and whatever was merged.
        let bytes = |key| shelf.get(key).unwrap().map_or(0, |page| page.len());
        let written: usize = shelf.keys().into_iter().map(bytes).sum();
        assert!(written > 0 && written <= total as usize * ENTRY_BYTES * LEVELS as usize);
    }
}
