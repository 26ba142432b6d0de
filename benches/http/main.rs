//! The exchange over HTTP compared with upper bounds: a hyper server that only answers, and the
//! same with an empty durable commit before every answer. Each row drives all of them in turn,
//! several times, with the same requests; the references send the exchange's answer.
//!
//! `cargo bench --bench http`; `OPENOUTCRY_BENCH_SECONDS` sets the length of each measurement,
//! `OPENOUTCRY_BENCH_ROUNDS` the number of repetitions, `OPENOUTCRY_BENCH_ROWS` the rows. Every
//! server is a process of its own, so that its resource use can be read.

#![allow(clippy::expect_used, clippy::panic, reason = "a bench that cannot measure stops")]
#![allow(clippy::float_arithmetic, clippy::cast_precision_loss, reason = "figures for people")]

#[path = "../bodies/mod.rs"]
mod bodies;
mod load;
mod paced;
mod reference;
mod server;
#[path = "../../tests/starting/mod.rs"]
mod starting;
mod target;

use std::io::Write;
use std::time::Duration;

use tempfile::TempDir;

use load::{Measured, Requests};
use server::{Server, Used};
use target::{Exchange, Read};

/// Orders per request in the batch row.
const BATCH_ORDERS: usize = 100;
/// Percentiles printed for placements at half of the maximum rate.
const PACED_QUANTILES: [f64; 2] = [0.5, 0.99];

/// Length and number of measurements.
struct Plan {
    duration: Duration,
    rounds: usize,
}

/// The requests sent to all servers.
struct Row {
    name: &'static str,
    requests: Requests,
    /// Orders, or reads, per request.
    unit: usize,
}

/// The servers that the exchange is compared with.
struct References {
    /// Only answers.
    noop: Server,
    /// Makes an empty commit durable before it answers.
    commit: Option<Server>,
    /// Folder of the commits.
    _commits: TempDir,
}

/// One server's runs.
#[derive(Default)]
struct Runs {
    per_second: Vec<f64>,
    p50: Vec<u64>,
    p99: Vec<u64>,
    processor_us: Vec<f64>,
    switches: Vec<f64>,
    resident_kib: u64,
}

fn main() {
    if reference::serve_if_asked() {
        return;
    }
    // `cargo test --benches` and `--list` only check that it builds.
    if std::env::args().any(|argument| argument == "--test" || argument == "--list") {
        return;
    }
    let number = |name: &str, standard| {
        std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(standard)
    };
    let duration = Duration::from_secs(number("OPENOUTCRY_BENCH_SECONDS", 3));
    let rounds = usize::try_from(number("OPENOUTCRY_BENCH_ROUNDS", 3)).expect("a count");
    let plan = Plan { duration, rounds: rounds.max(1) };
    let rows = std::env::var("OPENOUTCRY_BENCH_ROWS").unwrap_or_default();
    let wanted = |row: &str| rows.is_empty() || rows.split(',').any(|wanted| wanted == row);
    println!(
        "{:<20} {:<12} {:>9} {:>8} {:>8} {:>8} {:>9} {:>9} {:>14} {:>14}",
        "row",
        "server",
        "per s",
        "p50 us",
        "p99 us",
        "cpu us",
        "switches",
        "RSS KiB",
        "to no-op",
        "to commit"
    );
    if wanted("place64") {
        let exchange = Exchange::open(64);
        let row = Row { name: "place, 64", requests: exchange.placements(), unit: 1 };
        let references = References::start(&exchange, &row, true);
        let top = plan.measure(&references, &exchange, &row);
        plan.measure_paced(&references, &exchange, &row, top / 2.0);
    }
    if wanted("place256") {
        let exchange = Exchange::open(256);
        let row = Row { name: "place, 256", requests: exchange.placements(), unit: 1 };
        plan.measure(&References::start(&exchange, &row, true), &exchange, &row);
    }
    if wanted("batch") {
        let exchange = Exchange::open(16);
        let requests = exchange.batches(BATCH_ORDERS);
        let row = Row { name: "batch of 100, 16", requests, unit: BATCH_ORDERS };
        plan.measure(&References::start(&exchange, &row, true), &exchange, &row);
    }
    let reads = [
        ("depth", "depth, 64", Read::Depth),
        ("markets", "markets, 64", Read::Markets),
        ("orders", "orders, 64", Read::Orders),
    ];
    if reads.iter().any(|(row, ..)| wanted(row)) {
        let exchange = Exchange::open(64);
        exchange.fill_books();
        for (row, name, read) in reads {
            if wanted(row) {
                let row = Row { name, requests: exchange.reads(read), unit: 1 };
                plan.measure(&References::start(&exchange, &row, false), &exchange, &row);
            }
        }
    }
}

