//! Stored responses in the read model's image, in the order of their expiry checks.

use super::{Converted, Row, StoredResponse, StoredResponses};
use crate::catalogue::EventRow;
use crate::image::hold;
use exchange::command::TradingMode;
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, read_count, write_count,
};

imaged!(Row { record, until, kept });
imaged!(Converted { sequence, event, markets, quantity, cash });
imaged!(EventRow { no, id, draft, markets, created_at, updated_at, published_at });

impl Imaged for StoredResponse {
    fn write(&self, sink: &mut impl ImageSink) {
        match self {
            StoredResponse::Balance(balance) => tagged(2, &**balance, sink),
            StoredResponse::User(row) => tagged(3, &**row, sink),
            StoredResponse::VenueMode(mode) => tagged(4, mode, sink),
            StoredResponse::Heartbeat(heartbeat) => tagged(5, &**heartbeat, sink),
            StoredResponse::Key(key) => tagged(6, key, sink),
            StoredResponse::Category(category) => tagged(7, category, sink),
            StoredResponse::Event(row) => tagged(8, &**row, sink),
            StoredResponse::Market(market) => {
                let (row, probability) = &**market;
                tagged(9, row, sink);
                probability.write(sink);
            }
            StoredResponse::Done => 10_u8.write(sink),
            StoredResponse::Converted(came) => tagged(11, &**came, sink),
            StoredResponse::Cancelled(user, order) => {
                tagged(1, user, sink);
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
            1 => StoredResponse::Cancelled(Imaged::read(source)?, Imaged::read(source)?),
            2 => StoredResponse::Balance(Box::new(Imaged::read(source)?)),
            3 => StoredResponse::User(Box::new(Imaged::read(source)?)),
            4 => StoredResponse::VenueMode(TradingMode::read(source)?),
            5 => StoredResponse::Heartbeat(Box::new(Imaged::read(source)?)),
            6 => StoredResponse::Key(Imaged::read(source)?),
            7 => StoredResponse::Category(Imaged::read(source)?),
            8 => StoredResponse::Event(Box::new(Imaged::read(source)?)),
            9 => {
                let (row, probability) = (Imaged::read(source)?, Imaged::read(source)?);
                StoredResponse::Market(Box::new((row, probability)))
            }
            10 => StoredResponse::Done,
            11 => StoredResponse::Converted(Box::new(Imaged::read(source)?)),
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
        write_count(self.rows.len(), sink);
        for row in &self.rows {
            row.write(sink);
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut answers = StoredResponses::default();
        for _ in 0..read_count(source)? {
            let row = Row::read(source)?;
            let after = |last: &Row| last.record < row.record && last.until <= row.until;
            hold(answers.rows.back().is_none_or(after), "answers out of order")?;
            answers.rows.push_back(row);
        }
        Ok(answers)
    }
}
