//! How long a start takes with millions of real commands in the journal, and what memory: what a
//! replay is made of, a start that replays all, a snapshot being taken, and a start with it.
//!
//! `cargo bench --bench start`. Each start is a process of its own, so that its memory can be read.
//! `OPENOUTCRY_BENCH_FLOW` names a flow file (default: the sample in the binary),
//! `OPENOUTCRY_BENCH_RECORDS` how many commands at least (default 5,000,000), and
//! `OPENOUTCRY_BENCH_DATA` a folder to keep and use again (default: one that goes afterwards).
//! `OPENOUTCRY_BENCH_ORDERS` makes it a venue of so many closed orders instead, whatever the flow:
//! what memory it takes live, taking a snapshot, and starts with it and some records after it.

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

use openoutcry::engine::Engine;
use openoutcry::engine::history::HistoryStore;
use openoutcry::engine::start::{self, Snapshots, Storage};
use openoutcry::exchange::Exchange;
use openoutcry::exchange::command::Command;
use openoutcry::exchange::effect::Applied;
use openoutcry::exchange::ids::{OrderNo, UserNo};
use openoutcry::exchange::units::Sequence;
use openoutcry::journal::Journal;
use openoutcry::journal::sled::SledJournal;
use openoutcry::journal::snapshot::folder::SnapshotFolder;
use openoutcry::projection::ReadModel;
use openoutcry::projection::history::History;

/// Argument that makes this program one of the starts that it measures.
const START: &str = "start-measured-here";
/// Commands in the journal, unless told otherwise.
const RECORDS: u64 = 5_000_000;
/// Records after a snapshot that are worth another: more than come here.
const EVERY: u64 = 5_000;
/// Commands after the snapshot of a venue of closed orders.
const MORE: u32 = 4_000;
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
    let orders = std::env::var("OPENOUTCRY_BENCH_ORDERS").ok().and_then(|n| n.parse().ok());
    let stages: &[&str] = if let Some(orders) = orders {
        busy::make(&data, orders);
        &["more", "restore"]
    } else {
        venue::make(&data, records.unwrap_or(RECORDS));
        &["parts", "replay", "take", "restore"]
    };
    for stage in stages {
        // Only one is taken: a second would begin with the first.
        for _ in 0..if matches!(*stage, "take" | "more") { 1 } else { RUNS } {
            measure(stage, &data);
        }
    }
}

/// Runs one stage in a process of its own, which prints what it measured.
fn measure(stage: &str, data: &Path) {
    let program = std::env::current_exe().expect("this program");
    let status = process::Command::new(program).arg(START).arg(stage).arg(data).status();
    assert!(status.expect("a process").success(), "{stage} failed");
}

fn run(stage: &str, data: &Path) {
    let began = Instant::now();
    let (journal, recovered) = SledJournal::open(data).expect("a journal");
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
    let running = start::start_with(journal, Some(beside)).expect("a start");
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
    // Ended without freeing what was read: only the start is measured.
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

/// Places orders after the snapshot, in the market that was made last, and cancels them.
fn more(engine: &Engine) {
    let markets = engine.read().catalogue.markets_created().len();
    let market = u32::try_from(markets).expect("a number") - 1;
    let mut asked = Vec::new();
    for user in 0..MORE / 2 {
        let place = Command::PlaceOrder(mix::order(user, market, true, 1, 1));
        asked.push(engine.submit_detached(place).expect("it is taken in"));
    }
    let mut placed = Vec::new();
    for (user, answer) in (0..).map(UserNo).zip(asked) {
        let answer = answer.blocking_recv().expect("an answer").expect("it is durable");
        placed.push(Command::CancelOrder { user, order: OrderNo(answer.sequence()) });
    }
    let told = |command| engine.submit_detached(command).expect("it is taken in");
    let asked: Vec<_> = placed.into_iter().map(told).collect();
    for answer in asked {
        answer.blocking_recv().expect("an answer").expect("it is durable");
    }
}

/// What a replay is made of, one part after the other on one thread.
fn parts(journal: &SledJournal) {
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

/// Processor time of all threads so far: what the start costs when the machine is shared.
fn processor_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a status");
    // After the name, which ends with the last parenthesis: user and system time in 1/100 s.
    let (_, fields) = stat.rsplit_once(')').expect("fields");
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok());
    ticks.sum::<u64>() * 10
}

/// What there is, and what of it stands.
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

/// Memory of this process by its name in the system's account of it.
fn memory_mib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|n| n.parse().ok());
    kib.unwrap_or(0_u64) / 1024
}
