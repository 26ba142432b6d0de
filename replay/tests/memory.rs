//! The tool's memory must not grow with the journal: compares the peak memory of every command on a
//! recorded flow and on the same flow repeated several times.
//!
//! `OPENOUTCRY_MEMORY_ROUNDS` sets the number of repetitions. With `OPENOUTCRY_MEMORY_DIR` the
//! large set is used instead of the committed sample, if it exists (see `flow.rs`), and the two
//! journals are kept in that folder. Prints the peaks.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop at once

mod recording;
mod venue;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::thread;
use std::time::Duration;

use exchange::catalogue::Outcome;
use recording::{BLOCK_RECORDS, RecordedFlow, large, sample};
use serde_json::Value;
use venue::export;

/// Additional peak memory allowed for the longer journal, in KiB: noise of the allocator and of
/// sampling.
const NOISE_KIB: u64 = 3 * 1024;

/// Runs the tool and returns its peak resident memory in KiB.
fn peak(arguments: &[String]) -> u64 {
    let tool = env!("CARGO_BIN_EXE_openoutcry-replay");
    let mut asked = Process::new(tool).args(arguments).stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", asked.id());
    let mut peak = 0;
    loop {
        let lines = fs::read_to_string(&status).unwrap_or_default();
        let mark = lines.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let mark = mark.and_then(|mark| mark.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(mark.unwrap_or(0));
        if let Some(ended) = asked.try_wait().unwrap() {
            assert!(ended.success(), "{arguments:?}");
            return peak;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Time and result of each market's end in the large set.
fn endings() -> BTreeMap<String, (i64, Outcome)> {
    let file = large("markets").with_extension("").with_extension("jsonl");
    let text = fs::read_to_string(file).unwrap_or_default();
    let ending = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let end = chrono::DateTime::parse_from_rfc3339(&text("close_time")).unwrap();
        let winner = if text("result") == "yes" { Outcome::Yes } else { Outcome::No };
        (text("market"), (end.timestamp_millis(), winner))
    };
    text.lines().map(ending).collect()
}

/// Every command for a journal; the market, user and order are from its first records.
fn questions(
    journal: &Path,
    other: &Path,
    recorded: &RecordedFlow,
    folder: &Path,
) -> Vec<Vec<String>> {
    let journal = journal.display().to_string();
    let order = recorded.references.values().min().unwrap().to_string();
    let market = recorded.first_market().to_string();
    let made = |name: &str| folder.join(name).display().to_string();
    let (parquet, page) = (made("fills.parquet"), made("report.html"));
    for made in [&parquet, &page] {
        drop(fs::remove_file(made));
    }
    let other = other.display().to_string();
    [
        vec!["verify", &journal],
        vec!["rebuild", &journal],
        vec!["fills", &journal, "--format", "csv"],
        vec!["fills", &journal, "--format", "parquet", "-o", &parquet],
        vec!["book", &journal, &market],
        vec!["account", &journal, "2"],
        vec!["explain", &journal, &order],
        vec!["report", &journal, "--market", &market, "-o", &page],
        vec!["dump", &journal],
        vec!["diff", &journal, &other],
    ]
    .into_iter()
    .map(|words| words.into_iter().map(str::to_owned).collect())
    .collect()
}

#[test]
fn memory_does_not_grow_with_the_journal() {
    let rounds = env::var("OPENOUTCRY_MEMORY_ROUNDS").map_or(4, |rounds| rounds.parse().unwrap());
    let folder = env::var_os("OPENOUTCRY_MEMORY_DIR").map(PathBuf::from);
    let temporary = tempfile::tempdir().unwrap();
    let flow = folder.as_ref().map_or_else(|| sample("flow"), |_| large("flow"));
    let folder = folder.as_deref().unwrap_or(temporary.path());
    let endings = endings();
    let mut peaks: Vec<Vec<u64>> = Vec::new();
    let mut names = Vec::new();
    for (name, times) in [("once", 1), ("often", rounds)] {
        let recorded = RecordedFlow::repeated(&flow, times, |market| endings.get(market).copied());
        let file = folder.join(format!("{name}.blocks"));
        let again = folder.join(format!("{name}-again.blocks"));
        for file in [&file, &again] {
            drop(fs::remove_file(file));
            export(recorded.records.iter().cloned(), BLOCK_RECORDS, file);
        }
        println!("{name}: {} records", recorded.records.len());
        let questions = questions(&file, &again, &recorded, folder);
        names = questions.iter().map(|words| words[0].clone()).collect();
        drop(recorded.records);
        peaks.push(questions.iter().map(|words| peak(words)).collect());
        fs::remove_file(&again).unwrap();
    }
    println!("{:10} {:>10} {:>10} (KiB)", "question", "once", "often");
    for (question, name) in names.iter().enumerate() {
        println!("{name:10} {:>10} {:>10}", peaks[0][question], peaks[1][question]);
    }
    for (question, name) in names.iter().enumerate() {
        let (once, often) = (peaks[0][question], peaks[1][question]);
        assert!(once > 0 && often <= once + once / 4 + NOISE_KIB, "{name}: {once} {often}");
    }
}
