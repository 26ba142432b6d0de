//! Unit tests of `simulator/src/disk.rs`: what the journal makes of what it leaves.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop

use std::sync::Arc;

use exchange::command::{Command, Record};
use exchange::ids::{OrderNo, UserNo};
use exchange::results::Results;
use exchange::units::{Sequence, TimeMs};
use journal::Journal;
use journal::block::{Block, BlockBuilder, Head};
use journal::directory::LogJournal;
use journal::disk::mounted::mount;

use super::mounted::Mounted;
use super::{Disk, power};
use crate::chance::Chance;
use crate::venue::data;

/// A block of one record, of whose last eight bytes the very last bit alone is set.
fn block_after(head: &Head) -> Block {
    let mut builder = BlockBuilder::new(head);
    let command = Command::CancelOrder { user: UserNo(0), order: OrderNo(Sequence::new(1 << 63)) };
    let (sequence, time) = (head.sequence.next(), TimeMs::new(1_700_000_000_000).unwrap());
    builder.push(Record { sequence, time, once: None, act: None, command }).unwrap();
    builder.build(Results::NONE).unwrap()
}

/// Of a write that reaches a little into another sector any may be missing after a loss of power,
/// also one of a single bit: the next start goes on where the last answer was, or one block later.
#[test]
fn a_start_follows_a_loss_of_power_whichever_sector_is_missing() {
    for seed in 0..200 {
        let (mut chance, disk) = (Chance::of(seed), Arc::new(Disk::new(Chance::of(seed))));
        mount(Some(Arc::new(Mounted(Arc::clone(&disk)))));
        let (mut journal, _) = LogJournal::open(&data()).unwrap();
        let (mut used, mut block) = (0, block_after(journal.head()));
        while !(1..=8).contains(&((used + block.bytes().len()) % power::SECTOR_BYTES)) {
            journal.append(block.clone()).unwrap();
            (used, block) = (used + block.bytes().len(), block_after(journal.head()));
        }
        let before = *journal.head();
        disk.cut_in(chance.within(1, 4));
        let answered = journal.append(block.clone()).is_ok();
        disk.cut();
        drop(journal);
        disk.boot();
        let (journal, _) = LogJournal::open(&data()).unwrap_or_else(|e| panic!("{seed}: {e}"));
        let there = *journal.head() == block.head();
        assert!(there || !answered && *journal.head() == before, "{seed}");
        drop(journal);
        mount(None);
    }
}
