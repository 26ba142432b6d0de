//! A journal of any length made of real flow: the same flow repeated, each time with new users in
//! new markets.

use std::path::Path;
use std::time::Instant;

use exchange::command::{Command, Record};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::units::{Sequence, TimeMs};
use flow::lines::Source;
use flow::records::FlowRecords;
use flow::{Flow, sample};
use journal::Journal;
use journal::block::BlockBuilder;
use journal::directory::LogJournal;
use journal::replay::{self, Replayer};

/// Records per block: a busy venue's group commit.
const BLOCK_RECORDS: usize = 200;

/// Offsets that one pass over the flow adds.
struct Pass {
    users: u32,
    markets: u32,
    records: u64,
    span_ms: i64,
}

impl Pass {
    fn shifted(&self, times: u32, record: &Record) -> Record {
        let user = |user: UserNo| UserNo(user.0 + times * self.users);
        let market = |market: MarketNo| MarketNo(market.0 + times * self.markets);
        let offset = u64::from(times) * self.records;
        let command = match &record.command {
            Command::Deposit { user: to, amount } => {
                Command::Deposit { user: user(*to), amount: *amount }
            }
            Command::PublishMarket { market: made } => {
                Command::PublishMarket { market: market(*made) }
            }
            Command::PlaceOrder(order) => {
                let mut order = order.clone();
                (order.user, order.market) = (user(order.user), market(order.market));
                Command::PlaceOrder(order)
            }
            Command::CancelOrder { user: of, order } => {
                Command::CancelOrder { user: user(*of), order: OrderNo(order.0.advanced(offset)) }
            }
            same => same.clone(),
        };
        let time = record.time.get() + i64::from(times) * self.span_ms;
        let time = TimeMs::new(time).expect("a time");
        Record { sequence: record.sequence.advanced(offset), time, once: None, act: None, command }
    }
}

/// Extends the data directory's journal to at least this many records.
pub fn make(data: &Path, records_min: u64) {
    let mut writer = Writer::open(data, BLOCK_RECORDS);
    let head = writer.journal.head().sequence;
    if head.get() >= records_min {
        return;
    }
    assert_eq!(head, Sequence::ZERO, "a shorter journal is in the folder");
    let source = std::env::var_os("OPENOUTCRY_BENCH_FLOW");
    let source = source
        .map_or_else(sample::flow, |path| Source::open(Path::new(&path)).expect("the flow opens"));
    let flow = Flow::read(source, None).expect("the flow reads");
    let records = FlowRecords::of(&flow).records;
    let count = |count: usize| u32::try_from(count).expect("a count");
    let time = |record: Option<&Record>| record.expect("records").time.get();
    let pass = Pass {
        users: count(flow.accounts().len()),
        markets: count(flow.markets().len()),
        // Only the first pass opens the venue.
        records: u64::from(count(records.len())) - 1,
        span_ms: time(records.last()),
    };
    let began = Instant::now();
    for times in 0.. {
        for record in &records[usize::from(times > 0)..] {
            writer.push(pass.shifted(times, record));
        }
        if u64::from(times + 1) * pass.records >= records_min {
            break;
        }
    }
    let head = writer.finish();
    println!("made    {:>6} ms, {head} records", began.elapsed().as_millis());
}

/// Journals records in blocks that store the results of the blocks before them.
pub struct Writer {
    pub journal: LogJournal,
    replayer: Replayer,
    block: Vec<Record>,
    block_records: usize,
}

impl Writer {
    /// Opens an empty journal for writing.
    pub fn open(data: &Path, block_records: usize) -> Writer {
        let (journal, _) = LogJournal::open(data).expect("a journal");
        Writer { journal, replayer: Replayer::new(), block: Vec::new(), block_records }
    }

    /// Writes the remaining records; returns the last record's number.
    pub fn finish(mut self) -> Sequence {
        self.seal();
        self.journal.head().sequence
    }

    pub fn push(&mut self, record: Record) {
        self.block.push(record);
        if self.block.len() == self.block_records {
            self.seal();
        }
    }

    fn seal(&mut self) {
        let mut builder = BlockBuilder::new(self.journal.head());
        for record in self.block.drain(..) {
            builder.push(record).expect("it fits");
        }
        if !builder.is_empty() {
            let block = builder.build(self.replayer.results()).expect("a block");
            let block = self.journal.append(block).expect("a durable block");
            replay::replay([Ok(block)].into_iter(), &mut self.replayer, |_, _| ()).expect("sound");
        }
    }
}
