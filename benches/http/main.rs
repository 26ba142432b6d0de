//! Durable order placements over HTTP against a server that does nothing but answer: the same
//! load, the same request and answer sizes, one after the other in one run.
//!
//! `cargo bench --bench http`; `OPENOUTCRY_BENCH_SECONDS` sets the length of each measurement.
//! Every server is a process of its own, so that its memory can be read.

#![allow(clippy::expect_used, clippy::panic, reason = "a bench that cannot measure stops")]
#![allow(clippy::float_arithmetic, clippy::cast_precision_loss, reason = "figures for people")]

mod load;
mod noop;
mod target;

use std::time::Duration;

use load::Measured;
use target::Target;

/// Connections driven at once, as the floors are stated.
const CONNECTIONS: [usize; 2] = [64, 256];

fn main() {
    if noop::asked_for() {
        return noop::serve();
    }
    // `cargo test --benches` and `--list` only want to know that it builds.
    if std::env::args().any(|argument| argument == "--test" || argument == "--list") {
        return;
    }
    let seconds = std::env::var("OPENOUTCRY_BENCH_SECONDS").ok().and_then(|s| s.parse().ok());
    let duration = Duration::from_secs(seconds.unwrap_or(5));
    println!(
        "{:<22} {:>5} {:>10} {:>8} {:>8} {:>8} {:>9} {:>6}",
        "server", "conns", "orders/s", "p50 us", "p99 us", "p999 us", "RSS KiB", "ratio"
    );
    for connections in CONNECTIONS {
        let noop = measure(&Target::noop(), connections, duration);
        let ratio = |measured: &Measured| measured.per_second() / noop.per_second();
        print_row("no-op hyper", connections, &noop, 1.0);
        let durable = measure(&Target::openoutcry(connections), connections, duration);
        print_row("openoutcry, durable", connections, &durable, ratio(&durable));
    }
}

fn measure(target: &Target, connections: usize, duration: Duration) -> Measured {
    let requests = target.requests(connections);
    // A short run first: connections, caches and the allocator settle.
    load::run(target.address(), &requests, duration / 5);
    let mut measured = load::run(target.address(), &requests, duration);
    measured.resident_kib = target.resident_kib();
    measured
}

fn print_row(server: &str, connections: usize, measured: &Measured, ratio: f64) {
    let us = |quantile| measured.latency.value_at_quantile(quantile);
    println!(
        "{server:<22} {connections:>5} {:>10.0} {:>8} {:>8} {:>8} {:>9} {ratio:>6.2}",
        measured.per_second(),
        us(0.5),
        us(0.99),
        us(0.999),
        measured.resident_kib
    );
}
