//! Users' figures in the read model's image: by user, then what each has realised in open markets.

use super::{Day, DayRow, Latest, Performance, Score, UserRow};
use crate::image::{Sizes, hold};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, read_count, write_count,
};
use exchange::units::MoneySum;

imaged!(Score { realised, volume });
imaged!(DayRow { day, score });

impl Imaged for Day {
    #[inline]
    fn write(&self, sink: &mut impl ImageSink) {
        self.0.write(sink);
    }

    #[inline]
    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        u32::read(source).map(Day)
    }
}

impl Performance {
    /// Writes every user's days, then what each user has realised in each market, by user and
    /// market number.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        let Performance { users, latest, realised } = self;
        for (row, latest) in users.iter().zip(latest) {
            let UserRow { deposited, withdrawn, fees_taken, days } = row;
            deposited.write(sink);
            withdrawn.write(sink);
            fees_taken.write(sink);
            let latest = latest.row();
            write_count(days.len().saturating_add(usize::from(latest.is_some())), sink);
            for day in days.iter().chain(&latest) {
                day.write(sink);
            }
        }
        let each = realised.iter().flat_map(|(market, users)| {
            users.iter().map(|(user, realised)| (*user, *market, *realised))
        });
        let mut sorted: Vec<(UserNo, MarketNo, MoneySum)> = each.collect();
        sorted.sort_unstable_by_key(|(user, market, _)| (*user, *market));
        write_count(sorted.len(), sink);
        for (user, market, realised) in sorted {
            user.write(sink);
            market.write(sink);
            realised.write(sink);
        }
    }

    pub(crate) fn read(
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Performance, BadImage> {
        let mut performance = Performance::default();
        for _ in 0..sizes.users {
            let mut row = UserRow {
                deposited: Imaged::read(source)?,
                withdrawn: Imaged::read(source)?,
                fees_taken: Imaged::read(source)?,
                days: Imaged::read(source)?,
            };
            hold(row.days.is_sorted_by(|a, b| a.day < b.day), "days out of order")?;
            let latest = row.days.pop();
            let latest = latest.map(|DayRow { day, score }| Latest { day: Some(day), score });
            performance.latest.push(latest.unwrap_or_default());
            performance.users.push(row);
        }
        let mut before: Option<(UserNo, MarketNo)> = None;
        for _ in 0..read_count(source)? {
            let key = (UserNo::read(source)?, MarketNo::read(source)?);
            sizes.has_user(key.0)?;
            sizes.has_market(key.1)?;
            hold(before.is_none_or(|before| before < key), "realised amounts out of order")?;
            before = Some(key);
            let of_market = performance.realised.entry(key.1).or_default();
            of_market.insert(key.0, Imaged::read(source)?);
        }
        Ok(performance)
    }
}
