//! Public trade data of a market: trades, candles, statistics.

use std::ops::ControlFlow;

use super::call::{Call, public_market};
use super::cursor::CursorPage;
use super::form::Form;
use super::onward::Asked;
use super::page::{Above, PageRule};
use super::parse::{self, Fault, Read};
use super::problem::{FieldCode, Problem};
use super::reply::Reply;
use super::stream::channel::{MarketChannel, Topic};
use super::unread_rows::read_in_turns;
use super::waiting::follow;
use super::wire::tape::{CandleJson, CandlesJson, Figures, PublicTradeJson, PublicTradesJson};
use super::wire::{Text, Timestamp};
use exchange::units::TimeMs;
use views::ReadModel;
use views::tape::Interval;

/// Pages of trades.
const TRADES_PAGE: PageRule = PageRule { standard: 50, max: 1000, above: Above::Refused };
/// Most candles of one answer.
const CANDLES_MAX: i64 = 1000;
/// Number of candles if no start is given: a chart's width.
const CANDLES_STANDARD: i64 = 100;

/// `GET /markets/{marketId}/trades`
pub async fn trades(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("marketId");
    let page = Asked::read(&mut form, TRADES_PAGE, CursorPage::read);
    let (id, page) = form.finish(id.zip(page))?;
    let followed = |view: &ReadModel| {
        let market = public_market(view, id)?.no;
        let topic = Topic::Market(MarketChannel::Trades, market);
        Ok((topic, view.changes.of_market(market).trades.last))
    };
    let tag = match follow(&call, None, followed).await? {
        ControlFlow::Break(reply) => return Ok(reply),
        ControlFlow::Continue(tag) => tag,
    };
    let (sequence, rows) = call.look(|view| Ok(view.tape.trades(public_market(view, id)?.no)))?;
    let (rows, next) = page.of(rows).await?;
    let trades = rows.iter().map(PublicTradeJson::of).collect();
    let trades = PublicTradesJson { trades, next };
    Ok(Reply::list(sequence, trades, "trades", |all| &mut all.trades)?.with_tag(tag))
}

/// `GET /markets/{marketId}/stats`
pub fn stats(call: &Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("marketId"))?;
    let (sequence, figures) =
        call.look(|view| Ok(Figures::of(view, public_market(view, id)?, call.engine.now())))?;
    Reply::ok(sequence, &figures.stats()?)
}

/// The names of intervals.
const INTERVALS: [(&str, Interval); 4] = [
    ("1m", Interval::Minute),
    ("5m", Interval::FiveMinutes),
    ("1h", Interval::Hour),
    ("1d", Interval::Day),
];

fn interval(text: &str) -> Read<(&'static str, Interval)> {
    let known = INTERVALS.into_iter().find(|(name, _)| *name == text);
    known.ok_or_else(|| Fault::new(FieldCode::InvalidValue, "must be 1m, 5m, 1h or 1d"))
}

/// The requested candles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    from: TimeMs,
    to: TimeMs,
    count: usize,
}

impl Range {
    /// Reads `from` and `to`, and refuses an empty or too long range. Candles are whole: the first
    /// one contains `from`, the last one starts before `to`.
    fn read(form: &mut Form<'_>, interval: Interval, now: TimeMs) -> Option<Range> {
        let from = form.query("from", parse::moment_in_query);
        let to = form.query("to", parse::moment_in_query);
        let (from, to) = from.zip(to)?;
        let ms = interval.ms();
        // Default: the end of the current candle.
        let to = to.unwrap_or_else(|| later(interval.start(now), ms));
        let from_asked = from.is_some();
        // Default: the usual number of candles up to the last one.
        let last = interval.start(later(to, -1));
        let usual = || later(last, -(CANDLES_STANDARD - 1).saturating_mul(ms));
        let from = interval.start(from.unwrap_or_else(usual));
        let length = to.get().saturating_sub(from.get());
        let count = length.saturating_add(ms - 1).div_euclid(ms);
        let fault = match count {
            1..=CANDLES_MAX => None,
            ..1 if from_asked => Some(("from", "must be before the end".to_owned())),
            ..1 => Some(("to", "must be after 1970-01-01T00:00:00.000Z".to_owned())),
            _ => Some(("to", format!("must leave at most {CANDLES_MAX} candles"))),
        };
        if let Some((field, detail)) = fault {
            form.faults.note(field, Fault::new(FieldCode::OutOfBounds, detail));
            return None;
        }
        let count = usize::try_from(count).ok()?;
        let to = later(from, ms.saturating_mul(i64::try_from(count).ok()?));
        Some(Range { from, to, count })
    }
}

/// The time `ms` milliseconds later, clamped to the range of times.
fn later(time: TimeMs, ms: i64) -> TimeMs {
    let bounded = time.get().saturating_add(ms).clamp(0, TimeMs::MAX.get());
    TimeMs::new(bounded).unwrap_or(TimeMs::MAX)
}

/// `GET /markets/{marketId}/candles`
pub async fn candles(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("marketId");
    let interval_read = form.query_required("interval", interval);
    // With an unknown interval the range is read all the same, so that its faults are reported too.
    let length = interval_read.map_or(Interval::Day, |(_, length)| length);
    let range = Range::read(&mut form, length, call.engine.now());
    let (id, ((name, length), range)) = form.finish(id.zip(interval_read.zip(range)))?;
    let (sequence, chart) = call.look(|view| {
        let market = public_market(view, id)?.no;
        Ok(view.tape.chart(market, length, range.from, range.count))
    })?;
    let bars = read_in_turns(chart.bars()?, range.count).await?;
    let candles = CandlesJson {
        market_id: Text(id),
        interval: name,
        from: Timestamp(range.from),
        to: Timestamp(range.to),
        candles: bars.iter().map(CandleJson::of).collect(),
    };
    Reply::list(sequence, candles, "candles", |all| &mut all.candles)
}

#[cfg(test)]
#[path = "../../tests/unit/http/tape.rs"]
mod tests;
