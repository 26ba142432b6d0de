//! Writes figures in the Prometheus text format. Only this module knows the crate for the format,
//! and that its numbers are floats.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use engine::histogram::Spread;

/// The media type of the text.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Prefix of every name but those of the process.
const PREFIX: &str = "openoutcry_";
/// With this begin names that are the same for every program.
const PROCESS: &str = "process_";

/// A label's name and value.
pub type Label = (&'static str, Cow<'static, str>);

/// The value of a figure.
#[derive(Debug)]
pub enum Value {
    /// A counter.
    Count(u64),
    /// A gauge.
    Level(i64),
    /// A counter of time, shown in seconds.
    Time(Duration),
    /// A histogram of times in nanoseconds, shown in seconds.
    Times(Spread),
    /// A histogram of counts.
    Counts(Spread),
}

/// Figures of one name, distinguished by labels.
#[derive(Debug)]
pub struct Family {
    /// Its name after the prefix, if it gets one; a counter's without `_total`.
    pub name: &'static str,
    /// Help text.
    pub help: &'static str,
    /// The figures, all of one type.
    pub rows: Vec<(Vec<Label>, Value)>,
}

impl Family {
    /// A family of one figure without labels.
    pub fn single(name: &'static str, help: &'static str, value: Value) -> Family {
        Family { name, help, rows: vec![(Vec::new(), value)] }
    }
}

/// The text of these families.
pub fn print(families: Vec<Family>) -> Result<String, fmt::Error> {
    let counts = |family: &&Family| {
        matches!(family.rows.first(), Some((_, Value::Count(_) | Value::Time(_))))
    };
    let counters: Vec<String> = families.iter().filter(counts).map(full_name).collect();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families)));
    let mut printed = String::new();
    text::encode(&mut printed, &registry)?;
    Ok(plain(&printed, &counters))
}

fn full_name(family: &Family) -> String {
    let prefix = if family.name.starts_with(PROCESS) { "" } else { PREFIX };
    format!("{prefix}{}", family.name)
}

/// The crate writes `OpenMetrics`, which few tools but Prometheus read. The older text format,
/// which all of them read, has the full sample name of a counter in its comments, and no end mark.
fn plain(printed: &str, counters: &[String]) -> String {
    let mut lines = String::with_capacity(printed.len());
    for line in printed.lines().filter(|line| *line != "# EOF") {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words.as_slice() {
            ["#", word, name, rest] if counters.iter().any(|counter| counter == name) => {
                lines.extend(["# ", word, " ", name, "_total ", rest]);
            }
            _ => lines.push_str(line),
        }
        lines.push('\n');
    }
    lines
}

#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in &self.0 {
            let Some((_, first)) = family.rows.first() else { continue };
            let name = full_name(family);
            let mut metric = encoder.encode_descriptor(&name, family.help, None, kind(first))?;
            for (labels, value) in &family.rows {
                if labels.is_empty() {
                    value.encode(&mut metric)?;
                } else {
                    value.encode(&mut metric.encode_family(&labels.as_slice())?)?;
                }
            }
        }
        Ok(())
    }
}

const fn kind(value: &Value) -> MetricType {
    match value {
        Value::Count(_) | Value::Time(_) => MetricType::Counter,
        Value::Level(_) => MetricType::Gauge,
        Value::Times(_) | Value::Counts(_) => MetricType::Histogram,
    }
}

impl Value {
    fn encode(&self, metric: &mut MetricEncoder<'_>) -> fmt::Result {
        match self {
            Value::Count(count) => metric.encode_counter::<NoLabelSet, u64, u64>(count, None),
            Value::Time(time) => {
                metric.encode_counter::<NoLabelSet, _, u64>(&time.as_secs_f64(), None)
            }
            Value::Level(level) => metric.encode_gauge(level),
            Value::Times(spread) => encode_spread(metric, spread, Duration::from_nanos),
            Value::Counts(spread) => encode_spread(metric, spread, Duration::from_secs),
        }
    }
}

/// Writes a histogram; `measure` converts a value to the duration whose seconds are shown.
fn encode_spread(
    metric: &mut MetricEncoder<'_>,
    spread: &Spread,
    measure: fn(u64) -> Duration,
) -> fmt::Result {
    let shown = |value| measure(value).as_secs_f64();
    let bounded = spread.buckets.iter().map(|(bound, count)| (shown(*bound), *count));
    let buckets: Vec<_> = bounded.chain([(f64::INFINITY, spread.beyond)]).collect();
    metric.encode_histogram::<NoLabelSet>(shown(spread.sum), spread.count(), &buckets, None)
}

#[cfg(test)]
#[path = "../../../tests/unit/http/metrics/print.rs"]
mod tests;
