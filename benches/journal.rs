//! The journal: encoding of blocks, a durable commit, and replay into state.
//!
//! `OPENOUTCRY_BENCH_FLOW` names a flow file to replay (default: the sample in the binary, which is
//! too short to compare threads).

#![allow(clippy::expect_used, reason = "a bench that cannot measure stops")]

use std::path::Path;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use exchange::Exchange;
use exchange::command::Record;
use exchange::results::{Results, ResultsHash, ResultsLog};
use exchange::units::Sequence;
use flow::lines::Source;
use flow::records::FlowRecords;
use flow::{Flow, sample};
use journal::Journal;
use journal::block::{Block, BlockBuilder, Head, RawBlock};
use journal::directory::LogJournal;
use journal::replay::{self, Replayer, reading_ahead};

fn sample_records() -> Vec<Record> {
    FlowRecords::of(&Flow::read(sample::flow(), None).expect("the sample reads")).records
}

/// The flow to replay.
fn flow_records() -> Vec<Record> {
    let source = std::env::var_os("OPENOUTCRY_BENCH_FLOW");
    let source = source
        .map_or_else(sample::flow, |path| Source::open(Path::new(&path)).expect("the flow opens"));
    FlowRecords::of(&Flow::read(source, None).expect("the flow reads")).records
}

/// Chained blocks of at most `records_max` records, with results. As on a busy server, a block
/// stores the results known while the block before it is made durable, which are those of the block
/// before that.
fn blocks(records: &[Record], records_max: usize) -> Vec<Block> {
    let mut head = Head::START;
    let (mut exchange, mut log, mut effects) = (Exchange::new(), ResultsLog::default(), vec![]);
    let (mut blocks, mut known) = (Vec::new(), Results::NONE);
    for chunk in records.chunks(records_max) {
        let block = block(&head, chunk, known);
        known = log.sealed();
        for record in chunk {
            effects.clear();
            exchange.apply(record, &mut effects).expect("it applies");
            log.push(record, &effects);
        }
        log.seal();
        head = block.head();
        blocks.push(block);
    }
    blocks
}

fn block(after: &Head, records: &[Record], recorded: Results) -> Block {
    let mut builder = BlockBuilder::new(after);
    for record in records {
        builder.push(record.clone()).expect("it fits");
    }
    builder.build(recorded).expect("a block")
}

fn codec(c: &mut Criterion) {
    let records = sample_records();
    let records = &records[records.len() - 400..];
    let mut after = Head::START;
    after.sequence = Sequence::new(records[0].sequence.get() - 1);
    let sealed = block(&after, records, Results::NONE);
    let mut group = c.benchmark_group("block of 400 records");
    group.throughput(Throughput::Elements(400));
    group.bench_function("encode, checksum, hash", |b| {
        b.iter_batched(
            || records.to_vec(),
            |records| {
                let mut builder = BlockBuilder::new(&after);
                for record in records {
                    builder.push(record).expect("it fits");
                }
                builder.build(Results::NONE).expect("a block")
            },
            BatchSize::SmallInput,
        );
    });
    group.bench_function("verify, decode", |b| {
        b.iter_batched(
            || RawBlock::new(sealed.bytes().to_vec()),
            |raw| raw.decode().expect("a sound block"),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

/// The folder is on the disk of this checkout: a memory file system would measure nothing.
fn durable_append(c: &mut Criterion) {
    let records = sample_records();
    let mut group = c.benchmark_group("durable append");
    for records_max in [1, 30, 100, 400] {
        let blocks = blocks(&records, records_max);
        let folder = tempfile::tempdir_in(".").expect("a folder");
        let (mut journal, _) = LogJournal::open(folder.path()).expect("a journal");
        let mut next = blocks.iter();
        group.throughput(Throughput::Elements(records_max as u64));
        group.sample_size(50);
        group.bench_function(BenchmarkId::new("records a block", records_max), |b| {
            b.iter_custom(|iterations| {
                let mut spent = std::time::Duration::ZERO;
                for _ in 0..iterations {
                    let block = next.next().cloned().unwrap_or_else(|| {
                        let more = renumbered(&records, journal.head(), records_max);
                        let through = journal.head().results_through;
                        let recorded = Results { through, hash: ResultsHash([1; 32]) };
                        block(journal.head(), &more, recorded)
                    });
                    let began = std::time::Instant::now();
                    journal.append(block).expect("a durable block");
                    spent += began.elapsed();
                }
                spent
            });
        });
    }
    group.finish();
}

/// More records of the same kinds, numbered to follow `head`.
fn renumbered(records: &[Record], head: &Head, count: usize) -> Vec<Record> {
    let place = |(offset, record): (u64, &Record)| Record {
        sequence: head.sequence.next().advanced(offset),
        time: head.time,
        once: None,
        act: None,
        command: record.command.clone(),
    };
    (0..).zip(records.iter().rev().take(count)).map(place).collect()
}

fn replaying(c: &mut Criterion) {
    let records = flow_records();
    let folder = tempfile::tempdir_in(".").expect("a folder");
    let (mut journal, _) = LogJournal::open(folder.path()).expect("a journal");
    for block in blocks(&records, 200) {
        journal.append(block).expect("a durable block");
    }
    let mut group = c.benchmark_group("replay");
    group.throughput(Throughput::Elements(records.len() as u64));
    group.sample_size(20);
    group.bench_function(
        "read, verify, decode, apply, hash results: real flow from the log",
        |b| {
            b.iter(|| {
                let mut replayer = Replayer::new();
                replay::replay(journal.read(Sequence::ZERO.next()), &mut replayer, |_, _| {})
            });
        },
    );
    group.bench_function("the same, reading on a thread beside", |b| {
        b.iter(|| {
            let mut replayer = Replayer::new();
            reading_ahead(journal.read(Sequence::ZERO.next()), |blocks| {
                replay::replay(blocks, &mut replayer, |_, _| {})
            })
        });
    });
    group.finish();
}

criterion_group!(benches, codec, durable_append, replaying);
criterion_main!(benches);
