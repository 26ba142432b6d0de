//! The whole of a recorded flow, told from record 1.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::start::{self, Options};
use exchange::Exchange;
use exchange::command::Role;
use exchange::effect::Effect;
use exchange::ids::UserNo;
use exchange::results::ResultsLog;
use flow::Flow;
use flow::records::FlowRecords;
use journal::Journal;
use journal::block::BlockBuilder;
use journal::memory::MemoryJournal;

use super::client::{Client, caller};

/// Records of a block.
const BLOCK_RECORDS: usize = 500;

/// A journal of the flow, and how many trades its records make.
fn journal(flow: &Flow) -> (MemoryJournal, usize) {
    let mut journal = MemoryJournal::new();
    let (mut exchange, mut log) = (Exchange::new(), ResultsLog::default());
    let (mut effects, mut trades) = (Vec::new(), 0);
    for records in FlowRecords::of(flow).records.chunks(BLOCK_RECORDS) {
        let mut block = BlockBuilder::new(journal.head());
        let before = log.sealed();
        for record in records {
            block.push(record.clone()).unwrap();
            effects.clear();
            exchange.apply(record, &mut effects).unwrap();
            log.push(record, &effects);
            let is_trade = |effect: &&Effect| matches!(effect, Effect::TradeMade(_));
            trades += effects.iter().filter(is_trade).count();
        }
        log.seal();
        journal.append(block.build(before).unwrap()).unwrap();
    }
    (journal, trades)
}

/// Each fill is told once; returns how many there are.
pub fn assert_each_fill_once(flow: &Flow) -> usize {
    let (journal, trades) = journal(flow);
    let running = start::start(journal, Options::default()).unwrap();
    let engine = running.engine();
    let mut client = Client::of(caller(UserNo(1), Role::Trader), &["trades:*"], true);
    client.resume(&Arc::default(), &engine);
    client.catch_up(&engine);
    let ids = client.told.iter().map(|(_, text)| {
        let data = text.split_once("\"data\":").unwrap().1;
        let id = data.split_once("\"id\":\"").unwrap().1;
        id.split_once('"').unwrap().0
    });
    let told: BTreeSet<&str> = ids.collect();
    assert_eq!((client.told.len(), told.len()), (trades, trades));
    running.stop().unwrap();
    trades
}
