//! Throughput of the exchange on real order flow: book, ledger and effects, one thread, no disk.

#![allow(clippy::expect_used, reason = "a bench that cannot measure stops")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use exchange::Exchange;
use exchange::command::Record;
use exchange::results::ResultsLog;
use flow::records::FlowRecords;
use flow::{Flow, sample};

/// A venue just before the flow's first line.
fn opened(flow: &FlowRecords) -> (Exchange, &[Record]) {
    let (opening, lines) = flow.records.split_at(flow.opening_count);
    let mut exchange = Exchange::new();
    let mut effects = Vec::new();
    for record in opening {
        exchange.apply(record, &mut effects).expect("the opening applies");
    }
    (exchange, lines)
}

fn real_flow(c: &mut Criterion) {
    let flow = Flow::read(sample::flow(), None).expect("the sample reads");
    let flow = FlowRecords::of(&flow);
    let (venue, lines) = opened(&flow);
    let mut group = c.benchmark_group("exchange");
    group.throughput(Throughput::Elements(lines.len() as u64));
    group.bench_function("real flow, effects in a reused buffer", |b| {
        let mut effects = Vec::new();
        b.iter_batched_ref(
            || venue.clone(),
            |venue| {
                for record in lines {
                    effects.clear();
                    venue.apply(record, &mut effects).expect("the flow applies");
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.bench_function("real flow, effects hashed as results, 200 records a block", |b| {
        let (mut effects, mut log) = (Vec::new(), ResultsLog::default());
        b.iter_batched_ref(
            || venue.clone(),
            |venue| {
                for block in lines.chunks(200) {
                    for record in block {
                        effects.clear();
                        venue.apply(record, &mut effects).expect("the flow applies");
                        log.push(record, &effects);
                    }
                    log.seal();
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, real_flow);
criterion_main!(benches);
