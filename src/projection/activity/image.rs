//! What happened in each market, in the read model's image.

use super::{Activity, ActivityRow};
use crate::exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged, read_count, room};
use crate::projection::image::Sizes;

impl Imaged for ActivityRow {
    #[inline]
    fn write(&self, sink: &mut impl ImageSink) {
        match self {
            ActivityRow::Trade { outcome, stake, price, user, time } => {
                1_u8.write(sink);
                outcome.write(sink);
                stake.write(sink);
                price.write(sink);
                user.write(sink);
                time.write(sink);
            }
            ActivityRow::Moved { from, to, time } => {
                2_u8.write(sink);
                from.write(sink);
                to.write(sink);
                time.write(sink);
            }
        }
    }

    #[inline]
    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        match u8::read(source)? {
            1 => Ok(ActivityRow::Trade {
                outcome: Imaged::read(source)?,
                stake: Imaged::read(source)?,
                price: Imaged::read(source)?,
                user: Imaged::read(source)?,
                time: Imaged::read(source)?,
            }),
            2 => Ok(ActivityRow::Moved {
                from: Imaged::read(source)?,
                to: Imaged::read(source)?,
                time: Imaged::read(source)?,
            }),
            _ => Err(BadImage::Value("ActivityRow")),
        }
    }
}

impl Activity {
    /// Writes every market's rows.
    pub(in crate::projection) fn write(&self, sink: &mut impl ImageSink) {
        let Activity { markets } = self;
        for rows in markets {
            rows.write(sink);
        }
    }

    /// Reads them.
    pub(in crate::projection) fn read(
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Activity, BadImage> {
        let mut markets = Vec::with_capacity(sizes.markets);
        for _ in 0..sizes.markets {
            let count = read_count(source)?;
            let mut rows = Vec::with_capacity(room::<ActivityRow>(count, source));
            for _ in 0..count {
                let row = ActivityRow::read(source)?;
                if let ActivityRow::Trade { user, .. } = row {
                    sizes.has_user(user)?;
                }
                rows.push(row);
            }
            markets.push(rows);
        }
        Ok(Activity { markets })
    }
}
