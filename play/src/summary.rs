//! The summary of a play: throughput, latency percentiles and differences, as text or JSON.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::audit::Audited;
use crate::compare::{Differences, LEVELS_SHOWN_MAX, SHOWN_MAX};
use crate::script::Counts;
use crate::transport::Transport;
use exchange::units::Money;

/// A kind of request whose latency is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An order.
    Place,
    /// A cancel.
    Cancel,
    /// One view of a book.
    Depth,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Place, Kind::Cancel, Kind::Depth];

    const fn name(self) -> &'static str {
        match self {
            Kind::Place => "place",
            Kind::Cancel => "cancel",
            Kind::Depth => "depth",
        }
    }
}

/// Percentiles of the summary, with their names in JSON.
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)];

/// Significant digits of a latency.
const LATENCY_DIGITS: u8 = 3;
/// Largest latency recorded, two minutes: above the client's timeout.
const LATENCY_MICROS_MAX: u64 = 120_000_000;

/// Latencies in microseconds, by kind of request.
#[derive(Debug, Default)]
pub struct Latencies([Option<Histogram<u64>>; Kind::ALL.len()]);

impl Latencies {
    /// Records one latency.
    pub fn record(&mut self, kind: Kind, took: Duration) {
        let Some(slot) = self.0.get_mut(kind as usize) else { return };
        let Some(histogram) = slot.as_mut() else {
            // These bounds are valid for a histogram (tested).
            *slot = Histogram::new_with_bounds(1, LATENCY_MICROS_MAX, LATENCY_DIGITS).ok();
            if slot.is_some() {
                self.record(kind, took);
            }
            return;
        };
        histogram.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    /// Adds another market's latencies.
    pub fn absorb(&mut self, other: Latencies) {
        for (mine, more) in self.0.iter_mut().zip(other.0) {
            match (mine.as_mut(), more) {
                // Both have the same bounds, so adding one to the other cannot fail.
                (Some(mine), Some(more)) => mine.add(&more).unwrap_or(()),
                (None, more) => *mine = more,
                (Some(_), None) => {}
            }
        }
    }

    fn kinds(&self) -> impl Iterator<Item = (Kind, &Histogram<u64>)> {
        let slots = Kind::ALL.into_iter().zip(&self.0);
        slots.filter_map(|(kind, slot)| Some((kind, slot.as_ref()?)))
    }
}

/// The whole summary.
pub struct Summary {
    /// The flow's name.
    pub flow: String,
    /// How many markets.
    pub markets: usize,
    /// How many accounts.
    pub accounts: usize,
    /// How commands were sent.
    pub transport: Transport,
    /// Deposit of each account.
    pub deposit: Money,
    /// Lines of the flow to be played.
    pub lines: usize,
    /// Number of expected fills, if given.
    pub fills: Option<u64>,
    /// Whether expected positions were given but not compared, because only a part was played.
    pub positions_left_out: bool,
    /// From the first command to the last answer, books included.
    pub took: Duration,
    /// Counts of the play.
    pub counts: Counts,
    /// Counts of the audit.
    pub audited: Audited,
    /// Latencies of the answers.
    pub latencies: Latencies,
    /// Differences found.
    pub differences: Differences,
}

impl Summary {
    /// Commands answered each second.
    pub fn commands_per_second(&self) -> u64 {
        let micros = self.took.as_micros().max(1);
        let commands = u128::from(self.counts.commands).saturating_mul(1_000_000);
        u64::try_from(commands / micros).unwrap_or(u64::MAX)
    }

