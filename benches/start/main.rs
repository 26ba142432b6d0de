//! Time and memory of a start with millions of real commands in the journal: the parts of a replay,
//! a start that replays everything, taking a snapshot, and a start from it.
//!
//! `cargo bench --bench start`. Each start is its own process, so that its memory can be read.
//! `OPENOUTCRY_BENCH_FLOW` names a flow file (default: the sample in the binary),
//! `OPENOUTCRY_BENCH_RECORDS` the minimum number of commands (default 5,000,000), and
//! `OPENOUTCRY_BENCH_DATA` a folder to keep and reuse (default: a temporary one).
//! `OPENOUTCRY_BENCH_ORDERS` uses a venue with this many closed orders instead of the flow:
//! measures its memory live, while taking a snapshot, and in starts with it and some later records.

#![allow(clippy::expect_used, clippy::panic, reason = "a bench that cannot measure stops")]

mod busy;
#[allow(dead_code, reason = "the rest is for another bench")]
#[path = "../core/mix.rs"]
mod mix;
mod venue;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, Instant};

use engine::Engine;
use engine::history::HistoryStore;
use engine::start::{self, Options, Snapshots, Storage};
use exchange::Exchange;
use exchange::command::Command;
use exchange::effect::Applied;
use exchange::ids::{OrderNo, UserNo};
use exchange::units::Sequence;
use journal::Journal;
use journal::directory::LogJournal;
use journal::snapshot::SnapshotFolder;
use views::ReadModel;
use views::history::History;

/// Argument that makes this program run as one of the measured starts.
const START: &str = "start-measured-here";
/// Commands in the journal by default.
const RECORDS: u64 = 5_000_000;
/// Records after a snapshot that trigger another: more than come here.
const EVERY: u64 = 5_000;
/// Commands after the snapshot of a venue of closed orders.
const MORE: u32 = 4_000;
/// Runs per start.
const RUNS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, start, stage, data, ..] = arguments.as_slice()
        && start == START
    {
        return run(stage, Path::new(data));
    }
    // `cargo test --benches` and `--list` only check that it builds.
    if arguments.iter().any(|argument| argument == "--test" || argument == "--list") {
        return;
    }
    let records = std::env::var("OPENOUTCRY_BENCH_RECORDS").ok().and_then(|n| n.parse().ok());
    let kept = std::env::var_os("OPENOUTCRY_BENCH_DATA").map(PathBuf::from);
    let passing = tempfile::tempdir_in(".").expect("a folder");
    let data = kept.unwrap_or_else(|| passing.path().to_owned());
    let orders = std::env::var("OPENOUTCRY_BENCH_ORDERS").ok().and_then(|n| n.parse().ok());
    let stages: &[&str] = if let Some(orders) = orders {
        busy::make(&data, orders);
        &["more", "restore"]
    } else {
        venue::make(&data, records.unwrap_or(RECORDS));
        &["parts", "replay", "take", "restore"]
    };
    for stage in stages {
        // A snapshot is taken only once: a second run would start from the first.
        for _ in 0..if matches!(*stage, "take" | "more") { 1 } else { RUNS } {
            measure(stage, &data);
        }
    }
}

/// Runs one stage in its own process, which prints its measurements.
fn measure(stage: &str, data: &Path) {
    let program = std::env::current_exe().expect("this program");
    let status = process::Command::new(program).arg(START).arg(stage).arg(data).status();
    assert!(status.expect("a process").success(), "{stage} failed");
}

