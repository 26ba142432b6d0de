//! The cost of one command, part by part, on one thread without a disk: the book alone, the
//! exchange on real flow, the same with hashed results, reading and replaying a journal, 100,000
//! markets; folding for readers; the door's part of a request; and the memory of a resting order
//! and of a quiet market.
//!
//! `cargo bench --bench core [-- ROW..]`. Every row runs in its own process, so that allocations of
//! one do not help the next. `-- once ROW` runs a row's commands once, for `benches/count.sh`.
//! `OPENOUTCRY_BENCH_FLOW` names a flow file (default: the sample in the binary).

#![allow(clippy::expect_used, clippy::panic, reason = "a bench that cannot measure stops")]

#[allow(dead_code, reason = "the rest is for other benches")]
#[path = "../bodies/mod.rs"]
mod bodies;
mod book;
mod door;
mod fold;
mod memory;
mod mix;

use std::path::Path;
use std::process::Command as Process;
use std::time::{Duration, Instant};

use exchange::Exchange;
use exchange::book::AHEAD;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::results::{Results, ResultsLog};
use exchange::units::Sequence;
use flow::lines::Source;
use flow::records::FlowRecords;
use flow::{Flow, sample};
use journal::Journal;
use journal::block::BlockBuilder;
use journal::memory::MemoryJournal;
use journal::replay::{self, Replayer};

use mix::Script;

/// Rows in print order.
const ROWS: [&str; 16] = [
    "book",
    "flow",
    "results",
    "read",
    "replay",
    "zipf",
    "folding",
    "folding-zipf",
    "folding-batches",
    "door-place",
    "door-batch",
    "door-depth",
    "door-markets",
    "door-orders",
    "resting",
    "quiet",
];
/// Runs per row; the best and the median are printed.
const RUNS: usize = 9;
/// How often the book row replays its market, each time on a fresh book.
const BOOK_DAYS: usize = 20;
/// Records per block: a busy venue's group commit.
const BLOCK_RECORDS: usize = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "--bench").collect();
    match arguments.as_slice() {
        // `cargo test --benches` and `--list` only check that it builds.
        [first, ..] if *first == "--test" || *first == "--list" => {}
        ["row", row] => measure(row, RUNS),
        ["once", row] => measure(row, 1),
        [] => ROWS.into_iter().for_each(in_own_process),
        rows => rows.iter().for_each(|row| in_own_process(row)),
    }
}

fn in_own_process(row: &str) {
    let program = std::env::current_exe().expect("this program");
    let status = Process::new(program).args(["row", row]).status();
    assert!(status.expect("a process").success(), "{row} failed");
}

fn measure(row: &str, runs: usize) {
    match row {
        "book" => {
            let steps = book::steps(&flow().records);
            // One replay of the market is too short to time.
            let days = || vec![book::Venue::default(); BOOK_DAYS];
            repeat(row, runs, steps.len() * BOOK_DAYS, days, |days: &mut Vec<book::Venue>| {
                for venue in days.iter_mut() {
                    venue.play(&steps);
                }
            });
        }
        "flow" => on_exchange(row, runs, &flow(), apply),
        "results" => on_exchange(row, runs, &flow(), apply_and_hash),
        "read" => on_journal(row, runs, &flow(), |journal| {
            for block in journal.read(Sequence::new(1)) {
                block.expect("a sound block");
            }
        }),
        "replay" => on_journal(row, runs, &flow(), |journal| {
            let blocks = journal.read(Sequence::new(1));
            replay::replay(blocks, &mut Replayer::new(), |_, _| ()).expect("a sound journal");
        }),
        "zipf" => on_exchange(row, runs, &mix::zipf(), apply),
        "folding" => fold::fold(row, runs, &flow()),
        "folding-zipf" => fold::fold(row, runs, &mix::zipf()),
        "folding-batches" => fold::fold(row, runs, &mix::batches()),
        "resting" => memory::resting(),
        "quiet" => memory::quiet(),
        row => {
            let asked =
                row.strip_prefix("door-").unwrap_or_else(|| panic!("no row is called {row}"));
            let (commands, took) = door::answered(asked, runs);
            print_times(row, commands, took);
        }
    }
}

