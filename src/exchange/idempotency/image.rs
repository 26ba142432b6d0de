//! Names in the state image, in the order of their expiry checks.

use smallvec::SmallVec;

use super::table::{Fingerprint, IdempotencyTable, NameEntry};
use crate::image::coding::{BadImage, ImageSink, ImageSource, Imaged, read_count};
use crate::image::coding::{imaged, write_count};
use crate::units::{Sequence, TimeMs};

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
        write_count(self.entries().count(), sink);
        for (slot, entry) in self.entries() {
            slot.at().write(sink);
            slot.name.write(sink);
            slot.first.write(sink);
            // A reused name is written with its newer slot only.
            entry.is_some().write(sink);
            if let Some(entry) = entry {
                entry.write(sink);
            }
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut table = IdempotencyTable::default();
        for _ in 0..read_count(source)? {
            let at = TimeMs::read(source)?;
            let (name, first) = (Fingerprint::read(source)?, Sequence::read(source)?);
            if !bool::read(source)? {
                table.add_stale(at, name, first);
                continue;
            }
            let entry = NameEntry::read(source)?;
            let begins = entry.firsts.first().is_some_and(|(_, begins)| *begins == first);
            if !begins || table.get(name).is_some() {
                return Err(BadImage::Contradiction("a name that stands twice or for nothing"));
            }
            table.add(at, name, &entry);
        }
        Ok(table)
    }
}

impl IdempotencyTable {
    /// The last record that a name refers to.
    pub(crate) fn last_record(&self) -> Sequence {
        let firsts = self.entries().flat_map(|(slot, entry)| {
            let parts = entry.into_iter().flat_map(|entry| entry.firsts);
            parts.map(|(_, first)| first).chain([slot.first])
        });
        firsts.max().unwrap_or(Sequence::ZERO)
    }
}
