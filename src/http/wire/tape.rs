//! The JSON of a market's public trade data.

use schemars::JsonSchema;
use serde::Serialize;

use super::words::{Interval, SideWord};
use super::{CursorEcho, OutcomeId, RecordNo, Text, Timestamp};
use exchange::command::Direction;
use exchange::ids::{MarketId, TradeId};
use exchange::units::{Lots, LotsSum, SettlementPrice, Tick, TimeMs};
use views::ReadModel;
use views::catalogue::MarketRow;
use views::history::HistoryError;
use views::tape::{Bar, Candles, TradeRow};

answers! {
    /// A trade without its parties; the price is of yes.
    PublicTradeJson = "PublicTrade" (row: &TradeRow) {
        id: Text<TradeId> = Text(row.id());
        price: Text<Tick> = Text(row.price);
        quantity: Text<Lots> = Text(row.quantity);
        /// BUY where the incoming order wanted yes to be dearer, SELL where cheaper.
        #[schemars(with = "SideWord")]
        taker_side: &'static str = match row.taker {
            Direction::Up => "BUY",
            Direction::Down => "SELL",
        };
        /// The outcome that the incoming order bet on.
        taker_outcome_id: OutcomeId = Text(row.taker.gains());
        timestamp: Timestamp = Timestamp(row.time);
        sequence: RecordNo = RecordNo(row.sequence);
    }

    /// What traded in an interval; prices are of yes, null where nothing traded.
    CandleJson = "Candle" (bar: &Bar) {
        start: Timestamp = Timestamp(bar.start);
        open: Option<Text<Tick>> = bar.prices.map(|prices| Text(prices.open));
        high: Option<Text<Tick>> = bar.prices.map(|prices| Text(prices.high));
        low: Option<Text<Tick>> = bar.prices.map(|prices| Text(prices.low));
        close: Option<Text<Tick>> = bar.prices.map(|prices| Text(prices.close));
        volume: Text<LotsSum> = Text(bar.volume);
        trades: u64 = bar.trades;
        /// Yes contracts held after the last trade in it, or before it; after conversions there
        /// are fewer no contracts, by the sets converted.
        open_interest: Text<Lots> = Text(bar.interest);
    }
}

/// A page of a market's trades, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PublicTrades")]
pub struct PublicTradesJson {
    pub trades: Vec<PublicTradeJson>,
    #[serde(flatten)]
    pub next: CursorEcho,
}

/// A market's figures; prices are of yes, volumes in contracts.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MarketStats")]
pub struct StatsJson {
    pub market_id: Text<MarketId>,
    /// Traded in the minutes that began within the last 24 hours.
    #[serde(rename = "volume24h")]
    pub volume_24h: Text<LotsSum>,
    pub volume: Text<LotsSum>,
    pub trades: u64,
    /// Yes contracts held. There are as many no contracts; after conversions there are fewer, by
    /// the sets converted.
    pub open_interest: Text<Lots>,
    /// Users who hold contracts of either outcome; 0 once everybody is paid.
    pub holders: u32,
    pub last_price: Option<Text<Tick>>,
    /// 0.00 without bids.
    pub best_bid: Text<SettlementPrice>,
    /// 1.00 without asks.
    pub best_ask: Text<SettlementPrice>,
    pub timestamp: Timestamp,
}

/// A market's figures as of one moment. The volume of a day is read when they are shown: it may be
/// on pages of history.
#[derive(Debug)]
pub struct Figures {
    stats: StatsJson,
    minutes: Candles<true>,
    day_ago: TimeMs,
}

/// The window of the 24-hour volume.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Figures {
    /// The figures at this time, or at that of the last record if that is later.
    pub fn of(view: &ReadModel, row: &MarketRow, now: TimeMs) -> Figures {
        let market = row.no;
        let price = |direction, bound| {
            let best = view.book(market, direction).next().map(|level| level.price);
            Text(best.map_or(bound, SettlementPrice::from))
        };
        // In a quiet venue the last record may be older than a day.
        let now = now.max(view.time());
        // There were no trades before 1970, so the default is right.
        let day_ago = TimeMs::new(now.get().saturating_sub(DAY_MS)).unwrap_or_default();
        let stats = StatsJson {
            market_id: Text(row.id),
            volume_24h: Text(LotsSum::ZERO),
            volume: Text(view.tape.volume(market)),
            trades: view.tape.trades_count(market) as u64,
            open_interest: Text(view.positions.open_interest(market)),
            holders: view.positions.holders(market),
            last_price: view.depth.last_trade(market).map(Text),
            best_bid: price(Direction::Up, SettlementPrice::ZERO),
            best_ask: price(Direction::Down, SettlementPrice::ONE),
            timestamp: Timestamp(now),
        };
        Figures { stats, minutes: view.tape.minutes(market), day_ago }
    }

    /// All of them.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn stats(self) -> Result<StatsJson, HistoryError> {
        let Figures { stats, minutes, day_ago } = self;
        Ok(StatsJson { volume_24h: Text(minutes.volume_after(day_ago)?), ..stats })
    }
}

/// Candles one after the other, empty ones too.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CandleList")]
pub struct CandlesJson {
    pub market_id: Text<MarketId>,
    #[schemars(with = "Interval")]
    pub interval: &'static str,
    pub from: Timestamp,
    pub to: Timestamp,
    pub candles: Vec<CandleJson>,
}
