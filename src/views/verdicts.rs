//! What became of the records that did not simply do what they asked for: those refused, those only
//! proposed, and those that repeat an earlier one.

use std::collections::BTreeMap;

use super::fault::Fault;
use super::history::chain::RowIndex;
use super::history::stream::{Pages, Row, Tail};
use super::history::{Coder, History, HistoryError, Kind};
use super::saved::{Saved, Sink, Source};
use exchange::effect::{Applied, Effect};
use exchange::image::coding::BadImage;
use exchange::reject::Reject;
use exchange::units::Sequence;

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// It waits for another operator.
    Proposed,
    /// An earlier record did it.
    Repeated,
    /// It changed nothing.
    Refused(Reject),
}

impl Came {
    /// What became of a record with these effects; `None`: it did what it asked for.
    pub const fn of(effects: &[Effect]) -> Option<Came> {
        match effects {
            [Effect::Refused(reject)] => Some(Came::Refused(*reject)),
            [Effect::Repeated { .. }] => Some(Came::Repeated),
            [Effect::Proposed(_), ..] => Some(Came::Proposed),
            _ => None,
        }
    }

    /// In a word; a refusal's is its code.
    pub const fn word(self) -> &'static str {
        match self {
            Came::Proposed => "PROPOSED",
            Came::Repeated => "REPEATED",
            Came::Refused(reject) => reject.code(),
        }
    }
}

/// What became of one record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verdict {
    record: Sequence,
    came: Came,
}

/// Those of all records.
#[derive(Debug, Default)]
pub struct Verdicts {
    history: History,
    tail: Tail<Verdict>,
}

/// The venue's one stream.
const OWNER: u32 = 0;

impl Verdicts {
    /// None yet; pages go to `history`.
    pub(super) fn on(history: History) -> Verdicts {
        Verdicts { history, tail: Tail::default() }
    }

    /// Notes what became of the next record.
    pub(super) fn fold(&mut self, applied: &Applied<'_>) -> Result<(), Fault> {
        let Some(came) = Came::of(applied.effects) else { return Ok(()) };
        let verdict = Verdict { record: applied.sequence, came };
        self.tail.push_on(&self.history, OWNER, &verdict).map(drop)
    }

    /// They as they are now, to be read later.
    pub fn now(&self) -> VerdictsNow {
        VerdictsNow(Pages::of(self.history.clone(), OWNER, self.tail.clone()))
    }
}

/// What became of records, as of one moment.
#[derive(Debug)]
pub struct VerdictsNow(Pages<Verdict>);

impl VerdictsNow {
    /// What became of the records from `first` to `last`; those that are not listed did what they
    /// asked for. Reads history, so not under the read model's lock.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn of(
        mut self,
        first: Sequence,
        last: Sequence,
    ) -> Result<BTreeMap<Sequence, Came>, HistoryError> {
        let (mut found, mut index) = (BTreeMap::new(), self.0.before(|row| row.record < first)?);
        while let Some(row) = self.0.row(index)?.filter(|row| row.record <= last) {
            found.insert(row.record, row.came);
            index = index.saturating_add(1);
        }
        Ok(found)
    }
}

impl Saved for Verdicts {
    fn save(&self, sink: &mut Sink<'_>) {
        self.tail.save(sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        Ok(Verdicts { history: source.history.clone(), tail: Saved::load(source)? })
    }
}

// Packing.

impl Row for Verdict {
    type Base = Sequence;

    const KIND: Kind = Kind::Verdicts;

    fn base(&self) -> Sequence {
        self.record
    }

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &Sequence,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        let record = coder.sequence(*before, row.map(|row| row.record))?;
        let came = row.map(|row| row.came);
        let kind = came.map(|came| match came {
            Came::Proposed => 0,
            Came::Repeated => 1,
            Came::Refused(_) => 2,
        });
        let came = match coder.imaged::<u8>(kind)? {
            0 => Came::Proposed,
            1 => Came::Repeated,
            2 => Came::Refused(coder.imaged(match came {
                Some(Came::Refused(reject)) => Some(reject),
                _ => None,
            })?),
            _ => return Err(BadImage::Value("Verdict")),
        };
        Ok(Verdict { record, came })
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/verdicts.rs"]
mod tests;
