//! Names in an image, in the order in which they are looked at again.

use super::{End, Fingerprint, IdempotencyTable, Known};
use crate::exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged, read_count};
use crate::exchange::image::coding::{imaged, write_count};
use crate::exchange::units::Sequence;

imaged!(End { at, name, first });
imaged!(Known { user, body, until, firsts, order });

impl Imaged for Fingerprint {
    fn write(&self, sink: &mut impl ImageSink) {
        self.0.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Imaged::read(source).map(Fingerprint)
    }
}

/// A part, and the record that did it.
impl Imaged for (u8, Sequence) {
    fn write(&self, sink: &mut impl ImageSink) {
        self.0.write(sink);
        self.1.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Ok((Imaged::read(source)?, Imaged::read(source)?))
    }
}

impl Imaged for IdempotencyTable {
    fn write(&self, sink: &mut impl ImageSink) {
        write_count(self.ends.len(), sink);
        for end in &self.ends {
            end.write(sink);
            // A name that was given anew stands at its newer end.
            let known = self.known.get(&end.name).filter(|known| known.begins_with(end.first));
            known.is_some().write(sink);
            if let Some(known) = known {
                known.write(sink);
            }
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut repeats = IdempotencyTable::default();
        for _ in 0..read_count(source)? {
            let end = End::read(source)?;
            if bool::read(source)? {
                let known = Known::read(source)?;
                let first = known.begins_with(end.first);
                if !first || repeats.known.insert(end.name, known).is_some() {
                    return Err(BadImage::Contradiction("a name that stands twice or for nothing"));
                }
            }
            repeats.ends.push_back(end);
        }
        repeats.held = repeats.counted();
        Ok(repeats)
    }
}

impl IdempotencyTable {
    /// The last record that a name leads to.
    pub(in crate::exchange) fn last_record(&self) -> Sequence {
        let firsts = self.ends.iter().filter_map(|end| self.known.get(&end.name));
        let records = firsts.flat_map(|known| known.firsts.iter().map(|(_, first)| *first));
        let ends = self.ends.iter().map(|end| end.first);
        records.chain(ends).max().unwrap_or(Sequence::ZERO)
    }
}
