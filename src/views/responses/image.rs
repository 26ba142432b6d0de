//! Stored responses in the read model's image, in the order of their expiry checks.

use super::{Converted, Row, StoredResponse, StoredResponses};
use crate::catalogue::EventRow;
use crate::image::hold;
use exchange::command::TradingMode;
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, read_count, write_count,
};
use exchange::units::{Sequence, TimeMs};

imaged!(Row { kept, given, until });
imaged!(Converted { sequence, event, markets, quantity, cash });
imaged!(EventRow { no, id, draft, markets, created_at, updated_at, published_at });

impl Imaged for StoredResponse {
    fn write(&self, sink: &mut impl ImageSink) {
        match self {
            StoredResponse::Order(row) => tagged(1, &**row, sink),
            StoredResponse::Balance(balance) => tagged(2, balance, sink),
            StoredResponse::User(row) => tagged(3, &**row, sink),
            StoredResponse::VenueMode(mode) => tagged(4, mode, sink),
            StoredResponse::Heartbeat(heartbeat) => tagged(5, heartbeat, sink),
            StoredResponse::Key(key) => tagged(6, key, sink),
            StoredResponse::Category(category) => tagged(7, category, sink),
            StoredResponse::Event(row) => tagged(8, &**row, sink),
            StoredResponse::Market(row, probability) => {
                tagged(9, &**row, sink);
                probability.write(sink);
            }
            StoredResponse::Done => 10_u8.write(sink),
            StoredResponse::Converted(came) => tagged(11, &**came, sink),
            StoredResponse::Ended(user, order) => {
                tagged(12, user, sink);
                order.write(sink);
            }
            StoredResponse::Placed(user, order) => {
                tagged(13, user, sink);
                order.write(sink);
            }
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Ok(match u8::read(source)? {
            1 => StoredResponse::Order(Box::new(Imaged::read(source)?)),
            2 => StoredResponse::Balance(Imaged::read(source)?),
            3 => StoredResponse::User(Box::new(Imaged::read(source)?)),
            4 => StoredResponse::VenueMode(TradingMode::read(source)?),
            5 => StoredResponse::Heartbeat(Imaged::read(source)?),
            6 => StoredResponse::Key(Imaged::read(source)?),
            7 => StoredResponse::Category(Imaged::read(source)?),
            8 => StoredResponse::Event(Box::new(Imaged::read(source)?)),
            9 => StoredResponse::Market(Box::new(Imaged::read(source)?), Imaged::read(source)?),
            10 => StoredResponse::Done,
            11 => StoredResponse::Converted(Box::new(Imaged::read(source)?)),
            12 => StoredResponse::Ended(Imaged::read(source)?, Imaged::read(source)?),
            13 => StoredResponse::Placed(Imaged::read(source)?, Imaged::read(source)?),
            _ => return Err(BadImage::Value("StoredResponse")),
        })
    }
}

fn tagged(tag: u8, content: &impl Imaged, sink: &mut impl ImageSink) {
    tag.write(sink);
    content.write(sink);
}

impl Imaged for StoredResponses {
    fn write(&self, sink: &mut impl ImageSink) {
        write_count(self.ends.len(), sink);
        for (at, record) in &self.ends {
            at.write(sink);
            record.write(sink);
            let row = self.rows.get(record);
            row.is_some().write(sink);
            if let Some(row) = row {
                row.write(sink);
            }
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut answers = StoredResponses::default();
        for _ in 0..read_count(source)? {
            let at = TimeMs::read(source)?;
            let record = Sequence::read(source)?;
            let sorted = answers.ends.back().is_none_or(|(before, _)| *before <= at);
            hold(sorted, "answers out of order")?;
            if bool::read(source)? {
                let twice = answers.rows.insert(record, Row::read(source)?).is_some();
                hold(!twice, "an answer that is kept twice")?;
            }
            answers.ends.push_back((at, record));
        }
        Ok(answers)
    }
}
