//! Charts as SVG text: price and volume over time, and a book's depth. Integers throughout:
//! milliseconds, ticks, lots. Colours differ in black-and-white print and for the colour-blind;
//! shapes carry the same information.

use std::ops::Range;

use chrono::DateTime;
use exchange::units::Lots;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::{
    DrawingArea, IntoDrawingArea, IntoFont, PathElement, RGBColor, Rectangle, SVGBackend, WHITE,
};
use plotters::style::Color;

use super::depth::{DepthSnapshot, Level};
use super::page::grouped;
use super::series::{Series, Span};
use crate::answer::Failure;

/// Size of the price and volume chart, in SVG units.
const TIME_SIZE: (u32, u32) = (960, 460);
/// Height of its price part.
const PRICE_HEIGHT: u32 = 310;
/// Size of a depth chart.
const DEPTH_SIZE: (u32, u32) = (470, 250);
/// Free ticks above the highest and below the lowest trade.
const MARGIN_TICKS: i64 = 4;
/// Width of the left axis labels.
const LEFT: u32 = 62;

const INK: RGBColor = RGBColor(34, 34, 34);
const GRID: RGBColor = RGBColor(222, 222, 222);
const BAND: RGBColor = RGBColor(205, 220, 238);
const BARS: RGBColor = RGBColor(110, 110, 110);
const FALL: RGBColor = RGBColor(90, 90, 90);
const BIDS: RGBColor = RGBColor(92, 138, 190);
const ASKS: RGBColor = RGBColor(216, 148, 82);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// An axis of integers with marks at multiples of a step.
#[derive(Clone)]
struct Axis {
    from: i64,
    to: i64,
    step: i64,
    label: fn(i64) -> String,
}

impl Axis {
    /// An axis with at most `marks` marks, at multiples of the first step that is wide enough.
    fn new(
        from: i64,
        to: i64,
        marks: i64,
        steps: impl Iterator<Item = i64>,
        label: fn(i64) -> String,
    ) -> Axis {
        let to = to.max(from.saturating_add(1));
        let length = to.saturating_sub(from);
        let mut wide = steps.filter(|step| step.saturating_mul(marks) >= length);
        Axis { from, to, step: wide.next().unwrap_or(length).max(1), label }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = i64;

    fn map(&self, value: &i64, limit: (i32, i32)) -> i32 {
        let (near, far) = (i128::from(limit.0), i128::from(limit.1));
        let value = (*value).clamp(self.from, self.to);
        let part = i128::from(value) - i128::from(self.from);
        let whole = i128::from(self.to) - i128::from(self.from);
        let at = near + part * (far - near) / whole.max(1);
        i32::try_from(at).unwrap_or(limit.0)
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<i64> {
        let first = self.from.div_euclid(self.step).saturating_mul(self.step);
        let marks = std::iter::successors(Some(first), |mark| mark.checked_add(self.step));
        let marks = marks.take_while(|mark| *mark <= self.to);
        marks.filter(|mark| *mark >= self.from).collect()
    }

    fn range(&self) -> Range<i64> {
        self.from..self.to
    }
}

impl ValueFormatter<i64> for Axis {
    fn format_ext(&self, value: &i64) -> String {
        (self.label)(*value)
    }
}

/// 1, 2, 5, 10, 20, 50 and so on.
fn round_numbers() -> impl Iterator<Item = i64> {
    let powers = std::iter::successors(Some(1_i64), |power| power.checked_mul(10));
    powers.flat_map(|power| [1, 2, 5].map(|digit| power.saturating_mul(digit)))
}

/// Natural steps of time, in milliseconds.
fn round_times() -> impl Iterator<Item = i64> {
    const SECOND: i64 = 1_000;
    const MINUTE: i64 = 60 * SECOND;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let small = [1, 2, 5, 10, 15, 30].map(|seconds| seconds * SECOND).into_iter();
    let minutes = [1, 2, 5, 10, 15, 30].map(|minutes| minutes * MINUTE);
    let hours = [1, 2, 3, 6, 12].map(|hours| hours * HOUR);
    let days = [1, 2, 7, 14, 28, 91, 182, 364].map(|days| days * DAY);
    small.chain(minutes).chain(hours).chain(days).chain([3640 * DAY])
}

fn price_label(ticks: i64) -> String {
    format!("{}.{:02}", ticks.div_euclid(100), ticks.rem_euclid(100))
}

/// Depth is drawn in half ticks, so that a price's bar can be centred on it.
fn half_label(half_ticks: i64) -> String {
    price_label(half_ticks.div_euclid(2))
}

fn lots_label(lots: i64) -> String {
    let contracts = |lots: u64| grouped(Lots::new(lots));
    let lots = u64::try_from(lots).unwrap_or_default();
    match lots / 1_000_000 {
        0..10_000 => contracts(lots),
        10_000..10_000_000 => format!("{}k", contracts(lots / 1_000)),
        _ => format!("{}M", contracts(lots / 1_000_000)),
    }
}

fn clock_label(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms).map_or_else(String::new, |at| {
        let format = if ms.rem_euclid(60_000) == 0 { "%H:%M" } else { "%H:%M:%S" };
        at.format(format).to_string()
    })
}

fn day_label(ms: i64) -> String {
    let at = DateTime::from_timestamp_millis(ms);
    at.map_or_else(String::new, |at| at.format("%Y-%m-%d").to_string())
}

fn day_clock_label(ms: i64) -> String {
    let at = DateTime::from_timestamp_millis(ms);
    at.map_or_else(String::new, |at| at.format("%m-%d %H:%M").to_string())
}

/// A label for times of a span this long.
fn time_label(length: i64) -> fn(i64) -> String {
    match length / 3_600_000 {
        0..24 => clock_label,
        24..168 => day_clock_label,
        _ => day_label,
    }
}

/// The top of a quantity axis: a little above the maximum, and never zero.
fn headroom(most: Option<i64>) -> i64 {
    let most = most.unwrap_or_default().max(1_000_000);
    most.saturating_add(most / 20)
}

fn lots(lots: Lots) -> i64 {
    i64::try_from(lots.get()).unwrap_or(i64::MAX)
}

/// Draws on a new canvas. Returns the text of the SVG element, with title and description for
/// screen readers.
fn drawn(
    size: (u32, u32),
    name: &str,
    title: &str,
    draw: impl FnOnce(&Area<'_>) -> Result<(), String>,
) -> Result<String, Failure> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let failed = |error: String| Failure::Failed(format!("CANNOT_DRAW: {error}"));
        root.fill(&WHITE).map_err(|error| failed(error.to_string()))?;
        draw(&root).map_err(failed)?;
        root.present().map_err(|error| failed(error.to_string()))?;
    }
    let opening = format!("<svg role=\"img\" aria-labelledby=\"{name}\" ");
    let svg = svg.replacen("<svg ", &opening, 1);
    let title = format!(">\n<title id=\"{name}\">{title}</title>\n");
    Ok(svg.replacen(">\n", &title, 1))
}

