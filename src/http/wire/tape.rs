//! The JSON of a market's public trade data.

use serde::Serialize;

use super::{CursorEcho, OutcomeId, Text, Timestamp};
use exchange::command::Direction;
use exchange::ids::{MarketId, TradeId};
use exchange::units::{Lots, LotsSum, SettlementPrice, Tick, TimeMs};
use views::tape::{Bar, TradeRow};

/// A trade without its parties. Prices are of yes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PublicTradeJson {
    id: Text<TradeId>,
    price: Text<Tick>,
    quantity: Text<Lots>,
    taker_side: &'static str,
    taker_outcome_id: OutcomeId,
    timestamp: Timestamp,
    sequence: u64,
}

impl From<&TradeRow> for PublicTradeJson {
    fn from(row: &TradeRow) -> Self {
        PublicTradeJson {
            id: Text(row.id()),
            price: Text(row.price),
            quantity: Text(row.quantity),
            taker_side: match row.taker {
                Direction::Up => "BUY",
                Direction::Down => "SELL",
            },
            taker_outcome_id: OutcomeId(row.taker.gains()),
            timestamp: Timestamp(row.time),
            sequence: row.sequence.get(),
        }
    }
}

/// A page of a market's trades.
#[derive(Debug, Serialize)]
pub struct PublicTradesJson {
    /// Newest first.
    pub trades: Vec<PublicTradeJson>,
    /// The next page.
    #[serde(flatten)]
    pub next: CursorEcho,
}

/// A market's statistics. Prices are of yes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatsJson {
    /// Market.
    pub market_id: Text<MarketId>,
    /// Contracts traded in the minutes that began within the last 24 hours.
    #[serde(rename = "volume24h")]
    pub volume_24h: Text<LotsSum>,
    /// Contracts ever traded.
    pub volume: Text<LotsSum>,
    /// Number of trades.
    pub trades: u64,
    /// Contracts held of each outcome.
    pub open_interest: Text<Lots>,
    /// Price of the last trade.
    pub last_price: Option<Text<Tick>>,
    /// The highest bid; 0.00 without one.
    pub best_bid: Text<SettlementPrice>,
    /// The lowest ask; 1.00 without one.
    pub best_ask: Text<SettlementPrice>,
    /// The time of the statistics: now, or that of the last record if that is later.
    pub timestamp: Timestamp,
}

/// A candle. Prices are of yes, and missing if nothing traded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CandleJson {
    start: Timestamp,
    open: Option<Text<Tick>>,
    high: Option<Text<Tick>>,
    low: Option<Text<Tick>>,
    close: Option<Text<Tick>>,
    volume: Text<LotsSum>,
    trades: u64,
    open_interest: Text<Lots>,
}

impl From<&Bar> for CandleJson {
    fn from(bar: &Bar) -> Self {
        let prices = bar.prices;
        CandleJson {
            start: Timestamp(bar.start),
            open: prices.map(|prices| Text(prices.open)),
            high: prices.map(|prices| Text(prices.high)),
            low: prices.map(|prices| Text(prices.low)),
            close: prices.map(|prices| Text(prices.close)),
            volume: Text(bar.volume),
            trades: bar.trades,
            open_interest: Text(bar.interest),
        }
    }
}

/// Consecutive candles, including empty ones.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CandlesJson {
    market_id: Text<MarketId>,
    interval: &'static str,
    from: Timestamp,
    to: Timestamp,
    /// In order.
    pub candles: Vec<CandleJson>,
}

impl CandlesJson {
    /// Candles of a market, from the start of the first to the end of the last.
    pub fn of(
        market: MarketId,
        interval: &'static str,
        (from, to): (TimeMs, TimeMs),
        bars: &[Bar],
    ) -> CandlesJson {
        CandlesJson {
            market_id: Text(market),
            interval,
            from: Timestamp(from),
            to: Timestamp(to),
            candles: bars.iter().map(CandleJson::from).collect(),
        }
    }
}