/// The flow of the rows on real flow.
fn flow() -> Script {
    let source = std::env::var_os("OPENOUTCRY_BENCH_FLOW");
    let source = source
        .map_or_else(sample::flow, |path| Source::open(Path::new(&path)).expect("the flow opens"));
    let flow = FlowRecords::of(&Flow::read(source, None).expect("the flow reads"));
    Script { records: flow.records, opening_count: flow.opening_count }
}

fn on_exchange(
    row: &str,
    runs: usize,
    script: &Script,
    play: impl Fn(&mut Exchange, &[Record], &mut Vec<Effect>),
) {
    let (opening, lines) = script.records.split_at(script.opening_count);
    let mut exchange = Exchange::new();
    let mut effects = Vec::new();
    apply(&mut exchange, opening, &mut effects);
    repeat(row, runs, lines.len(), || exchange.clone(), |venue| play(venue, lines, &mut effects));
}

fn apply(exchange: &mut Exchange, records: &[Record], effects: &mut Vec<Effect>) {
    for records in records.chunks(AHEAD) {
        exchange.prefetch(records);
        for record in records {
            effects.clear();
            exchange.apply(record, effects).expect("it applies");
        }
    }
}

fn apply_and_hash(exchange: &mut Exchange, records: &[Record], effects: &mut Vec<Effect>) {
    let mut log = ResultsLog::default();
    for block in records.chunks(BLOCK_RECORDS) {
        for record in block {
            effects.clear();
            exchange.apply(record, effects).expect("it applies");
            log.push(record, effects);
        }
        log.seal();
    }
}

/// A journal of all records, whose blocks store the results of the blocks before them.
fn on_journal(row: &str, runs: usize, script: &Script, play: impl Fn(&MemoryJournal)) {
    let mut journal = MemoryJournal::new();
    let (mut exchange, mut log) = (Exchange::new(), ResultsLog::default());
    let (mut effects, mut known) = (Vec::new(), Results::NONE);
    for records in script.records.chunks(BLOCK_RECORDS) {
        let mut block = BlockBuilder::new(journal.head());
        for record in records {
            block.push(record.clone()).expect("it fits");
            effects.clear();
            exchange.apply(record, &mut effects).expect("it applies");
            log.push(record, &effects);
        }
        journal.append(block.build(known).expect("a block")).expect("it is kept");
        known = log.seal();
    }
    repeat(row, runs, script.records.len(), || (), |()| play(&journal));
}

/// Runs a row's commands `runs` times, each time on a fresh venue, and prints the times.
fn repeat<V>(
    row: &str,
    runs: usize,
    commands: usize,
    fresh: impl Fn() -> V,
    mut play: impl FnMut(&mut V),
) {
    let mut took: Vec<Duration> = Vec::with_capacity(runs);
    for _ in 0..runs {
        let mut venue = fresh();
        let (began, processor) = (Instant::now(), on_processor());
        measured(&mut venue, &mut play);
        let elapsed = began.elapsed();
        took.push(
            on_processor()
                .zip(processor)
                .map_or(elapsed, |(after, before)| after.saturating_sub(before)),
        );
    }
    print_times(row, commands, took);
}

/// Prints the times of a row's runs.
fn print_times(row: &str, commands: usize, mut took: Vec<Duration>) {
    took.sort_unstable();
    let (best, middle) = (took[0], took[took.len() / 2]);
    let commands = u32::try_from(commands).expect("a count");
    let picos = |took: Duration| took.as_nanos() * 1000 / u128::from(commands);
    let rate = |took: Duration| 1_000_000_000 / picos(took).max(1);
    println!(
        "{row:<8} {commands:>8} commands  middle {:>4} ns  best {:>4} ns  {:>6} thousand/s",
        picos(middle) / 1000,
        picos(best) / 1000,
        rate(middle)
    );
}

/// Processor time of this thread, if the system provides it: on a shared machine wall time includes
/// other processes.
fn on_processor() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// `benches/count.sh` counts the instructions of this function.
#[inline(never)]
fn measured<V>(venue: &mut V, play: &mut impl FnMut(&mut V)) {
    play(venue);
}
