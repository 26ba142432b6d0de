//! Salvaging a damaged data directory and an archive: the longest chain is recovered from both.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop

mod records;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use exchange::command::Command;
use exchange::units::{Sequence, TimeMs};
use journal::Journal;
use journal::archive::Archive;
use journal::block::{Block, Head};
use journal::import::{ImportError, import};
use journal::marker::{Marker, Witness};
use journal::memory::MemoryJournal;
use journal::portable;
use journal::salvage::{Origin, Salvage, SalvageError, Salvaged};
use journal::sled::SledJournal;
use journal::store::OpenError;
use records::{block_after, chain};

const FIRST: Sequence = Sequence::new(1);

/// A data directory and an archive for a test to damage.
struct Case {
    dir: tempfile::TempDir,
    blocks: Vec<Block>,
}

impl Case {
    /// A journal of thirty blocks, an archive of the first `archived` of them, four to a member,
    /// and an empty write-ahead log: that of a longer journal would not hold the damaged blocks
    /// either.
    fn new(archived: usize) -> Case {
        let case = Case::with_log(archived);
        fs::write(case.log(), b"").unwrap();
        case
    }

    /// The same with the write-ahead log left as it is.
    fn with_log(archived: usize) -> Case {
        let case = Case { dir: tempfile::tempdir().unwrap(), blocks: chain(30, 20) };
        let (mut journal, _) = SledJournal::open(&case.data()).unwrap();
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

    fn database(&self) -> PathBuf {
        self.data().join("journal/db")
    }

    fn log(&self) -> PathBuf {
        self.data().join("wal")
    }

    /// Overwrites a part of a block in sled's file, at every copy of it.
    fn destroy_stored(&self, block: usize) {
        self.destroy(&self.database(), block);
    }

    fn destroy(&self, path: &Path, block: usize) {
        let bytes = fs::read(path).unwrap();
        let wanted = self.blocks[block].bytes();
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        let mut found = 0;
        for (at, _) in bytes.windows(wanted.len()).enumerate().filter(|(_, w)| *w == wanted) {
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
        let (journal, recovered) = SledJournal::open_existing(new.path()).unwrap();
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

/// A report that calls them the store's would send its reader to a file that is not there.
#[test]
fn blocks_that_only_the_log_has_are_said_to_come_from_it() {
    let case = Case::with_log(10);
    let database = case.database();
    // A server that was killed leaves the log's chain whole; one that was stopped, its remainder.
    let stopped = fs::read(case.log()).unwrap();
    fs::remove_file(&database).unwrap();
    let gone = format!("{} is gone", database.display());
    let salvaged = case.salvage();
    assert_eq!(covered(&salvaged), [(1, 200, Origin::Archive), (201, 600, Origin::LogFile)]);
    assert_eq!(salvaged.faults, [gone]);
    let whole: Vec<u8> = case.blocks.iter().flat_map(|block| block.bytes().to_vec()).collect();
    assert!(stopped.len() >= whole.len() && stopped[8..whole.len()] == whole[8..]);
    fs::write(case.log(), whole).unwrap();
    let salvaged = case.salvage();
    assert_eq!(covered(&salvaged), [(1, 200, Origin::Archive), (201, 600, Origin::Log)]);
    fs::remove_dir_all(case.data().join("journal")).unwrap();
    let gone = format!("{} is gone", case.data().join("journal").display());
    assert_eq!(case.salvage().faults, [gone]);
}

/// Every file of a folder with its contents.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
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

/// Without marker and witness the last block may have been refused; the others are known to be
/// accepted, since blocks follow them.
#[test]
fn without_marker_and_witness_all_but_the_last_block_are_known_to_be_accepted() {
    for damaged in [|path: &Path| fs::remove_file(path), |path: &Path| fs::write(path, b"x")] {
        let case = Case::new(0);
        damaged(&case.data().join("refused")).unwrap();
        damaged(&case.data().join("witness")).unwrap();
        let salvaged = case.salvage_with(None);
        assert_eq!(salvaged.head, case.blocks[28].head());
        let [beyond] = salvaged.beyond.as_slice() else { panic!("{:?}", salvaged.beyond) };
        assert_eq!((beyond.first, beyond.origin), (case.blocks[29].first(), Origin::Store));
        assert!(!salvaged.complete && salvaged.acknowledged.is_none());
    }
}

#[test]
fn a_whole_directory_is_salvaged_whole_with_and_without_an_archive() {
    let case = Case::new(10);
    let salvaged = case.salvage();
    assert_eq!(covered(&salvaged), [(1, 200, Origin::Archive), (201, 600, Origin::Store)]);
    assert!(salvaged.complete, "{salvaged:?}");
    assert_eq!((salvaged.faults.as_slice(), beyond(&salvaged).as_slice()), (&[][..], &[][..]));
    let salvaged = case.salvage_with(None);
    assert_eq!(covered(&salvaged), [(1, 600, Origin::Store)]);
    assert!(salvaged.complete, "{salvaged:?}");
}

#[test]
fn without_sleds_folder_the_archive_is_used_and_missing_blocks_are_reported() {
    for (archived, last) in [(30, 600), (10, 200), (0, 0)] {
        let case = Case::new(archived);
        fs::remove_dir_all(case.data().join("journal")).unwrap();
        let salvaged = case.salvage();
        assert_eq!(salvaged.head.sequence, Sequence::new(last));
        assert_eq!(salvaged.acknowledged, Some(Sequence::new(600)));
        assert_eq!(salvaged.complete, archived == 30);
        assert!(salvaged.faults[0].ends_with("is gone"), "{:?}", salvaged.faults);
        let empty = &salvaged.faults[1..];
        assert_eq!(empty.len(), usize::from(archived == 0), "{:?}", salvaged.faults);
        assert!(empty.iter().all(|fault| fault.ends_with("holds no block of an archive")));
    }
}

#[test]
fn an_archive_without_blocks_is_reported() {
    let case = Case::new(0);
    let empty = case.dir.path().join("empty");
    fs::write(&empty, b"").unwrap();
    for archive in [case.archive(), empty] {
        let salvaged = case.salvage_with(Some(&archive));
        assert!(salvaged.complete, "{salvaged:?}");
        let fault = format!("{}: holds no block of an archive", archive.display());
        assert_eq!(salvaged.faults, [fault]);
    }
}

#[test]
fn damage_in_the_middle_of_sleds_file_is_bridged_by_the_archive() {
    let case = Case::new(20);
    case.destroy_stored(12);
    let salvaged = case.salvage();
    assert_eq!(salvaged.head.sequence, Sequence::new(600), "{salvaged:?}");
    assert!(salvaged.complete, "{salvaged:?}");
    assert_eq!(covered(&salvaged)[0], (1, 400, Origin::Archive));
    // Without the archive the chain ends there, and the blocks beyond are listed.
    let salvaged = case.salvage_with(None);
    assert_eq!(salvaged.head.sequence, Sequence::new(240));
    assert!(!salvaged.complete);
    let beyond = beyond(&salvaged);
    assert_eq!((beyond[0].0, beyond.last().unwrap().1), (261, 600), "{salvaged:?}");
}

#[test]
fn damage_in_sleds_file_is_bridged_by_the_log_around_its_own_damage() {
    let case = Case::with_log(0);
    case.destroy_stored(12);
    case.destroy(&case.log(), 3);
    case.destroy(&case.log(), 20);
    let salvaged = case.salvage_with(None);
    assert_eq!(salvaged.head.sequence, Sequence::new(600), "{salvaged:?}");
    assert!(salvaged.complete, "{salvaged:?}");
    case.destroy_stored(20);
    let salvaged = case.salvage_with(None);
    assert_eq!(salvaged.head.sequence, Sequence::new(400), "{salvaged:?}");
    assert!(!salvaged.complete);
    assert_eq!(beyond(&salvaged).last().unwrap().1, 600, "{salvaged:?}");
}

#[test]
fn the_archive_of_another_venue_is_refused() {
    let case = Case::new(20);
    let scratch = tempfile::tempdir().unwrap();
    let (mut other, _) = Archive::open(&scratch.path().join("other")).unwrap();
    let mut journal = MemoryJournal::new();
    let time = TimeMs::new(1_800_000_000_000).unwrap();
    journal.append(block_after(&Head::START, time, vec![Command::AdvanceClock])).unwrap();
    let blocks: Vec<_> = journal.read(FIRST).map(Result::unwrap).collect();
    other.append(&blocks).unwrap();
    let folder = scratch.path().join("other");
    let opened = Salvage::of(&case.data(), Some(&folder), scratch.path());
    assert!(matches!(opened, Err(SalvageError::OtherVenue { .. })));
}

#[test]
fn blocks_beyond_the_damage_are_found_after_a_refused_start() {
    let case = Case::new(20);
    case.destroy_stored(12);
    for _ in 0..2 {
        let opened = SledJournal::open(&case.data()).map(|_| ());
        assert_eq!(opened, Err(OpenError::Torn { known: Sequence::new(600) }));
    }
    let salvaged = case.salvage();
    assert!(salvaged.complete, "{salvaged:?}");
    assert_eq!(salvaged.head.sequence, Sequence::new(600));
}

#[test]
fn gaps_are_filled_from_the_other_source_and_a_gap_in_both_ends_the_chain() {
    let case = Case::new(28);
    case.destroy_archived(2);
    case.destroy_stored(20);
    let salvaged = case.salvage();
    assert!(salvaged.complete, "{salvaged:?}");
    assert_eq!(salvaged.head.sequence, Sequence::new(600));
    assert!(salvaged.covered.len() >= 3, "{salvaged:?}");
    assert!(salvaged.faults.iter().any(|fault| fault.contains("MEMBER_")), "{salvaged:?}");
    // Member 2 of the archive holds blocks 8 to 11.
    case.destroy_stored(9);
    let salvaged = case.salvage();
    assert_eq!(salvaged.head.sequence, Sequence::new(180));
    assert!(!salvaged.complete);
    assert_eq!(beyond(&salvaged).last().unwrap().1, 600, "{salvaged:?}");
}

/// A refused block remains in sled's file and must not come back, even if sled cannot open.
#[test]
fn a_refused_block_stays_refused() {
    for (marked, with_sled) in [(true, true), (true, false), (false, false)] {
        let case = Case::new(30);
        let head = case.blocks[29].head();
        // The state after a crash between a failed append and its marker; then with the marker, or
        // without.
        let refused = block_after(&head, TimeMs::MAX, vec![Command::AdvanceClock; 5]);
        let witness = fs::read(case.data().join("witness")).unwrap();
        let (mut journal, _) = SledJournal::open(&case.data()).unwrap();
        journal.append(refused).unwrap();
        drop(journal);
        fs::write(case.data().join("witness"), witness).unwrap();
        if marked {
            let marker = Marker::Refused { first: head.sequence.next(), previous: head.hash };
            fs::write(case.data().join("refused"), marker.encode()).unwrap();
        }
        if !with_sled {
            // sled opens as empty; its file still holds the bytes.
            let file = fs::OpenOptions::new().write(true).open(case.database()).unwrap();
            file.write_all_at(&[0xA5; 64], 0).unwrap();
            fs::remove_file(case.data().join("journal/conf")).unwrap();
        }
        let salvaged = case.salvage_with(None);
        assert_eq!(salvaged.head, head, "{marked} {with_sled}: {salvaged:?}");
        let origin = if with_sled { Origin::Store } else { Origin::StoreFile };
        assert_eq!(covered(&salvaged), [(1, 600, origin)]);
        let salvaged = case.salvage();
        assert_eq!(salvaged.head, head, "{marked} {with_sled}: {salvaged:?}");
        // Without a marker it is unknown whether the block was refused.
        assert_eq!(salvaged.complete, marked, "{salvaged:?}");
    }
}

/// After a power cut the witness may be older than the last acknowledged block.
#[test]
fn blocks_after_the_last_known_acknowledged_one_make_the_salvage_incomplete() {
    let case = Case::new(0);
    let known = case.blocks[19].head();
    let slot = Witness { last: known.sequence, hash: known.hash }.encode();
    let witness = fs::OpenOptions::new().write(true).open(case.data().join("witness")).unwrap();
    for offset in [0, 4096] {
        witness.write_all_at(&slot, offset).unwrap();
    }
    // sled opens as empty; its file still holds the bytes.
    let file = fs::OpenOptions::new().write(true).open(case.database()).unwrap();
    file.write_all_at(&[0xA5; 64], 0).unwrap();
    fs::remove_file(case.data().join("journal/conf")).unwrap();
    let salvaged = case.salvage_with(None);
    assert_eq!(salvaged.head, known, "{salvaged:?}");
    assert_eq!(beyond(&salvaged), [(401, 600, Origin::StoreFile)]);
    assert!(!salvaged.complete, "{salvaged:?}");
}

#[test]
fn an_unreadable_witness_makes_the_salvage_incomplete() {
    let case = Case::new(30);
    fs::write(case.data().join("witness"), [0; 4160]).unwrap();
    let salvaged = case.salvage();
    assert_eq!((salvaged.acknowledged, salvaged.complete), (None, false));
    assert_eq!(salvaged.head.sequence, Sequence::new(600));
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let case = Case::new(4);
    let (_journal, _) = SledJournal::open(&case.data()).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let refused = Salvage::of(&case.data(), None, scratch.path()).err();
    assert!(matches!(refused, Some(SalvageError::Locked(_))), "{refused:?}");
}

/// An archive that forks from the journal has as many blocks, but another last one.
#[test]
fn a_different_last_block_makes_the_salvage_incomplete() {
    let case = Case::new(29);
    let other = block_after(&case.blocks[28].head(), TimeMs::MAX, vec![Command::AdvanceClock; 20]);
    let mut journal = MemoryJournal::new();
    for block in case.blocks[..29].iter().chain([&other]) {
        journal.append(block.clone()).unwrap();
    }
    let (mut archive, _) = Archive::open(&case.archive()).unwrap();
    let last = journal.read(other.first()).next().unwrap().unwrap();
    archive.append(&[last]).unwrap();
    fs::remove_dir_all(case.data().join("journal")).unwrap();
    let (scratch, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut chain = Salvage::of(&case.data(), Some(&case.archive()), scratch.path()).unwrap();
    assert_eq!(import(new.path(), &mut chain, |_| ()).unwrap(), other.head());
    let salvaged = chain.finish();
    assert_eq!(salvaged.acknowledged, Some(salvaged.head.sequence));
    assert!(!salvaged.complete, "{salvaged:?}");
}

/// Whatever happens to sled's files: with a whole archive nothing is lost; without one the chain is
/// a part of the journal; and salvage never panics.
#[test]
fn no_damage_to_sleds_files_makes_a_wrong_chain_or_a_panic() {
    let case = Case::new(30);
    let whole = files(&case.data().join("journal"));
    let length = fs::metadata(case.database()).unwrap().len();
    for kind in 0..12_u64 {
        for (path, bytes) in &whole {
            fs::write(path, bytes).unwrap();
        }
        let file = fs::OpenOptions::new().write(true).open(case.database()).unwrap();
        let used = 150_000.min(length);
        match kind {
            0..6 => file.write_all_at(&[0x5A; 3_000], used * kind / 6).unwrap(),
            6..9 => file.set_len(used * (kind - 5) / 4).unwrap(),
            9 => file.set_len(0).unwrap(),
            _ => {
                let wanted = if kind == 10 { "snap." } else { "conf" };
                for (path, bytes) in whole
                    .iter()
                    .filter(|(p, _)| p.file_name().unwrap().to_str().unwrap().starts_with(wanted))
                {
                    fs::write(path, vec![0xEE; bytes.len()]).unwrap();
                }
            }
        }
        let salvaged = case.salvage();
        assert!(salvaged.complete, "{kind}: {salvaged:?}");
        let alone = case.salvage_with(None);
        assert_eq!(alone.complete, alone.head.sequence == Sequence::new(600), "{kind}: {alone:?}");
        assert_eq!(alone.acknowledged, Some(Sequence::new(600)));
    }
}

/// A folder fails at every read and has no end.
#[test]
fn what_is_no_regular_file_is_told_of_and_not_read() {
    for (is_log, name) in [(true, "wal"), (false, "journal/db")] {
        let case = Case::new(30);
        let path = if is_log { case.log() } else { case.database() };
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let salvaged = case.salvage();
        assert_eq!(salvaged.head.sequence, Sequence::new(600), "{name}");
        let told = salvaged.faults.iter().filter(|fault| fault.contains("not a regular file"));
        let told: Vec<_> = told.collect();
        assert!(matches!(told[..], [one] if one.contains(name)), "{:?}", salvaged.faults);
    }
}

/// A pipe without a writer would be waited for.
#[test]
fn a_start_on_what_is_no_regular_file_is_refused() {
    let case = Case::new(30);
    fs::remove_file(case.log()).unwrap();
    let made = std::process::Command::new("mkfifo").arg(case.log()).status().unwrap();
    assert!(made.success());
    let refused = SledJournal::open(&case.data()).err().unwrap().to_string();
    assert!(refused.contains("wal: not a regular file"), "{refused}");

    let data = tempfile::tempdir().unwrap();
    fs::create_dir_all(data.path().join("journal/db")).unwrap();
    let refused = SledJournal::open(data.path()).err().unwrap().to_string();
    assert!(refused.contains("db: not a regular file"), "{refused}");
}
