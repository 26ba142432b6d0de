//! Unit tests of `simulator/src/disk.rs`: what the journal makes of what it leaves.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop

use std::path::PathBuf;
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
    block_of(head, 1)
}

/// A block of so many records.
fn block_of(head: &Head, records: u64) -> Block {
    let mut builder = BlockBuilder::new(head);
    let time = TimeMs::new(1_700_000_000_000).unwrap();
    for sequence in (1..=records).map(|after| Sequence::new(head.sequence.get() + after)) {
        let (user, order) = (UserNo(0), OrderNo(Sequence::new(1 << 63)));
        let command = Command::CancelOrder { user, order };
        builder.push(Record { sequence, time, once: None, act: None, command }).unwrap();
    }
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

/// The full segments of the log, and the open one.
fn segments(disk: &Disk) -> Vec<PathBuf> {
    let files = disk.files(&data().join("journal/log")).into_iter();
    files.filter(|path| path.extension().is_some_and(|of| of == "blocks")).collect()
}

/// A log of more full segments than a start looks at, all of them copied, and its end.
fn long_log() -> (Arc<Disk>, Head) {
    let disk = Arc::new(Disk::new(Chance::of(1)));
    mount(Some(Arc::new(Mounted(Arc::clone(&disk)))));
    let (mut journal, _) = LogJournal::open(&data()).unwrap();
    while segments(&disk).len() < 48 {
        journal.append(block_of(journal.head(), 400)).unwrap();
        while journal.store().tidy() {}
    }
    (disk, *journal.head())
}

/// A start looks at the newest full segments alone; whoever reads an older one that is gone has it
/// made anew.
#[test]
fn an_old_segment_that_is_gone_is_made_anew_when_it_is_read() {
    let (disk, head) = long_log();
    // Read from the beginning, from the gone one's first record, and from one within it.
    for (place, within) in [(1, None), (3, Some(0)), (5, Some(401))] {
        let gone = segments(&disk).swap_remove(place);
        let begins: u64 = gone.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        let from = Sequence::new(within.map_or(1, |within| begins + within));
        disk.lose(&gone);
        let (journal, recovered) = LogJournal::open(&data()).unwrap();
        assert_eq!(recovered.repairs.count(), 0, "{place}: the start has looked at it");
        let mut read = journal.reader().read(from).map(Result::unwrap);
        let first = read.next().unwrap();
        assert!(first.first() <= from && from <= first.last(), "{place}");
        assert_eq!(read.last().unwrap().head(), head, "{place}");
        assert_eq!(recovered.repairs.count(), 1, "{place}");
    }
    mount(None);
}

/// Of neighbours that are damaged, or gone, the later one may be met first: by a reader, or by a
/// start, which looks at the newest 32.
#[test]
fn neighbours_at_fault_are_made_anew_from_the_later_one_on() {
    let (disk, head) = long_log();
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
    for (place, gone) in [(3, false), (6, true), (14, false), (14, true)] {
        let [earlier, later] = [place, place + 1].map(|place| segments(&disk).swap_remove(place));
        let from = later.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        if gone {
            disk.lose(&earlier);
        } else {
            disk.damage(&earlier, cut);
        }
        disk.damage(&later, cut);
        let (journal, _) = LogJournal::open(&data()).unwrap();
        for from in [from, 1] {
            let read = journal.reader().read(Sequence::new(from)).map(Result::unwrap);
            assert_eq!(read.last().unwrap().head(), head, "{place}");
        }
    }
    mount(None);
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

/// A segment that is damaged while the venue runs does not cost the copy that has it: the keeper
/// mends the segment before it feeds the copy, and what is aside is still there.
#[test]
fn the_copy_is_not_given_up_for_a_damaged_segment() {
    let cut: fn(&mut Vec<u8>) = |bytes| bytes.truncate(bytes.len() / 2);
    let flipped: fn(&mut Vec<u8>) = |bytes| {
        let last = bytes.len() - 12;
        bytes[last] ^= 1;
    };
    for harm in [cut, flipped] {
        let disk = Arc::new(Disk::new(Chance::of(1)));
        mount(Some(Arc::new(Mounted(Arc::clone(&disk)))));
        let (mut journal, _) = LogJournal::open(&data()).unwrap();
        for count in [4, 5, 6] {
            while segments(&disk).len() < count {
                journal.append(block_of(journal.head(), 400)).unwrap();
            }
            while journal.store().tidy() {}
            disk.damage(&segments(&disk)[count - 2], harm);
        }
        let end = *journal.head();
        drop(journal);
        let (journal, _) = LogJournal::open(&data()).unwrap();
        let last = journal.reader().read(Sequence::new(1)).map(Result::unwrap).last();
        assert_eq!(last.unwrap().head(), end);
        drop(journal);
        mount(None);
    }
}

/// The note of a copy that was lost does not vouch for the next one, wherever the power goes while
/// that is made.
#[test]
fn the_note_of_a_lost_copy_does_not_vouch_for_the_next() {
    let (disk, head) = long_log();
    let (copy, cut) = (data().join("journal/sled"), |bytes: &mut Vec<u8>| bytes.truncate(9));
    for changes in 1..60 {
        let before = disk.image();
        disk.draw_from(Chance::of(changes));
        disk.lose(&copy);
        disk.cut_in(changes);
        for _ in 0..2 {
            if let Ok((journal, _)) = LogJournal::open(&data()) {
                while disk.is_on() && journal.store().tidy() {}
            }
            disk.cut();
            disk.boot();
        }
        if damage::fed(&disk) > 0 {
            disk.damage(&segments(&disk)[46], cut);
        }
        let (journal, _) = LogJournal::open(&data()).unwrap();
        let last = journal.reader().read(Sequence::new(1)).map(Result::unwrap).last();
        assert_eq!(last.unwrap().head(), head, "{changes}");
        drop(journal);
        disk.restore(before);
    }
    mount(None);
}
