//! The JSON of a market in a list with its quotes.

use super::catalogue::MarketDetailJson;
use super::tape::StatsJson;
use super::{Text, Timestamp};
use exchange::units::{Tick, TimeMs};

answers! {
    /// A market in a list with all that a card shows of it, as of one moment.
    QuotedMarketJson = "QuotedMarket" (
        market: MarketDetailJson, stats: StatsJson, week: WeekJson, day_ago: Option<Tick>,
    ) {
        #[serde(flatten)]
        market: MarketDetailJson = market;
        stats: StatsJson = stats;
        /// The last price of yes a day ago; null where it had not traded in the six days before.
        price_day_ago: Option<Text<Tick>> = day_ago.map(Text);
        week: WeekJson = week;
    }

    /// Hourly closing prices of yes in the last seven days.
    WeekJson = "WeekOfCloses" (from: TimeMs, closes: Vec<Option<Text<Tick>>>) {
        /// When the first hour begins.
        from: Timestamp = Timestamp(from);
        /// 168 of them, oldest first; null for an hour without trades.
        closes: Vec<Option<Text<Tick>>> = closes;
    }
}
