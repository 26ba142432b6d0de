//! Journals of format 1, written once and kept in `tests/golden/v1`: every later version must
//! replay them to the same state, the same fills and the same refusals, and write them byte for
//! byte.
//!
//! `UPDATE=1 cargo test --test golden` adds files that are missing and nothing else: an existing
//! golden file is never rewritten. If one no longer fits, the code broke compatibility; the file is
//! not outdated.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop

mod records;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use exchange::command::{Command, Record};
use exchange::effect::Effect;
use exchange::results::{Results, ResultsLog};
use exchange::rules::Rules;
use exchange::units::{Sequence, TimeMs};
use exchange::{Exchange, script};
use flow::records::FlowRecords;
use flow::{Flow, sample};
use journal::Journal;
use journal::block::{Block, BlockBuilder, Head};
use journal::memory::MemoryJournal;
use journal::portable::{self, PortableFile};
use journal::replay::{Replayer, replay};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// Scripts of `tests/scripts` that are kept as golden journals.
const SCRIPTS: [&str; 31] = [
    "acts",
    "amend",
    "amend_as_seen",
    "average_cost",
    "client_order_ids",
    "conversion",
    "disputes",
    "expiry",
    "fees",
    "group_heartbeats",
    "groups",
    "heartbeat",
    "idempotency_keys",
    "keys",
    "life_cycle",
    "netting",
    "orders_of_a_key",
    "password_change",
    "refusals",
    "rename",
    "replace",
    "self_trade",
    "settlement",
    "second_factor",
    "sign_in",
    "slugs",
    "switches",
    "time_in_force",
    "transfers",
    "two_persons",
    "voiding",
];
/// Lines of recorded flow that are kept.
const FLOW_LINES: u32 = 600;
/// Random commands that are kept.
const ANY_COMMANDS: usize = 150;
/// Bound on the size of all golden files together, since every clone copies them.
const BYTES_MAX: u64 = 300_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

/// Every golden journal by name; a missing file is a failure.
fn names() -> Vec<&'static str> {
    ["every_kind", "recorded_flow"].into_iter().chain(SCRIPTS).collect()
}

/// The commands of a script without its answers, with `given` lines expanded.
fn commands_of(conversation: &str) -> String {
    let (mut lines, mut answers) = (Vec::new(), false);
    for line in conversation.lines().map(str::trim) {
        answers = (answers && !line.is_empty()) || line == "----";
        if answers || line.is_empty() || line.starts_with('#') || line.starts_with("book ") {
            continue;
        }
        let Some(given) = line.strip_prefix("given ") else {
            lines.push(line.to_owned());
            continue;
        };
        if !lines.iter().any(|line| line == "venue USD") {
            lines.push("venue USD".to_owned());
        }
        for item in given.split(',').map(str::trim) {
            let words: Vec<&str> = item.split_whitespace().collect();
            match *words.as_slice() {
                ["market", name, ..] => lines.extend([item.to_owned(), format!("publish {name}")]),
                [name, amount] => {
                    lines.extend([format!("user {name}"), format!("deposit {name} {amount}")]);
                }
                _ => panic!("`given` knows no `{item}`"),
            }
        }
    }
    lines.join("\n")
}

/// The records that a golden journal was made of.
fn source(name: &str) -> Vec<Record> {
    match name {
        "recorded_flow" => {
            let flow = Flow::read(sample::flow(), Some(FLOW_LINES)).unwrap();
            FlowRecords::of(&flow).records
        }
        "every_kind" => {
            let mut runner = TestRunner::deterministic();
            let time = TimeMs::new(1_700_000_000_000).unwrap();
            let mut commands = vec![Command::OpenVenue(Rules::current())];
            for _ in 0..ANY_COMMANDS {
                commands.push(records::command().new_tree(&mut runner).unwrap().current());
            }
            let record = |(n, command)| Record {
                sequence: Sequence::new(n),
                time,
                once: None,
                act: None,
                command,
            };
            (1..).zip(commands).map(record).collect()
        }
        script => {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
            let text = fs::read_to_string(path.join(format!("{script}.txt"))).unwrap();
            script::parse(&commands_of(&text)).unwrap()
        }
    }
}

