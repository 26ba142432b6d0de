//! Order entry over WebSockets compared with HTTP, on one binary in one run, by how many
//! connections and how deep each is pipelined; and the fan-out of one busy book to many listeners,
//! compared with a server that only writes frames, as many at once as wait.
//!
//! `cargo bench --bench stream`; `OPENOUTCRY_BENCH_SECONDS` sets the length of each measurement,
//! `OPENOUTCRY_BENCH_ROWS` what is measured: `entry`, `fanout`.

#![allow(clippy::expect_used, clippy::panic, reason = "a bench that cannot measure stops")]
#![allow(clippy::float_arithmetic, clippy::cast_precision_loss, reason = "figures for people")]
#![allow(dead_code, reason = "it shares files with another bench")]

#[path = "../bodies/mod.rs"]
mod bodies;
mod fanout;
#[path = "../http/load.rs"]
mod load;
mod pipelined;
#[path = "../http/server.rs"]
mod server;
#[path = "../../tests/starting/mod.rs"]
mod starting;
#[path = "../http/target.rs"]
mod target;

use std::time::Duration;

use pipelined::Way;
use target::Exchange;

/// Connections, and requests of each that are not answered.
const DEPTHS: [usize; 3] = [1, 8, 64];
const CONNECTIONS: [usize; 3] = [1, 16, 64];

fn main() {
    if fanout::serve_if_asked() {
        return;
    }
    // `cargo test --benches` and `--list` only check that it builds.
    if std::env::args().any(|argument| argument == "--test" || argument == "--list") {
        return;
    }
    let seconds = std::env::var("OPENOUTCRY_BENCH_SECONDS").ok().and_then(|n| n.parse().ok());
    let duration = Duration::from_secs(seconds.unwrap_or(3));
    let rows = std::env::var("OPENOUTCRY_BENCH_ROWS").unwrap_or_default();
    let wanted = |row: &str| rows.is_empty() || rows.split(',').any(|wanted| wanted == row);
    if wanted("entry") {
        entry(duration);
    }
    if wanted("fanout") {
        fanout::run(duration);
    }
}

/// Durable placements a second.
fn entry(duration: Duration) {
    println!(
        "{:<12} {:>8} {:>6} {:>10} {:>8} {:>8} {:>9}",
        "way", "sockets", "deep", "orders/s", "p50 us", "p99 us", "cpu us"
    );
    for connections in CONNECTIONS {
        let exchange = Exchange::open(connections);
        for deep in DEPTHS {
            for way in [Way::Http, Way::Socket] {
                let requests = match way {
                    Way::Http => exchange.placements(),
                    Way::Socket => pipelined::placements(&exchange),
                };
                let before = exchange.server.used();
                let address = exchange.server.address();
                let measured =
                    pipelined::run(address, way, &requests, &exchange.keys, deep, duration);
                let used = exchange.server.used().since(before);
                let orders = measured.latency.len();
                println!(
                    "{:<12} {:>8} {:>6} {:>10.0} {:>8} {:>8} {:>9.1}",
                    way.name(),
                    connections,
                    deep,
                    measured.per_second(),
                    measured.latency.value_at_quantile(0.5),
                    measured.latency.value_at_quantile(0.99),
                    used.processor_seconds * 1e6 / orders as f64,
                );
            }
        }
    }
    let exchange = Exchange::open(16);
    let measured = load::run(exchange.server.address(), &exchange.batches(100), duration);
    println!("batches of 100 over 16: {:.0} orders/s", measured.per_second() * 100.0);
}