fn run(stage: &str, data: &Path) {
    let began = Instant::now();
    let (journal, recovered) = LogJournal::open(data).expect("a journal");
    let (opened, with_journal) = (began.elapsed(), memory_mib("VmRSS:"));
    let head = recovered.head.sequence;
    if stage == "parts" {
        return parts(&journal);
    }
    let folder = SnapshotFolder::open(data).expect("a folder");
    let snapshots = match stage {
        "take" => Some(Snapshots { folder, every: NonZeroU64::new(1) }),
        "more" => Some(Snapshots { folder, every: NonZeroU64::new(EVERY) }),
        "restore" => Some(Snapshots { folder, every: None }),
        _ => None,
    };
    let history = HistoryStore::open(data).expect("history");
    let with_history = memory_mib("VmRSS:");
    let beside = Storage { history, snapshots };
    let options = Options { storage: Some(beside), ..Options::default() };
    let running = start::start(journal, options).expect("a start");
    let started = began.elapsed();
    let engine = running.engine();
    assert_eq!(engine.read().watermark(), head);
    println!(
        "{stage:<7} {:>6} ms to start, of which opening {} ms, {head} records, {} ms of processor, \
         {} MiB, peak {} MiB; {with_journal} MiB with the journal, {with_history} with history",
        started.as_millis(),
        opened.as_millis(),
        processor_ms(),
        memory_mib("VmRSS:"),
        memory_mib("VmHWM:")
    );
    println!("        {}", census(&engine.read()));
    if matches!(stage, "take" | "more") {
        taken(&engine);
    }
    if stage == "more" {
        more(&engine);
    }
    // Exits without freeing the state: only the start is measured.
    process::exit(0);
}

/// Waits until a snapshot is taken.
fn taken(engine: &Engine) {
    let began = Instant::now();
    while engine.snapshots().taken == 0 {
        assert_eq!(engine.snapshots().failures, 0);
        std::thread::sleep(Duration::from_millis(10));
    }
    let (ms, bytes) = (began.elapsed().as_millis(), engine.snapshots().bytes);
    let (memory, most) = (memory_mib("VmRSS:"), memory_mib("VmHWM:"));
    println!("taken   {ms:>6} ms, {bytes} bytes, {memory} MiB, peak {most} MiB");
}

/// Places orders after the snapshot, in the newest market, and cancels them.
fn more(engine: &Engine) {
    let markets = engine.read().catalogue.markets_created().len();
    let market = u32::try_from(markets).expect("a number") - 1;
    let mut asked = Vec::new();
    for user in 0..MORE / 2 {
        let place = Command::PlaceOrder(mix::order(user, market, true, 1, 1));
        asked.push(engine.begin(place));
    }
    let mut placed = Vec::new();
    for (user, answer) in (0..).map(UserNo).zip(asked) {
        let answer = answer.wait().expect("it is durable");
        placed.push(Command::CancelOrder { user, order: OrderNo(answer.sequence()) });
    }
    let submit = |command| engine.begin(command);
    let asked: Vec<_> = placed.into_iter().map(submit).collect();
    for answer in asked {
        answer.wait().expect("it is durable");
    }
}

/// The parts of a replay, one after the other on one thread.
fn parts(journal: &LogJournal) {
    let (mut reading, mut applying, mut folding) = (0, 0, 0);
    let mut exchange = Exchange::new();
    let mut read_model = ReadModel::on(&History::discarding());
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

/// Processor time of all threads so far: the cost of the start on a shared machine.
fn processor_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a status");
    // After the name, which ends with the last parenthesis: user and system time in 1/100 s.
    let (_, fields) = stat.rsplit_once(')').expect("fields");
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok());
    ticks.sum::<u64>() * 10
}

/// Counts of everything in the model, and of open orders.
fn census(view: &ReadModel) -> String {
    let users: Vec<UserNo> = view.accounts.users_newest_first().map(|row| row.no).collect();
    let markets = view.catalogue.markets_created().len();
    let orders: usize = users.iter().map(|user| view.orders.count(*user)).sum();
    let fills: usize = users.iter().map(|user| view.orders.fills_of(*user).len()).sum();
    let open = view.orders.open_count();
    let closed = orders - open;
    format!(
        "{} users, {markets} markets, {open} orders open, {closed} closed, {fills} fills",
        users.len()
    )
}

/// A memory figure of this process by its name in `/proc/self/status`.
fn memory_mib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|n| n.parse().ok());
    kib.unwrap_or(0_u64) / 1024
}
