//! How long a start takes with millions of real commands in the journal, and what memory: opening
//! the journal alone, replaying all of it, and with a snapshot.
//!
//! `cargo bench --bench start`. Each start is a process of its own, so that its memory can be read.
//! `OPENOUTCRY_BENCH_FLOW` names a flow file (default: the sample in the binary),
//! `OPENOUTCRY_BENCH_RECORDS` how many commands at least (default 5,000,000), and
//! `OPENOUTCRY_BENCH_DATA` a folder to keep and use again (default: one that goes afterwards).

#![allow(clippy::expect_used, clippy::panic, reason = "a bench that cannot measure stops")]

mod venue;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use openoutcry::engine::start;
use openoutcry::exchange::Exchange;
use openoutcry::exchange::effect::Applied;
use openoutcry::exchange::units::Sequence;
use openoutcry::journal::Journal;
use openoutcry::journal::sled::SledJournal;
use openoutcry::projection::ReadModel;

/// Argument that makes this program one of the starts that it measures.
const START: &str = "start-measured-here";
/// Commands in the journal, unless told otherwise.
const RECORDS: u64 = 5_000_000;
/// How often each start is measured.
const RUNS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, start, stage, data, ..] = arguments.as_slice()
        && start == START
    {
        return run(stage, Path::new(data));
    }
    // `cargo test --benches` and `--list` only want to know that it builds.
    if arguments.iter().any(|argument| argument == "--test" || argument == "--list") {
        return;
    }
    let records = std::env::var("OPENOUTCRY_BENCH_RECORDS").ok().and_then(|n| n.parse().ok());
    let kept = std::env::var_os("OPENOUTCRY_BENCH_DATA").map(PathBuf::from);
    let passing = tempfile::tempdir_in(".").expect("a folder");
    let data = kept.unwrap_or_else(|| passing.path().to_owned());
    venue::make(&data, records.unwrap_or(RECORDS));
    for stage in ["open", "replay"] {
        for _ in 0..RUNS {
            measure(stage, &data);
        }
    }
}

/// Runs one stage in a process of its own, which prints what it measured.
fn measure(stage: &str, data: &Path) {
    let program = std::env::current_exe().expect("this program");
    let status = Command::new(program).arg(START).arg(stage).arg(data).status();
    assert!(status.expect("a process").success(), "{stage} failed");
}

fn run(stage: &str, data: &Path) {
    let began = Instant::now();
    let (journal, recovered) = SledJournal::open(data).expect("a journal");
    let opened = began.elapsed();
    let head = recovered.head.sequence;
    if stage == "open" {
        println!("open    {:>6} ms, {head} records, peak {} MiB", opened.as_millis(), peak_mib());
        return parts(&journal);
    }
    let running = start::start(journal).expect("a start");
    let whole = began.elapsed();
    assert_eq!(running.engine().read().watermark(), head);
    println!(
        "{stage:<7} {:>6} ms, of which opening {} ms, {head} records, peak {} MiB",
        whole.as_millis(),
        opened.as_millis(),
        peak_mib()
    );
    // Ended without freeing what was read: only the start is measured.
    std::process::exit(0);
}

/// What a replay is made of, one part after the other on one thread.
fn parts(journal: &SledJournal) {
    let (mut reading, mut applying, mut folding) = (0, 0, 0);
    let (mut exchange, mut read_model) = (Exchange::new(), ReadModel::new());
    let mut effects = Vec::new();
    let mut ends = Vec::new();
    let mut began = Instant::now();
    let mut lap = |total: &mut u128| {
        *total += std::mem::replace(&mut began, Instant::now()).elapsed().as_nanos();
    };
    for block in journal.read(Sequence::new(1)) {
        let block = block.expect("a sound block");
        lap(&mut reading);
        effects.clear();
        ends.clear();
        for record in block.records() {
            exchange.apply(record, &mut effects).expect("it applies");
            ends.push(effects.len());
        }
        lap(&mut applying);
        let mut from = 0;
        for (record, to) in block.records().iter().zip(&ends) {
            let (sequence, time) = (record.sequence, record.time);
            read_model.fold(&Applied { sequence, time, effects: &effects[from..*to] });
            from = *to;
        }
        lap(&mut folding);
    }
    let ms = |nanos: u128| nanos / 1_000_000;
    let (reading, applying, folding) = (ms(reading), ms(applying), ms(folding));
    println!("parts   reading {reading} ms, applying {applying} ms, folding {folding} ms");
}

/// The most memory that this process has had.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|n| n.parse().ok());
    kib.unwrap_or(0_u64) / 1024
}
