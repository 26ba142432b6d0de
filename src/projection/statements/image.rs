//! Statements in the read model's image: user by user, oldest line first.

use super::{Cause, Line, Statements};
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, read_count, room,
};
use crate::projection::accounts::Balance;
use crate::projection::image::{Sizes, hold};

imaged!(Line { sequence, time, cause, after });

impl Imaged for Cause {
    #[inline]
    fn write(&self, sink: &mut impl ImageSink) {
        let code: u8 = match self {
            Cause::Deposited => 1,
            Cause::Withdrawn => 2,
            Cause::Reserved(_) => 3,
            Cause::Released(_) => 4,
            Cause::Amended(_) => 5,
            Cause::Traded(_) => 6,
            Cause::Merged(_) => 7,
            Cause::Settled(_) => 8,
            Cause::Voided(_) => 9,
            Cause::Fee(_) => 10,
        };
        code.write(sink);
        if let Some(order) = self.order() {
            order.write(sink);
        }
        if let Some(market) = self.paying_market() {
            market.write(sink);
        }
    }

    #[inline]
    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Ok(match u8::read(source)? {
            1 => Cause::Deposited,
            2 => Cause::Withdrawn,
            3 => Cause::Reserved(Imaged::read(source)?),
            4 => Cause::Released(Imaged::read(source)?),
            5 => Cause::Amended(Imaged::read(source)?),
            6 => Cause::Traded(Imaged::read(source)?),
            7 => Cause::Merged(Imaged::read(source)?),
            8 => Cause::Settled(Imaged::read(source)?),
            9 => Cause::Voided(Imaged::read(source)?),
            10 => Cause::Fee(Imaged::read(source)?),
            _ => return Err(BadImage::Value("Cause")),
        })
    }
}

impl Statements {
    /// Writes every user's lines.
    pub(in crate::projection) fn write(&self, sink: &mut impl ImageSink) {
        let Statements { users } = self;
        for lines in users {
            lines.write(sink);
        }
    }

    /// Reads them.
    pub(in crate::projection) fn read(
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Statements, BadImage> {
        let mut statements = Statements { users: Vec::with_capacity(sizes.users) };
        for _ in 0..sizes.users {
            let count = read_count(source)?;
            let mut lines: Vec<Line> = Vec::with_capacity(room::<Line>(count, source));
            for _ in 0..count {
                let line = Line::read(source)?;
                if let Some(market) = line.cause.paying_market() {
                    sizes.has_market(market)?;
                }
                let before = lines.last();
                hold(
                    before.is_none_or(|before| before.sequence <= line.sequence),
                    "lines out of order",
                )?;
                let changed = before.map_or_else(Balance::default, |before| before.after);
                hold(changed != line.after, "a line that changes nothing")?;
                lines.push(line);
            }
            statements.users.push(lines);
        }
        Ok(statements)
    }
}
