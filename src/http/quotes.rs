//! A market with its quotes: all that a card shows of it.

use super::wire::Text;
use super::wire::catalogue::MarketDetailJson;
use super::wire::quotes::{QuotedMarketJson, WeekJson};
use super::wire::tape::Figures;
use exchange::units::TimeMs;
use views::ReadModel;
use views::catalogue::MarketRow;
use views::history::HistoryError;
use views::tape::{Chart, Interval};

/// Hours of a week.
const WEEK_HOURS: u16 = 7 * 24;
/// Hours of a day.
const DAY_HOURS: u16 = 24;

/// A market as of one moment; its volume and past prices are read afterwards.
pub struct Quoted {
    market: MarketDetailJson,
    figures: Figures,
    from: TimeMs,
    week: Chart,
}

impl Quoted {
    /// The market at this time.
    pub fn of(view: &ReadModel, row: &MarketRow, now: TimeMs) -> Quoted {
        let hour = Interval::Hour;
        let passed = i64::from(WEEK_HOURS - 1).saturating_mul(hour.ms());
        let from = hour.start(now).get().saturating_sub(passed);
        // There were no trades before 1970, so the default is right.
        let from = TimeMs::new(from).unwrap_or_default();
        Quoted {
            market: MarketDetailJson::now(view, row),
            figures: Figures::of(view, row, now),
            from,
            week: view.tape.chart(row.no, hour, from, usize::from(WEEK_HOURS)),
        }
    }

    /// All that is shown of it. Reads a few pages.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn read(self) -> Result<QuotedMarketJson, HistoryError> {
        let closes = self.week.bars()?.map(|bar| Ok(bar?.prices.map(|prices| prices.close)));
        let closes = closes.collect::<Result<Vec<_>, HistoryError>>()?;
        let a_day_ago = usize::from(WEEK_HOURS.saturating_sub(DAY_HOURS));
        let day_ago = closes.iter().take(a_day_ago).rev().find_map(|close| *close);
        let closes = closes.into_iter().map(|close| close.map(Text)).collect();
        let week = WeekJson::of(self.from, closes);
        Ok(QuotedMarketJson::of(self.market, self.figures.stats()?, week, day_ago))
    }
}