/// A chart with its grid.
fn chart<'a>(
    area: &Area<'a>,
    axes: (Axis, Axis),
    (x_title, y_title): (&str, &str),
) -> Result<Chart<'a>, String> {
    let text = |error: plotters::drawing::DrawingAreaErrorKind<_>| format!("{error}");
    let bottom = if x_title.is_empty() { 8 } else { 42 };
    let mut chart = ChartBuilder::on(area)
        .margin_top(10)
        .margin_right(18)
        .x_label_area_size(bottom)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(axes.0, axes.1)
        .map_err(text)?;
    let font = ("sans-serif", 15).into_font();
    let mut mesh = chart.configure_mesh();
    mesh.axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(GRID)
        .label_style(font.color(&INK))
        .y_desc(y_title);
    if x_title.is_empty() {
        // The chart below has the same time axis.
        mesh.x_label_formatter(&|_| String::new());
    } else {
        mesh.x_desc(x_title);
    }
    mesh.draw().map_err(text)?;
    drop(mesh);
    Ok(chart)
}

/// Draws shapes on a chart.
macro_rules! shapes {
    ($chart:expr, $shapes:expr) => {
        $chart.draw_series($shapes).map(drop).map_err(|error| error.to_string())?
    };
}

/// Lowest and highest price to be drawn.
fn price_range(series: &Series) -> (i64, i64) {
    let spans = || series.steps().iter().filter_map(|step| step.traded);
    let low = spans().map(|span| i64::from(span.low.get())).min().unwrap_or(0);
    let high = spans().map(|span| i64::from(span.high.get())).max().unwrap_or(100);
    (low.saturating_sub(MARGIN_TICKS).max(0), high.saturating_add(MARGIN_TICKS).min(100))
}

/// Price and volume over time; `None` where there is nothing to draw.
pub fn price_and_volume(series: &Series) -> Result<Option<String>, Failure> {
    let steps = series.steps();
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return Ok(None) };
    let width = series.width();
    let (from, to) = (first.start, last.start.saturating_add(width));
    let length = to.saturating_sub(from);
    let times = || Axis::new(from, to, 9, round_times(), time_label(length));
    let (low, high) = price_range(series);
    let prices = Axis::new(low, high, 8, round_numbers(), price_label);
    let most = headroom(steps.iter().map(|step| lots(step.volume)).max());
    let volumes = Axis::new(0, most, 3, round_numbers(), lots_label);
    let title = "Price of yes over time, above the contracts traded in each step of time";
    let svg = drawn(TIME_SIZE, "price-chart", title, |root| {
        let (upper, lower) = root.split_vertically(PRICE_HEIGHT);
        let mut above = chart(&upper, (times(), prices), ("", "price of yes"))?;
        shapes!(above, band(series, to));
        for step in steps {
            if let Some(span) = step.traded {
                candle(&mut above, step.start, width, span)?;
            }
        }
        let mut below = chart(&lower, (times(), volumes), ("time (UTC)", "contracts"))?;
        let bar = |step: &super::series::Step| {
            let (left, right) = inside(step.start, width);
            Rectangle::new([(left, 0), (right, lots(step.volume))], BARS.filled())
        };
        shapes!(below, steps.iter().filter(|step| !step.volume.is_zero()).map(bar));
        Ok(())
    })?;
    Ok(Some(svg))
}