    /// The summary as JSON; latencies in microseconds.
    pub fn json(&self) -> Value {
        let latencies: serde_json::Map<String, Value> = self
            .latencies
            .kinds()
            .map(|(kind, histogram)| {
                let mut row = serde_json::Map::new();
                row.insert("count".to_owned(), histogram.len().into());
                for (name, quantile) in PERCENTILES {
                    row.insert(name.to_owned(), histogram.value_at_quantile(quantile).into());
                }
                (kind.name().to_owned(), row.into())
            })
            .collect();
        let by_subject: serde_json::Map<String, Value> = self
            .differences
            .counts()
            .map(|(subject, count)| (subject.name().to_owned(), count.into()))
            .collect();
        let shown: Vec<Value> = self
            .differences
            .shown()
            .iter()
            .map(|d| {
                let line = d.line.map(|line| line.0);
                json!({"line": line, "subject": d.subject.name(), "says": d.says})
            })
            .collect();
        json!({
            "flow": self.flow,
            "markets": self.markets,
            "accounts": self.accounts,
            "transport": self.transport.name(),
            "deposit": self.deposit.to_string(),
            "lines": self.lines,
            "commands": self.counts.commands,
            "placed": self.counts.placed,
            "cancelled": self.counts.cancelled,
            "cancelsOfEndedOrders": self.counts.ended,
            "busyRepeats": self.counts.repeats,
            "elapsedMs": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            "commandsPerSecond": self.commands_per_second(),
            "latencyMicros": latencies,
            "checked": {
                "fills": self.fills,
                "trades": self.audited.trades,
                "books": self.counts.books,
                "positions": self.audited.positions,
                "balances": self.audited.accounts,
            },
            "differences": self.differences.total(),
            "differencesBySubject": by_subject,
            "firstDifferences": shown,
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        writeln!(
            f,
            "played       {}: {} lines, {} markets, {} accounts with {} each, over {}",
            self.flow,
            self.lines,
            self.markets,
            self.accounts,
            self.deposit,
            self.transport.name()
        )?;
        writeln!(
            f,
            "commands     {} in {}.{:03} s: {} a second",
            counts.commands,
            self.took.as_secs(),
            self.took.subsec_millis(),
            self.commands_per_second()
        )?;
        writeln!(
            f,
            "             {} placed, {} cancelled, {} cancels of ended orders, {} busy repeats",
            counts.placed, counts.cancelled, counts.ended, counts.repeats
        )?;
        writeln!(
            f,
            "latency, ms  {:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
            "count", "p50", "p90", "p99", "p99.9", "max"
        )?;
        for (kind, histogram) in self.latencies.kinds() {
            write!(f, "  {:<11}{:>10}", kind.name(), histogram.len())?;
            for (_, quantile) in PERCENTILES {
                let micros = histogram.value_at_quantile(quantile);
                write!(f, "{:>10}", format!("{}.{:03}", micros / 1_000, micros % 1_000))?;
            }
            writeln!(f)?;
        }
        self.write_checks(f)
    }
}

impl Summary {
    fn write_checks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fills = match self.fills {
            Some(count) => format!("{count} expected fills"),
            None => "no expected fills".to_owned(),
        };
        writeln!(
            f,
            "compared     {fills}, {} trades with both parties' lists, {} books ({} levels a side, \
             both views)",
            self.audited.trades, self.counts.books, LEVELS_SHOWN_MAX
        )?;
        writeln!(
            f,
            "             {} positions{}, {} balances and holdings with their fills",
            self.audited.positions,
            if self.positions_left_out { " (those given are of the whole flow)" } else { "" },
            self.audited.accounts
        )?;
        for difference in self.differences.shown() {
            match difference.line {
                Some(line) => write!(f, "  line {}: ", line.0)?,
                None => write!(f, "  ")?,
            }
            writeln!(f, "{}: {}", difference.subject.name(), difference.says)?;
        }
        if self.differences.total() > SHOWN_MAX as u64 {
            writeln!(f, "  and more")?;
        }
        write!(f, "differences  {}", self.differences.total())?;
        let some = self.differences.counts().filter(|(_, count)| *count > 0);
        for (number, (subject, count)) in some.enumerate() {
            write!(f, "{}{} {count}", if number == 0 { ": " } else { ", " }, subject.name())?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Subject;
    use flow::LineNo;

    fn summary() -> Summary {
        let mut latencies = Latencies::default();
        latencies.record(Kind::Place, Duration::from_micros(1_500));
        let mut more = Latencies::default();
        more.record(Kind::Place, Duration::from_micros(500));
        more.record(Kind::Cancel, Duration::from_micros(700));
        latencies.absorb(more);
        let mut differences = Differences::default();
        differences.add(Subject::Fill, Some(LineNo(3)), "order 2: wrong".to_owned());
        Summary {
            flow: "f.jsonl".to_owned(),
            markets: 1,
            accounts: 2,
            transport: Transport::Stream,
            deposit: Money::new(1_000_000_000),
            lines: 3,
            fills: Some(1),
            positions_left_out: false,
            took: Duration::from_millis(1_500),
            counts: Counts { commands: 3, placed: 2, cancelled: 1, ..Counts::default() },
            audited: Audited::default(),
            latencies,
            differences,
        }
    }

    #[test]
    fn a_latency_is_kept_to_three_digits_whatever_its_size() {
        for micros in [1_u64, 999, 4_321_000, 119_000_000] {
            let mut latencies = Latencies::default();
            latencies.record(Kind::Depth, Duration::from_micros(micros));
            let (_, histogram) = latencies.kinds().next().unwrap();
            let off = histogram.value_at_quantile(0.5).abs_diff(micros);
            assert!(off <= micros / 1_000, "{micros} is off by {off}");
        }
    }

    #[test]
    fn both_forms_say_the_same() {
        let summary = summary();
        let json = summary.json();
        assert_eq!(json["commandsPerSecond"], 2);
        assert_eq!(json["latencyMicros"]["place"]["count"], 2);
        assert_eq!(json["latencyMicros"]["cancel"]["p50"], 700);
        assert_eq!(json["differences"], 1);
        assert_eq!(json["firstDifferences"][0]["line"], 3);
        let text = summary.to_string();
        assert!(text.contains("3 in 1.500 s: 2 a second"), "{text}");
        assert!(
            text.contains("  line 3: fills: order 2: wrong\ndifferences  1: fills 1\n"),
            "{text}"
        );
    }
}
