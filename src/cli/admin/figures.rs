//! The figures of `/metrics`, read back: levels, counts since a start, and times in buckets.

use std::collections::BTreeMap;
use std::time::Duration;

/// What the names of our own figures begin with.
const PREFIX: &str = "openoutcry_";

/// One look at the page.
#[derive(Debug, Default)]
pub(crate) struct Figures(Vec<Line>);

#[derive(Debug)]
struct Line {
    name: String,
    /// As printed, without braces.
    labels: String,
    value: String,
}

/// How many took at most how long, since the start. The last bound is [`Duration::MAX`].
pub(crate) type Buckets = BTreeMap<Duration, u64>;

impl Figures {
    /// Reads a page. Our own figures are called by their names without the prefix.
    pub(crate) fn read(page: &str) -> Figures {
        let lines = page.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let line = line.strip_prefix(PREFIX).unwrap_or(line);
            let (named, value) = line.rsplit_once(' ')?;
            let (name, labels) = named.split_once('{').unwrap_or((named, ""));
            let [name, labels, value] =
                [name, labels.trim_end_matches('}'), value].map(str::to_owned);
            Some(Line { name, labels, value })
        });
        Figures(lines.collect())
    }

    /// The sum of a figure over all its labels that have this one, such as `class="reads"`; `None`
    /// if the page has none of that name.
    pub(crate) fn sum(&self, name: &str, label: &str) -> Option<u64> {
        let mut found = None;
        for line in self.all(name, label) {
            let value: u64 = line.value.parse().unwrap_or(0);
            found = Some(value.saturating_add(found.unwrap_or(0)));
        }
        found
    }

    /// The buckets of a histogram, summed over all its labels that have this one.
    pub(crate) fn buckets(&self, name: &str, label: &str) -> Buckets {
        let mut found = Buckets::new();
        for line in self.all(&format!("{name}_bucket"), label) {
            let bound = line.labels.split("le=\"").nth(1).and_then(|rest| rest.split('"').next());
            let seconds: Option<f64> = bound.and_then(|bound| bound.parse().ok());
            let bound = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let count = found.entry(bound.unwrap_or(Duration::MAX)).or_default();
            *count = count.saturating_add(line.value.parse().unwrap_or(0));
        }
        found
    }

    fn all<'a>(&'a self, name: &'a str, label: &'a str) -> impl Iterator<Item = &'a Line> {
        self.0.iter().filter(move |line| line.name == name && line.labels.contains(label))
    }
}

/// How many there were between two looks.
pub(crate) fn between(before: &Buckets, now: &Buckets) -> u64 {
    let all = |buckets: &Buckets| buckets.last_key_value().map_or(0, |(_, count)| *count);
    all(now).saturating_sub(all(before))
}

/// The time within which so many of a thousand ended between two looks: the bound of their bucket.
/// `None` if there were none.
pub(crate) fn within(before: &Buckets, now: &Buckets, permille: u64) -> Option<Duration> {
    let all = between(before, now);
    let wanted = all.saturating_mul(permille).div_ceil(1000).max(1);
    let since = |(bound, count): (&Duration, &u64)| {
        (*bound, count.saturating_sub(before.get(bound).copied().unwrap_or(0)))
    };
    now.iter().map(since).find(|(_, count)| *count >= wanted).map(|(bound, _)| bound)
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/admin/figures.rs"]
mod tests;
