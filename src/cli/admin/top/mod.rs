//! `admin top`: a live page in the terminal, or a line of JSON for each look.

mod screen;

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::figures::{Buckets, Figures, between, within};
use super::session::{AdminError, Session};
use super::status::{self, Readiness};
use crate::cli::output;
use screen::Screen;

/// The classes of requests.
const CLASSES: [&str; 3] = ["reads", "writes", "cancels"];
/// A command's ways: what is shown, and its histogram.
const STEPS: [(&str, &str); 3] = [
    ("queue", "intake_wait_seconds"),
    ("append", "journal_append_seconds"),
    ("apply", "apply_seconds"),
];
/// Levels: what is shown, and the figure.
const LEVELS: [(&str, &str); 13] = [
    ("headSequence", "journal_head_sequence"),
    ("openOrders", "open_orders"),
    ("users", "users"),
    ("markets", "markets"),
    ("connections", "connections"),
    ("streams", "streams"),
    ("readLagRecords", "read_lag_records"),
    ("memoryBytes", "process_resident_memory_bytes"),
    ("diskFreeBytes", "disk_free_bytes"),
    ("snapshotSequence", "snapshot_sequence"),
    ("archiveSequence", "archive_sequence"),
    ("archiveBehindRecords", "archive_behind_records"),
    ("archiveS3BehindRecords", "archive_s3_behind_records"),
];

/// How often, and how many times.
#[derive(Debug, Args)]
#[command(
    after_help = "q or Esc ends it. Without a terminal, or with --json, each look is a line of JSON.

Example:
  openoutcry admin --json top --every 10 --count 6"
)]
pub(crate) struct TopArgs {
    /// Seconds between two looks
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 2,
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    every: u64,
    /// How many looks; without it until you end it
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

/// One look at the venue.
struct Look {
    at: Instant,
    readiness: Readiness,
    figures: Figures,
    books: Vec<Value>,
}

impl Look {
    async fn take(session: &mut Session) -> Result<Look, AdminError> {
        let readiness = Readiness::ask(session).await?;
        let figures = status::figures(session).await?;
        let markets = session.get("/markets/public/list?quotes=true&limit=30").await?;
        let markets = markets.json.get("markets").and_then(Value::as_array);
        let books = markets.into_iter().flatten().map(book).collect();
        Ok(Look { at: Instant::now(), readiness, figures, books })
    }
}

/// What is shown of a market.
fn book(market: &Value) -> Value {
    let of = |member: &str| market.get("stats").and_then(|stats| stats.get(member));
    json!({
        "market": market.get("slug"), "status": market.get("status"),
        "bestBid": of("bestBid"), "bestAsk": of("bestAsk"), "lastPrice": of("lastPrice"),
        "volume24h": of("volume24h"), "openInterest": of("openInterest"),
    })
}

/// Looks again and again.
///
/// # Errors
/// [`AdminError`]. On a live page only of the first look: later ones are shown in their place.
pub(crate) async fn run(
    session: &mut Session,
    url: &str,
    args: &TopArgs,
) -> Result<(), AdminError> {
    let mut before = Look::take(session).await?;
    let live = !session.json && output::is_read();
    let mut screen = live.then(|| Screen::open(url)).transpose()?;
    let mut left = args.count;
    while left != Some(0) {
        if !rests(Duration::from_secs(args.every), screen.as_mut()).await? {
            break;
        }
        match (Look::take(session).await, &mut screen) {
            (Ok(now), Some(screen)) => {
                screen.show(&told(&before, &now))?;
                before = now;
            }
            (Ok(now), None) => {
                Session::print(&told(&before, &now).to_string())?;
                before = now;
            }
            (Err(error), Some(screen)) => screen.say(&error.to_string())?,
            (Err(error), None) => return Err(error),
        }
        left = left.map(|left| left.saturating_sub(1));
    }
    Ok(())
}

/// Rests; false if the person at the terminal ends it meanwhile.
async fn rests(time: Duration, mut screen: Option<&mut Screen>) -> Result<bool, AdminError> {
    /// How long a pressed key may wait.
    const LISTENS_EVERY: Duration = Duration::from_millis(50);
    let until = Instant::now() + time;
    while Instant::now() < until {
        if let Some(screen) = screen.as_deref_mut()
            && screen.is_left()?
        {
            return Ok(false);
        }
        tokio::time::sleep(LISTENS_EVERY.min(time)).await;
    }
    Ok(true)
}

/// What two looks tell.
fn told(before: &Look, now: &Look) -> Value {
    let elapsed = now.at.duration_since(before.at);
    let spread = |name: &str, label: &str| {
        let [then, now] = [&before.figures, &now.figures].map(|look| look.buckets(name, label));
        spread(&then, &now, elapsed)
    };
    let rate = |name: &str, label: &str| {
        let [then, now] = [&before.figures, &now.figures].map(|look| look.sum(name, label));
        per_second(now.unwrap_or(0).saturating_sub(then.unwrap_or(0)), elapsed)
    };
    let all = rate("commands_total", "");
    let accepted = rate("commands_total", "result=\"ACCEPTED\"");
    let mut told = json!({
        "state": now.readiness.state, "warnings": now.readiness.warnings,
        "recordsPerSecond": rate("journal_head_sequence", ""),
        "refusedPerSecond": all.saturating_sub(accepted),
        "requests": {}, "steps": {}, "books": now.books,
    });
    for class in CLASSES {
        told["requests"][class] = spread("http_request_seconds", &format!("class=\"{class}\""));
    }
    for (shown, name) in STEPS {
        told["steps"][shown] = spread(name, "");
    }
    for (shown, name) in LEVELS {
        told[shown] = json!(now.figures.sum(name, ""));
    }
    told
}

/// How many there were in a second, and how long they took.
fn spread(before: &Buckets, now: &Buckets, elapsed: Duration) -> Value {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let shown = |permille| within(before, now, permille).map(micros);
    json!({
        "perSecond": per_second(between(before, now), elapsed),
        "p50Microseconds": shown(500), "p99Microseconds": shown(990),
    })
}

fn per_second(count: u64, elapsed: Duration) -> u64 {
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    count.saturating_mul(1000) / millis
}