impl Plan {
    /// Measures and prints a row on every server in turn; returns the exchange's rate per second.
    fn measure(&self, references: &References, exchange: &Exchange, row: &Row) -> f64 {
        let servers = references.and(&exchange.server);
        // A short warm-up: connections, caches and the allocator settle.
        for server in servers.into_iter().flatten() {
            load::run(server.address(), &row.requests, self.duration / 5);
        }
        let mut runs = [const { None }; 3];
        for _ in 0..self.rounds {
            for (server, runs) in servers.iter().zip(&mut runs) {
                if let Some(server) = server {
                    runs.get_or_insert_with(Runs::default).add(server, row, self.duration, None);
                }
            }
        }
        let [noop, commit, ours] = &runs;
        for (name, server) in [("no-op", noop), ("commit", commit), ("openoutcry", ours)] {
            if let Some(server) = server {
                let to = [noop, commit].map(|other| other.as_ref().map(|o| server.ratios(o)));
                server.print(row.name, name, to);
            }
        }
        middle(&ours.as_ref().expect("a run").per_second)
    }

    /// Measures every server at the same pace, next to the time of a single durable commit: the
    /// references show the share of the machine and of the load generator.
    fn measure_paced(
        &self,
        references: &References,
        exchange: &Exchange,
        row: &Row,
        per_second: f64,
    ) {
        let commit = reference::one_commit().as_secs_f64() * 1e6;
        let names = ["no-op", "commit", "openoutcry"];
        for (name, server) in names.into_iter().zip(references.and(&exchange.server)) {
            let Some(server) = server else { continue };
            let mut runs = Runs::default();
            for _ in 0..self.rounds {
                runs.add(server, row, self.duration, Some(per_second));
            }
            runs.print("place, half the rate", name, [None, None]);
            let times = [&runs.p50, &runs.p99].map(|us| middle(us) as f64 / commit);
            for (quantile, times) in PACED_QUANTILES.iter().zip(times) {
                println!(
                    "  p{:.0} is {times:.1} times one durable commit of {commit:.0} us",
                    quantile * 100.0
                );
            }
        }
    }
}

impl References {
    /// References that send the exchange's answer to a row's first request.
    fn start(exchange: &Exchange, row: &Row, durable: bool) -> References {
        let first = row.requests.first().and_then(|requests| requests.first()).expect("a request");
        let answer = load::ask(exchange.server.address(), first);
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&answer).expect("writing");
        let noop = Server::start(reference::command(file.path(), None));
        let commits = target::folder();
        let commit =
            durable.then(|| Server::start(reference::command(file.path(), Some(commits.path()))));
        References { noop, commit, _commits: commits }
    }

    /// The references and the exchange.
    fn and<'a>(&'a self, exchange: &'a Server) -> [Option<&'a Server>; 3] {
        [Some(&self.noop), self.commit.as_ref(), Some(exchange)]
    }
}

impl Runs {
    fn add(&mut self, server: &Server, row: &Row, duration: Duration, per_second: Option<f64>) {
        let before = server.used();
        let measured = match per_second {
            Some(rate) => paced::run(server.address(), &row.requests, duration, rate),
            None => load::run(server.address(), &row.requests, duration),
        };
        self.take(&measured, server.used().since(before), row.unit);
        self.resident_kib = server.resident_kib();
    }

    fn take(&mut self, measured: &Measured, used: Used, unit: usize) {
        let units = measured.latency.len() as f64 * unit as f64;
        self.per_second.push(measured.per_second() * unit as f64);
        self.p50.push(measured.latency.value_at_quantile(PACED_QUANTILES[0]));
        self.p99.push(measured.latency.value_at_quantile(PACED_QUANTILES[1]));
        self.processor_us.push(used.processor_seconds * 1e6 / units);
        self.switches.push(used.switches as f64 / units);
    }

    /// Speed relative to `other`, round by round.
    fn ratios(&self, other: &Runs) -> Vec<f64> {
        self.per_second.iter().zip(&other.per_second).map(|(own, other)| own / other).collect()
    }

    fn print(&self, row: &str, server: &str, to: [Option<Vec<f64>>; 2]) {
        let [noop, commit] = to.map(|ratios| ratios.map_or_else(String::new, |r| spread(&r)));
        println!(
            "{row:<20} {server:<12} {:>9.0} {:>8} {:>8} {:>8.2} {:>9.3} {:>9} {noop:>14} {commit:>14}",
            middle(&self.per_second),
            middle(&self.p50),
            middle(&self.p99),
            middle(&self.processor_us),
            middle(&self.switches),
            self.resident_kib
        );
    }
}

/// The median, and the range.
fn spread(ratios: &[f64]) -> String {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    format!("{:.2} {least:.2}-{most:.2}", middle(ratios))
}

fn middle<T: Copy + PartialOrd>(values: &[T]) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("comparable figures"));
    sorted[sorted.len() / 2]
}
