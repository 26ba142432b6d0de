//! Names in the state image, in the order of their expiry checks.

use smallvec::SmallVec;

use super::{ExpiryCheck, Fingerprint, IdempotencyTable, NameEntry};
use crate::exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged, read_count};
use crate::exchange::image::coding::{imaged, write_count};
use crate::exchange::units::Sequence;

imaged!(ExpiryCheck { at, name, first });
imaged!(NameEntry { user, body, until, firsts, order });

impl Imaged for Fingerprint {
    fn write(&self, sink: &mut impl ImageSink) {
        self.0.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Imaged::read(source).map(Fingerprint)
    }
}

/// A part, and the record that executed it.
impl Imaged for (u8, Sequence) {
    fn write(&self, sink: &mut impl ImageSink) {
        self.0.write(sink);
        self.1.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Ok((Imaged::read(source)?, Imaged::read(source)?))
    }
}

impl Imaged for SmallVec<[(u8, Sequence); 1]> {
    fn write(&self, sink: &mut impl ImageSink) {
        write_count(self.len(), sink);
        self.iter().for_each(|first| first.write(sink));
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        (0..read_count(source)?).map(|_| Imaged::read(source)).collect()
    }
}

impl Imaged for IdempotencyTable {
    fn write(&self, sink: &mut impl ImageSink) {
        write_count(self.checks.len(), sink);
        for check in &self.checks {
            check.write(sink);
            // A reused name is written with its newer expiry entry only.
            let entry = self.entries.get(&check.name).filter(|entry| entry.starts_at(check.first));
            entry.is_some().write(sink);
            if let Some(entry) = entry {
                entry.write(sink);
            }
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut table = IdempotencyTable::default();
        for _ in 0..read_count(source)? {
            let check = ExpiryCheck::read(source)?;
            if bool::read(source)? {
                let entry = NameEntry::read(source)?;
                let first = entry.starts_at(check.first);
                if !first || table.entries.insert(check.name, entry).is_some() {
                    return Err(BadImage::Contradiction("a name that stands twice or for nothing"));
                }
            }
            table.checks.push_back(check);
        }
        (table.counts, table.count) = table.recounted();
        Ok(table)
    }
}

impl IdempotencyTable {
    /// The last record that a name refers to.
    pub(in crate::exchange) fn last_record(&self) -> Sequence {
        let firsts = self.checks.iter().filter_map(|check| self.entries.get(&check.name));
        let records = firsts.flat_map(|entry| entry.firsts.iter().map(|(_, first)| *first));
        let ends = self.checks.iter().map(|check| check.first);
        records.chain(ends).max().unwrap_or(Sequence::ZERO)
    }
}