/// The part of a step that its candle or bar covers.
fn inside(start: i64, width: i64) -> (i64, i64) {
    let edge = width / 8;
    (start.saturating_add(edge), start.saturating_add(width.saturating_sub(edge)))
}

/// The area between best bid and best ask, until the next step.
fn band(series: &Series, end: i64) -> impl Iterator<Item = Rectangle<(i64, i64)>> {
    let next = series.steps().iter().skip(1).map(|step| step.start).chain([end]);
    series.steps().iter().zip(next).filter_map(|(step, until)| {
        let (bid, ask) = step.quote;
        let (bid, ask) = (i64::from(bid?.get()), i64::from(ask?.get()));
        Some(Rectangle::new([(step.start, bid), (until, ask)], BAND.filled()))
    })
}

fn candle(chart: &mut Chart<'_>, start: i64, width: i64, span: Span) -> Result<(), String> {
    let [open, high, low, close] =
        [span.open, span.high, span.low, span.close].map(|price| i64::from(price.get()));
    let (left, right) = inside(start, width);
    let middle = start.saturating_add(width / 2);
    shapes!(chart, [PathElement::new(vec![(middle, low), (middle, high)], INK)]);
    if open == close {
        shapes!(chart, [PathElement::new(vec![(left, open), (right, open)], INK.stroke_width(2))]);
        return Ok(());
    }
    let fill = if close > open { WHITE } else { FALL };
    shapes!(chart, [Rectangle::new([(left, open), (right, close)], fill.filled())]);
    shapes!(chart, [Rectangle::new([(left, open), (right, close)], INK.stroke_width(1))]);
    Ok(())
}

/// A book's depth: the cumulative quantity at every price.
pub fn depth(snapshot: &DepthSnapshot, name: &str) -> Result<String, Failure> {
    let deepest = |side: &[Level]| side.last().map_or(0, |level| lots(level.reached));
    let most = headroom(Some(deepest(&snapshot.bids).max(deepest(&snapshot.asks))));
    let prices = Axis::new(0, 200, 10, [20].into_iter(), half_label);
    let amounts = Axis::new(0, most, 5, round_numbers(), lots_label);
    let title = "Contracts bid for at each price of yes or better, and contracts offered";
    drawn(DEPTH_SIZE, name, title, |root| {
        let titles = ("price of yes", "contracts");
        let mut chart = chart(root, (prices, amounts), titles)?;
        shapes!(chart, stairs(&snapshot.bids, 0, BIDS));
        shapes!(chart, stairs(&snapshot.asks, 200, ASKS));
        Ok(())
    })
}

/// Bars from each level to the next worse one, at the cumulative height.
fn stairs(
    side: &[Level],
    end: i64,
    colour: RGBColor,
) -> impl Iterator<Item = Rectangle<(i64, i64)>> {
    let at = |level: &Level| i64::from(level.price.get()).saturating_mul(2);
    let next = side.iter().skip(1).map(at).chain([end]);
    let step = move |(level, until): (&Level, i64)| {
        let toward = (until.saturating_sub(at(level))).signum();
        let (from, to) = (at(level).saturating_sub(toward), until.saturating_sub(toward));
        Rectangle::new([(from, 0), (to, lots(level.reached))], colour.filled())
    };
    side.iter().zip(next).map(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round() {
        let axis = Axis::new(3, 97, 8, round_numbers(), price_label);
        assert_eq!(axis.key_points(9), [20, 40, 60, 80]);
        assert_eq!(axis.map(&3, (10, 110)), 10);
        assert_eq!(axis.map(&97, (110, 10)), 10);
        let axis = Axis::new(0, 900_000, 9, round_times(), clock_label);
        assert_eq!(axis.step, 120_000);
        assert_eq!(axis.format_ext(&120_000), "00:02");
        assert_eq!(price_label(100), "1.00");
        assert_eq!(half_label(20), "0.10");
        assert_eq!(lots_label(2_500_000), "2.5");
        assert_eq!(lots_label(20_000_000_000), "20k");
    }
}