/// Blocks of one to seven records.
fn blocks_of(records: &[Record]) -> Vec<Block> {
    let (mut head, mut blocks, mut rest) = (Head::START, Vec::new(), records);
    let (mut exchange, mut log, mut effects) = (Exchange::new(), ResultsLog::default(), vec![]);
    let mut recorded = Results::NONE;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.len().min(1 + blocks.len() % 7));
        let mut builder = BlockBuilder::new(&head);
        for record in now {
            builder.push(record.clone()).unwrap();
        }
        let block = builder.build(recorded).unwrap();
        head = block.head();
        // As on a busy server, each block records the results as of the block before the last.
        recorded = log.sealed();
        for record in block.records() {
            effects.clear();
            exchange.apply(record, &mut effects).unwrap();
            log.push(record, &effects);
        }
        log.seal();
        blocks.push(block);
        rest = later;
    }
    blocks
}

/// A journal's outcome as text: its end, its state, its fills and its refusals.
fn outcome_of(journal: &Path) -> String {
    let mut replayer = Replayer::new();
    let (mut lines, mut records) = (String::new(), 0);
    let head = replay(PortableFile::open(journal).unwrap(), &mut replayer, |record, effects| {
        records += 1;
        for effect in effects {
            let at = record.sequence;
            match effect {
                Effect::TradeMade(trade) => {
                    let (taker, maker) = (trade.taker, trade.maker);
                    writeln!(
                        lines,
                        "fill {at}.{} market {} yes {} x {} taker {} of {} maker {} of {}",
                        trade.index.0,
                        trade.market.0,
                        trade.price,
                        trade.quantity,
                        taker.order.0,
                        taker.user.0,
                        maker.order.0,
                        maker.user.0,
                    )
                    .unwrap();
                }
                Effect::Refused(reject) => {
                    writeln!(lines, "refused {at} {}", reject.code()).unwrap();
                }
                _ => {}
            }
        }
    });
    let head = head.unwrap();
    replayer.exchange().check().unwrap();
    let (digest, results) = (replayer.exchange().digest().unwrap(), replayer.results().hash);
    let Head { sequence, hash, .. } = head;
    format!("records {records}\nhead {sequence} {hash}\nstate {digest}\nresults {results}\n{lines}")
}

/// Adds the missing files of one golden journal; existing ones stay as they are.
fn add_missing(name: &str) {
    let (journal, expected) = paths(name);
    fs::create_dir_all(folder()).unwrap();
    if !journal.exists() {
        let mut memory = MemoryJournal::new();
        for block in blocks_of(&source(name)) {
            memory.append(block).unwrap();
        }
        portable::export(memory.read(Sequence::new(1)), &journal).unwrap();
    }
    if !expected.exists() {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&expected).unwrap();
        file.write_all(outcome_of(&journal).as_bytes()).unwrap();
    }
}

fn paths(name: &str) -> (PathBuf, PathBuf) {
    (folder().join(format!("{name}.journal")), folder().join(format!("{name}.txt")))
}

#[test]
fn every_golden_journal_replays_to_its_recorded_outcome() {
    for name in names() {
        if std::env::var_os("UPDATE").is_some() {
            add_missing(name);
        }
        let (journal, expected) = paths(name);
        let expected = fs::read_to_string(&expected).unwrap();
        let outcome_of = outcome_of(&journal);
        for (now, always) in outcome_of.lines().zip(expected.lines()) {
            assert_eq!(now, always, "{name}");
        }
        assert_eq!(outcome_of, expected, "{name}");
    }
}

#[test]
fn golden_journals_are_still_written_byte_for_byte() {
    for name in names() {
        let (journal, _) = paths(name);
        let mut head = Head::START;
        let mut written = Vec::new();
        for block in PortableFile::open(&journal).unwrap() {
            let mut builder = BlockBuilder::new(&head);
            let block = block.unwrap();
            for record in block.records() {
                builder.push(record.clone()).unwrap();
            }
            let block = builder.build(block.recorded()).unwrap();
            head = block.head();
            written.extend_from_slice(block.bytes());
        }
        assert!(written == fs::read(&journal).unwrap(), "{name}");
    }
}

#[test]
fn golden_journals_hold_every_kind_and_stay_small() {
    let mut kinds = BTreeSet::new();
    for name in names() {
        for block in PortableFile::open(&paths(name).0).unwrap() {
            kinds.extend(block.unwrap().records().iter().map(|record| record.command.number()));
        }
    }
    assert_eq!(kinds, Command::KINDS.iter().map(|(number, ..)| *number).collect());
    let mut files = BTreeSet::new();
    let mut bytes = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let entry = entry.unwrap();
        bytes += entry.metadata().unwrap().len();
        files.insert(entry.path());
    }
    let known = names().into_iter().flat_map(|name| <[PathBuf; 2]>::from(paths(name)));
    assert_eq!(files, known.collect(), "a golden file that nobody reads, or one that is gone");
    assert!(bytes < BYTES_MAX, "{bytes}");
}
