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
use super::{Disk, Faults, power};
use crate::chance::Chance;
use crate::damage;
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

/// Of what a failed sync was to write the copy may have nothing, and the next sync says nothing: a
/// damaged segment that is noted as copied is mended all the same.
#[test]
fn what_a_failed_sync_left_of_the_copy_is_not_noted() {
    let disk = Arc::new(Disk::new(Chance::of(1)));
    mount(Some(Arc::new(Mounted(Arc::clone(&disk)))));
    let (mut journal, _) = LogJournal::open(&data()).unwrap();
    let log = data().join("journal/log");
    while disk.files(&log).len() < 2 {
        journal.append(block_after(journal.head())).unwrap();
    }
    let end = *journal.head();
    disk.cut();
    drop(journal);
    disk.boot();
    for seed in 0..60 {
        let before = disk.image();
        disk.draw_from(Chance::of(seed));
        let (journal, _) = LogJournal::open(&data()).unwrap();
        disk.set_faults(Faults { sync_fails: 3, ..Faults::default() });
        while journal.store().tidy() {}
        disk.set_faults(Faults::default());
        drop(journal);
        drop(LogJournal::open(&data()).unwrap());
        assert_eq!(damage::fed(&disk), 1, "{seed}");
        disk.cut();
        disk.boot();
        if damage::fed(&disk) == 1 {
            disk.damage(disk.files(&log).first().unwrap(), |bytes| bytes.truncate(9));
        }
        let (journal, _) = LogJournal::open(&data()).unwrap_or_else(|e| panic!("{seed}: {e}"));
        assert_eq!(*journal.head(), end, "{seed}");
        drop(journal);
        disk.restore(before);
    }
    mount(None);
}
