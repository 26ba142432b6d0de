//! Salvaging a damaged data directory and an archive: the longest chain is recovered from both.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop

mod records;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use exchange::command::Command;
use exchange::units::{Sequence, TimeMs};
use journal::archive::Archive;
use journal::block::{Block, Head};
use journal::directory::LogJournal;
use journal::import::{ImportError, import};
use journal::memory::MemoryJournal;
use journal::recovery::Marker;
use journal::salvage::{Origin, Salvage, SalvageError, Salvaged};
use journal::store::OpenError;
use journal::{Journal, portable};
use records::{block_after, chain};

const FIRST: Sequence = Sequence::new(1);

/// A data directory and an archive for a test to damage.
struct Case {
    dir: tempfile::TempDir,
    blocks: Vec<Block>,
}

impl Case {
    /// A journal of thirty blocks, and an archive of the first `archived` of them, four to a
    /// member.
    fn new(archived: usize) -> Case {
        let case = Case { dir: tempfile::tempdir().unwrap(), blocks: chain(30, 20) };
        let (mut journal, _) = LogJournal::open(&case.data()).unwrap();
        for block in &case.blocks {
            journal.append(block.clone()).unwrap();
        }
        let (mut archive, _) = Archive::open(&case.archive()).unwrap();
        let durable: Vec<_> = journal.read(FIRST).take(archived).map(Result::unwrap).collect();
        for blocks in durable.chunks(4) {
            archive.append(blocks).unwrap();
        }
        case
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn archive(&self) -> PathBuf {
        self.dir.path().join("archive")
    }

    fn log(&self) -> PathBuf {
        self.data().join("journal/log/00000000000000000001.blocks")
    }

    /// Overwrites a part of a block in the log.
    fn destroy_logged(&self, block: usize) {
        self.destroy(&self.log(), block);
    }

    fn destroy(&self, path: &Path, block: usize) {
        let bytes = fs::read(path).unwrap();
        let wanted = self.blocks[block].bytes();
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        let mut found = 0;
        for at in memchr_all(&bytes, wanted) {
            file.write_all_at(&[0xA5; 40], at as u64 + 30).unwrap();
            found += 1;
        }
        assert!(found > 0, "block {block} is not in {}", path.display());
    }

    /// Damages a member of the archive.
    fn destroy_archived(&self, member: usize) {
        let segment = portable::segments(&self.archive()).unwrap().unwrap()[0].clone();
        let mut bytes = fs::read(&segment).unwrap();
        let starts: Vec<usize> = (0..bytes.len())
            .filter(|at| bytes[*at..].starts_with(&journal::member::MEMBER_START))
            .collect();
        bytes[starts[member] + 60] ^= 0xff;
        fs::write(&segment, bytes).unwrap();
    }

    /// Salvages, and checks the new journal against the report; the damaged directory must not
    /// change.
    fn salvage(&self) -> Salvaged {
        self.salvage_with(Some(&self.archive()))
    }

    fn salvage_with(&self, archive: Option<&Path>) -> Salvaged {
        let before = files(&self.data());
        let scratch = tempfile::tempdir().unwrap();
        let new = tempfile::tempdir().unwrap();
        let mut chain = Salvage::of(&self.data(), archive, scratch.path()).unwrap();
        let imported = import(new.path(), &mut chain, |_| ());
        let salvaged = chain.finish();
        assert_eq!(files(&self.data()), before, "only read");
        if let Err(error) = imported {
            assert!(matches!(error, ImportError::Empty), "{error}");
            assert_eq!(salvaged.covered, []);
            return salvaged;
        }
        let (journal, recovered) = LogJournal::open_existing(new.path()).unwrap();
        assert_eq!(recovered.head, salvaged.head);
        let read: Vec<Block> = journal.read(FIRST).map(|block| (*block.unwrap()).clone()).collect();
        assert!(self.blocks.starts_with(&read), "blocks as they were journaled");
        let mut next = FIRST;
        for span in &salvaged.covered {
            assert_eq!(span.first, next);
            next = span.last.next();
        }
        assert_eq!(next, salvaged.head.sequence.next());
        salvaged
    }
}

fn memchr_all(bytes: &[u8], wanted: &[u8]) -> Vec<usize> {
    let begins = (0..1 << 20).filter(|at| bytes[*at..].starts_with(b"OPOUTCRY"));
    begins.filter(|at| bytes[*at..].starts_with(wanted)).collect()
}

/// All files below a folder, with their contents.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

fn covered(salvaged: &Salvaged) -> Vec<(u64, u64, Origin)> {
    salvaged.covered.iter().map(|s| (s.first.get(), s.last.get(), s.origin)).collect()
}

fn beyond(salvaged: &Salvaged) -> Vec<(u64, u64, Origin)> {
    salvaged.beyond.iter().map(|s| (s.first.get(), s.last.get(), s.origin)).collect()
}

#[test]
fn a_whole_directory_is_salvaged_whole_with_and_without_an_archive() {
    let case = Case::new(10);
    let salvaged = case.salvage();
    assert!(salvaged.complete, "{salvaged:?}");
    assert_eq!(covered(&salvaged), [(1, 200, Origin::Archive), (201, 600, Origin::Log)]);
    let salvaged = case.salvage_with(None);
    assert!(salvaged.complete);
    assert_eq!(covered(&salvaged), [(1, 600, Origin::Log)]);
}

#[test]
fn without_the_log_the_archive_is_used_and_nobody_can_say_that_it_is_all() {
    let case = Case::new(25);
    fs::remove_dir_all(case.data().join("journal")).unwrap();
    let salvaged = case.salvage();
    assert_eq!(covered(&salvaged), [(1, 500, Origin::Archive)]);
    assert!(!salvaged.complete && !salvaged.faults.is_empty());
}

#[test]
fn gaps_are_filled_from_the_other_source_and_a_gap_in_both_ends_the_chain() {
    let case = Case::new(16);
    case.destroy_logged(5);
    case.destroy_archived(2);
    let salvaged = case.salvage();
    // The archive's third member has records 161 to 240.
    let expected =
        [(1, 160, Origin::Archive), (161, 240, Origin::Log), (241, 320, Origin::Archive)];
    assert_eq!(covered(&salvaged)[..3], expected);
    assert_eq!(salvaged.head, case.blocks[29].head());
    case.destroy_logged(9);
    let salvaged = case.salvage();
    assert_eq!(salvaged.head, case.blocks[8].head());
    assert!(!salvaged.complete);
    assert_eq!(beyond(&salvaged).first(), Some(&(201, 240, Origin::Log)));
}

#[test]
fn blocks_after_damage_in_the_open_segment_are_found_after_a_refused_start() {
    let case = Case::new(20);
    case.destroy_logged(12);
    let opened = LogJournal::open(&case.data()).map(drop);
    assert!(matches!(opened, Err(OpenError::Refused(_))), "{opened:?}");
    assert_eq!(covered(&case.salvage()), [(1, 400, Origin::Archive), (401, 600, Origin::Log)]);
    case.destroy_logged(29);
    let salvaged = case.salvage();
    assert_eq!(salvaged.head, case.blocks[28].head());
    assert!(!salvaged.complete, "the last block is damaged");
}

#[test]
fn the_archive_of_another_venue_is_refused() {
    let case = Case::new(0);
    let mut other = MemoryJournal::new();
    let block = block_after(&Head::START, TimeMs::MAX, vec![Command::AdvanceClock]);
    other.append(block).unwrap();
    let file = case.dir.path().join("other");
    portable::export(other.read(FIRST), &file).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let refused = Salvage::of(&case.data(), Some(&file), scratch.path()).map(drop);
    assert!(matches!(refused, Err(SalvageError::OtherVenue { .. })));
}

#[test]
fn a_refused_block_stays_refused() {
    let case = Case::new(4);
    let refused = &case.blocks[29];
    let (first, previous) = (refused.first(), refused.previous());
    let marker = Marker::Refused { first, previous };
    fs::write(case.data().join("refused"), marker.encode()).unwrap();
    let salvaged = case.salvage();
    assert_eq!(salvaged.head, case.blocks[28].head());
    assert!(salvaged.complete && salvaged.beyond.is_empty(), "{salvaged:?}");
    // Without the marker all but the last block are known to be accepted.
    fs::write(case.data().join("refused"), b"").unwrap();
    let salvaged = case.salvage();
    assert_eq!(salvaged.head, case.blocks[28].head());
    assert!(!salvaged.complete && !salvaged.marked);
    assert_eq!(beyond(&salvaged), [(581, 600, Origin::Log)]);
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let case = Case::new(0);
    let (_open, _) = LogJournal::open(&case.data()).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let locked = Salvage::of(&case.data(), None, scratch.path()).map(drop);
    assert!(matches!(locked, Err(SalvageError::Locked(_))));
}
