//! The portable forms of a journal: exported, compressed, imported, archived. Reading gives back
//! what was written, and detects every change.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop

mod records;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use exchange::command::Command;
use exchange::units::{Sequence, TimeMs};
use flate2::read::MultiGzDecoder;
use journal::archive::{Archive, ArchiveError};
use journal::block::{Block, BlockFault, Head};
use journal::directory::LogJournal;
use journal::import::{ImportError, import};
use journal::member::{self, MEMBER_START, MemberFault};
use journal::memory::MemoryJournal;
use journal::portable::{self, ExportError, Form, MemberPlace, PortableFile};
use journal::store::OpenError;
use journal::watch::Fate;
use journal::{Damage, Durable, Journal, JournalError};
use records::{block_after, chain, largest_block};

const FIRST: Sequence = Sequence::new(1);

fn journal(blocks: &[Block]) -> MemoryJournal {
    let mut journal = MemoryJournal::new();
    for block in blocks {
        journal.append(block.clone()).unwrap();
    }
    journal
}

/// Blocks that fill several members, and more of an archive than one torn write can span.
fn long_chain() -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut head = Head::START;
    for fill in 0..60 {
        let block = largest_block(&head, fill);
        head = block.head();
        blocks.push(block);
    }
    blocks.push(block_after(&head, TimeMs::MAX, vec![Command::AdvanceClock; 3]));
    blocks
}

fn written(form: Form, blocks: &[Block], path: &Path) {
    let journal = journal(blocks);
    let mut count = 0;
    let head = portable::export_as(form, journal.read(FIRST), path, |_| count += 1).unwrap();
    assert_eq!((head, count), (*journal.head(), blocks.len()));
}

/// The blocks that can be read, and the error that ended the reading.
fn read(path: &Path) -> (Vec<Block>, Option<JournalError>) {
    let (mut blocks, mut error) = (Vec::new(), None);
    for read in PortableFile::open(path).unwrap() {
        match read {
            Ok(block) => blocks.push((*block).clone()),
            Err(found) => error = Some(found),
        }
    }
    (blocks, error)
}

fn fault(error: Option<JournalError>) -> BlockFault {
    match error {
        Some(JournalError::Damaged(damage)) => damage.fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_forms_are_read_as_written_and_the_compressed_one_unpacks_to_the_plain_one() {
    let dir = tempfile::tempdir().unwrap();
    let (plain, packed) = (dir.path().join("a"), dir.path().join("b"));
    let blocks = long_chain();
    written(Form::Plain, &blocks, &plain);
    written(Form::Compressed, &blocks, &packed);
    assert_eq!(read(&plain), (blocks.clone(), None));
    assert_eq!(read(&packed), (blocks.clone(), None));
    let mut unpacked = Vec::new();
    let file = fs::File::open(&packed).unwrap();
    MultiGzDecoder::new(file).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, fs::read(&plain).unwrap());
    assert_eq!(portable::extent(&packed).unwrap(), portable::extent(&plain).unwrap());
    // Members and files can be concatenated: `cat` of an archive's files is the same journal.
    let mut file = PortableFile::open(&packed).unwrap();
    assert_eq!(file.by_ref().count(), blocks.len());
    assert_eq!(file.offset(), unpacked.len() as u64);
    assert!(file.place().member.unwrap().number > 1, "several members");
}

#[test]
fn every_changed_byte_and_every_cut_of_a_compressed_file_is_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.gz");
    let blocks = chain(4, 2);
    let mut whole = Vec::new();
    for two in blocks.chunks(2) {
        whole.extend(
            member::pack(&two.iter().flat_map(Block::bytes).copied().collect::<Vec<_>>()).unwrap(),
        );
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(read(&path), (blocks.clone(), None));
    let second = u64::try_from(whole.len()).unwrap() / 3;
    for at in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] ^= flip;
            fs::write(&path, &changed).unwrap();
            let (sound, error) = read(&path);
            assert!(matches!(error, Some(JournalError::Damaged(_))), "byte {at}: {error:?}");
            assert!(blocks.starts_with(&sound), "byte {at}");
            let mut file = PortableFile::open(&path).unwrap();
            let _ = file.by_ref().count();
            let bytes: usize = sound.iter().map(|block| block.bytes().len()).sum();
            assert_eq!(file.offset(), bytes as u64, "where the first unsound block begins");
            if let Some(MemberPlace { number, offset }) = file.place().member {
                assert_eq!(number == 2, offset > second, "byte {at}");
            }
        }
    }
    for length in 1..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let (sound, error) = read(&path);
        assert!(blocks.starts_with(&sound), "{length}");
        match error {
            // A cut between two members leaves a shorter but valid journal.
            None => assert_eq!(sound.len(), 2, "{length}"),
            error => {
                let fault = fault(error);
                let truncated = matches!(
                    fault,
                    BlockFault::Member(MemberFault::Truncated) | BlockFault::Truncated { .. }
                );
                assert!(truncated, "{length}: {fault}");
            }
        }
    }
}

#[test]
fn a_plain_file_is_read_up_to_the_block_in_which_it_was_cut() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let blocks = chain(4, 2);
    let whole: Vec<u8> = blocks.iter().flat_map(Block::bytes).copied().collect();
    for length in 1..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let (sound, error) = read(&path);
        assert!(blocks.starts_with(&sound), "{length}");
        let bytes: usize = sound.iter().map(|block| block.bytes().len()).sum();
        let next = bytes + blocks[sound.len()].bytes().len();
        match error {
            // A cut between two blocks leaves a shorter but valid journal.
            None => assert_eq!(bytes, length),
            error => {
                assert!(matches!(fault(error), BlockFault::Truncated { .. }), "{length}");
                assert!(bytes < length && length < next, "{length}");
            }
        }
    }
}

#[test]
fn a_decompression_bomb_fails_at_its_first_block() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bomb.gz");
    fs::write(&path, member::pack(&vec![0; 64 << 20]).unwrap()).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
    let (sound, error) = read(&path);
    assert_eq!((sound, fault(error)), (Vec::new(), BlockFault::Magic));
}

#[test]
fn the_golden_journals_and_every_form_of_them_are_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1");
    let mut count = 0;
    for entry in fs::read_dir(golden).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "journal") {
            continue;
        }
        count += 1;
        let file = |name: &str| dir.path().join(format!("{count}{name}"));
        let source = PortableFile::open(&path).unwrap();
        let head = portable::export_as(Form::Compressed, source, &file(".gz"), |_| ()).unwrap();
        let packed = PortableFile::open(&file(".gz")).unwrap();
        assert_eq!(import(&file(".data"), packed, |_| ()).unwrap(), head);
        let (journal, recovered) = LogJournal::open_existing(&file(".data")).unwrap();
        assert_eq!((recovered.head, recovered.cut), (head, None));
        portable::export(journal.read(FIRST), &file(".plain")).unwrap();
        assert_eq!(fs::read(file(".plain")).unwrap(), fs::read(&path).unwrap(), "{path:?}");
        let again = journal.read(FIRST);
        portable::export_as(Form::Compressed, again, &file(".2.gz"), |_| ()).unwrap();
        assert_eq!(fs::read(file(".2.gz")).unwrap(), fs::read(file(".gz")).unwrap());
    }
    assert!(count > 5, "{count} golden journals");
}

#[test]
fn an_imported_journal_goes_on_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let (file, data) = (dir.path().join("a.gz"), dir.path().join("deep/down/data"));
    let blocks = long_chain();
    written(Form::Compressed, &blocks, &file);
    import(&data, PortableFile::open(&file).unwrap(), |_| ()).unwrap();
    let (mut imported, _) = LogJournal::open_existing(&data).unwrap();
    let next = block_after(imported.head(), TimeMs::MAX, vec![Command::AdvanceClock]);
    imported.append(next.clone()).unwrap();
    drop(imported);
    let (journal, _) = LogJournal::open_existing(&data).unwrap();
    let read: Vec<Block> = journal.read(FIRST).map(|block| (*block.unwrap()).clone()).collect();
    assert_eq!(read.last(), Some(&next));
    assert_eq!(read[..blocks.len()], blocks);
}

#[test]
fn a_failed_or_interrupted_import_leaves_nothing_that_opens() {
    let dir = tempfile::tempdir().unwrap();
    let (file, data) = (dir.path().join("a.gz"), dir.path().join("data"));
    let blocks = chain(6, 2);
    written(Form::Compressed, &blocks, &file);

    // Damage at the end of the source.
    let whole = fs::read(&file).unwrap();
    let damaged = dir.path().join("damaged.gz");
    fs::write(&damaged, &whole[..whole.len() - 1]).unwrap();
    let failed = import(&data, PortableFile::open(&damaged).unwrap(), |_| ());
    assert!(matches!(failed, Err(ImportError::Source(JournalError::Damaged(_)))), "{failed:?}");
    // It must not open as a new venue either, in case the operator missed the error.
    for opened in [LogJournal::open(&data), LogJournal::open_existing(&data)] {
        assert!(matches!(opened, Err(OpenError::Unfinished(_))), "{opened:?}");
    }
    let empty = import(&data, std::iter::empty(), |_| ());
    assert!(matches!(empty, Err(ImportError::Empty)), "{empty:?}");
    assert!(matches!(LogJournal::open(&data), Err(OpenError::Unfinished(_))));

    // Killed in the middle: a panic runs no clean-up.
    let source = PortableFile::open(&file).unwrap();
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        import(&data, source, |block| assert!(block.first() < Sequence::new(7), "killed"))
    }));
    assert!(killed.is_err());
    for opened in [LogJournal::open(&data), LogJournal::open_existing(&data)] {
        assert!(matches!(opened, Err(OpenError::Unfinished(_))), "{opened:?}");
    }
    // Or while the marker was being made.
    fs::write(data.join("refused.partial"), [0; 20]).unwrap();
    let head = import(&data, PortableFile::open(&file).unwrap(), |_| ()).unwrap();
    assert_eq!(head, blocks.last().unwrap().head());
    assert_eq!(LogJournal::open_existing(&data).unwrap().1.head, head);

    // Now the folder holds a journal.
    let refused = import(&data, PortableFile::open(&file).unwrap(), |_| ());
    assert!(matches!(refused, Err(ImportError::NotEmpty(_))), "{refused:?}");
    assert_eq!(LogJournal::open_existing(&data).unwrap().1.head, head);
}

/// An operator who restores a backup may pass the archive as the data directory.
#[test]
fn an_archive_or_an_exported_file_is_not_opened_as_a_new_venue() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, file) = (dir.path().join("archive"), dir.path().join("a.gz"));
    archive(&folder, &chain(6, 2), 2);
    written(Form::Compressed, &chain(6, 2), &file);
    let names = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let before: Vec<_> = names().collect();
    let opened = LogJournal::open(&folder).map(drop);
    assert_eq!(opened, Err(OpenError::Archive(folder.clone())));
    assert!(names().eq(before), "something was made there");
    assert_eq!(LogJournal::open(&file).map(drop), Err(OpenError::File(file)));
    // A journal with its archive beside it in the same folder does open.
    let both = dir.path().join("both");
    drop(LogJournal::open(&both).unwrap());
    archive(&both, &chain(6, 2), 2);
    assert!(LogJournal::open(&both).is_ok());
}

#[test]
fn blocks_that_do_not_chain_are_not_imported() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = durable(&chain(3, 2));
    let gap = [blocks[0].clone(), blocks[2].clone()].map(Ok).into_iter();
    let misfit = import(dir.path(), gap, |_| ());
    let expected = matches!(misfit, Err(ImportError::Source(JournalError::Misfit { .. })));
    assert!(expected, "{misfit:?}");
}

fn durable(blocks: &[Block]) -> Vec<Durable<Block>> {
    journal(blocks).read(FIRST).map(Result::unwrap).collect()
}

/// Archives these blocks, `each` to a member.
fn archive(folder: &Path, blocks: &[Block], each: usize) {
    let (mut archive, cut) = Archive::open(folder).unwrap();
    assert_eq!(cut, None);
    for blocks in durable(blocks).chunks(each) {
        archive.append(blocks).unwrap();
    }
}

fn only_segment(folder: &Path) -> PathBuf {
    let segments = portable::segments(folder).unwrap().unwrap();
    assert_eq!(segments.len(), 1);
    segments[0].clone()
}

#[test]
fn an_archive_torn_anywhere_continues_after_its_last_whole_member() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = chain(6, 2);
    archive(dir.path(), &blocks[..4], 2);
    let segment = only_segment(dir.path());
    assert!(segment.ends_with("00000000000000000001.blocks.gz"), "{segment:?}");
    let kept = fs::metadata(&segment).unwrap().len();
    archive_more(dir.path(), &blocks, 4);
    let whole = fs::read(&segment).unwrap();
    assert_eq!(read(dir.path()), (blocks.clone(), None));
    for length in usize::try_from(kept).unwrap()..whole.len() {
        // The rest was never written, or arrived as zeros.
        let torn = [&whole[..length], &vec![0; whole.len() - length]].concat();
        for torn in [&torn, &torn[..length].to_vec()] {
            fs::write(&segment, torn).unwrap();
            let (opened, cut) = Archive::open(dir.path()).unwrap();
            let lost = torn.len() as u64 - kept;
            if torn == &whole {
                assert_eq!(*opened.head(), blocks[5].head(), "{length}");
                continue;
            }
            assert_eq!(*opened.head(), blocks[3].head(), "{length}");
            assert_eq!(cut.map_or(0, |cut| cut.bytes), lost, "{length}");
            assert_eq!(fs::metadata(&segment).unwrap().len(), kept, "{length}");
            drop(opened);
            archive_more(dir.path(), &blocks, 4);
            assert_eq!(fs::read(&segment).unwrap(), whole, "{length}");
        }
    }
}

/// Archives the blocks from index `from` on as one member.
fn archive_more(folder: &Path, blocks: &[Block], from: usize) {
    let (mut archive, _) = Archive::open(folder).unwrap();
    archive.append(&durable(blocks)[from..]).unwrap();
}

#[test]
fn an_archive_torn_in_its_first_member_starts_over() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = chain(2, 2);
    archive(dir.path(), &blocks, 2);
    let segment = only_segment(dir.path());
    for length in [0, 5, 40] {
        OpenOptions::new().write(true).open(&segment).unwrap().set_len(length).unwrap();
        assert_eq!(*Archive::open(dir.path()).unwrap().0.head(), Head::START);
        archive_more(dir.path(), &blocks, 0);
        assert_eq!(read(dir.path()), (blocks.clone(), None));
    }
}

#[test]
fn an_archive_with_more_damage_than_a_torn_write_is_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = long_chain();
    archive(dir.path(), &blocks, 20);
    let segment = only_segment(dir.path());
    let whole = fs::read(&segment).unwrap();
    assert!(whole.len() > 2 << 20, "{}", whole.len());
    let mut changed = whole.clone();
    changed[30] ^= 1;
    fs::write(&segment, &changed).unwrap();
    let refused = Archive::open(dir.path());
    assert!(matches!(refused, Err(ArchiveError::Damaged { offset: 0, .. })), "{refused:?}");
    assert_eq!(fs::read(&segment).unwrap(), changed);
}

/// A torn write is always the last. If a whole member follows the damage, it may be the only copy,
/// so the archive must not be truncated.
#[test]
fn an_archive_damaged_before_a_whole_member_is_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    archive(dir.path(), &chain(6, 2), 2);
    let segment = only_segment(dir.path());
    let whole = fs::read(&segment).unwrap();
    let starts: Vec<usize> =
        (0..whole.len()).filter(|at| whole[*at..].starts_with(&MEMBER_START)).collect();
    assert_eq!(starts.len(), 3);
    for member in 0..2 {
        // In the magic, the length, the checksum and the compressed bytes.
        for place in [2, 17, 21, 60] {
            let mut changed = whole.clone();
            changed[starts[member] + place] ^= 0x40;
            fs::write(&segment, &changed).unwrap();
            let refused = Archive::open(dir.path());
            let offset = starts[member] as u64;
            let found = matches!(&refused, Err(ArchiveError::Damaged { offset: at, .. })
                if *at == offset);
            assert!(found, "{member} {place}: {refused:?}");
            assert_eq!(fs::read(&segment).unwrap(), changed);
        }
    }
}

#[test]
fn an_archive_whose_first_files_were_moved_away_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = chain(6, 2);
    let later = dir.path().join("00000000000000000005.blocks.gz");
    portable::export_as(
        Form::Compressed,
        durable(&blocks).into_iter().skip(2).map(Ok),
        &later,
        |_| (),
    )
    .unwrap();
    let (opened, _) = Archive::open(dir.path()).unwrap();
    let refused = opened.belongs_to(&journal(&blocks).reader());
    assert!(matches!(&refused, Err(ArchiveError::Beginning(first)) if *first == later));
}

/// An archive of files with two blocks each.
fn archive_of_files(folder: &Path, blocks: &[Block]) -> Vec<PathBuf> {
    let durable = durable(blocks);
    let files = durable.chunks(2).map(|part| {
        let file = folder.join(format!("{:020}.blocks.gz", part[0].first().get()));
        let part = part.iter().cloned().map(Ok);
        portable::export_as(Form::Compressed, part, &file, |_| ()).unwrap();
        file
    });
    files.collect()
}

#[test]
fn an_archive_without_one_of_its_middle_files_is_refused_with_the_records_it_lacks() {
    let blocks = long_chain();
    let count = blocks.chunks(2).count();
    for gone in [1, 17, count - 2] {
        let dir = tempfile::tempdir().unwrap();
        let files = archive_of_files(dir.path(), &blocks);
        assert_eq!(*Archive::open(dir.path()).unwrap().0.head(), blocks.last().unwrap().head());
        let moved = files[gone].with_extension("away");
        fs::rename(&files[gone], &moved).unwrap();
        let refused = Archive::open(dir.path()).map(drop);
        let Err(ArchiveError::Gap { after, from, to }) = refused else { panic!("{refused:?}") };
        assert_eq!(after, files[gone - 1]);
        assert_eq!((from, to), (blocks[2 * gone].first(), blocks[2 * gone + 1].last()));
        // Truncated, changed at its end, or replaced by another journal's file.
        let whole = fs::read(&moved).unwrap();
        let mut changed = whole.clone();
        *changed.last_mut().unwrap() ^= 1;
        for bytes in [&whole[..whole.len() - 1], &changed, &[]] {
            fs::write(&files[gone], bytes).unwrap();
            let refused = Archive::open(dir.path()).map(drop);
            let named = matches!(&refused, Err(ArchiveError::Damaged { path, .. })
                if *path == files[gone]);
            assert!(named, "{refused:?}");
        }
        let before = blocks[2 * gone - 1].head();
        let foreign = block_after(&before, TimeMs::MAX, vec![Command::AdvanceClock; 2]);
        let foreign = [&blocks[..2 * gone], &[foreign]].concat();
        fs::remove_file(&files[gone]).unwrap();
        let foreign = durable(&foreign).into_iter().skip(2 * gone).map(Ok);
        portable::export_as(Form::Compressed, foreign, &files[gone], |_| ()).unwrap();
        let refused = Archive::open(dir.path()).map(drop);
        assert!(refused.is_err(), "another block in its place");
        fs::rename(&moved, &files[gone]).unwrap();
        assert!(Archive::open(dir.path()).is_ok());
    }
}

#[test]
fn an_archive_that_changes_under_its_writer_counts_as_ending_before_what_is_missing() {
    type Deed = fn(&Path);
    let deeds: [(Deed, Fate); 3] = [
        (|file| fs::remove_file(file).unwrap(), Fate::Deleted),
        (|file| fs::write(file, b"short").unwrap(), Fate::Truncated),
        (
            |file| {
                fs::copy(file, file.with_extension("copy")).unwrap();
                fs::rename(file.with_extension("copy"), file).unwrap();
            },
            Fate::Replaced,
        ),
    ];
    let blocks = chain(8, 2);
    for (deed, expected) in deeds {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("archive");
        fs::create_dir(&folder).unwrap();
        let files = archive_of_files(&folder, &blocks[..6]);
        let (mut archive, _) = Archive::open(&folder).unwrap();
        archive.append(&durable(&blocks)[6..7]).unwrap();
        assert!(archive.check(true).is_ok());
        // The newest file; the others, which are asked less often, have only their lengths.
        let sealed = Some((&files[1], true)).filter(|_| expected != Fate::Replaced);
        for (file, all) in [(&files[2], false)].into_iter().chain(sealed) {
            let (whole, kept) = (fs::read(file).unwrap(), file.with_extension("kept"));
            fs::hard_link(file, &kept).unwrap();
            deed(file);
            let changed = archive.check(all);
            let Err(ArchiveError::Changed { path, fate, sound }) = changed else {
                panic!("{changed:?}")
            };
            assert_eq!((&path, fate, sound.next().get()), (file, expected, first_of(file)));
            assert_eq!(archive.check(false).is_ok(), all);
            fs::write(&kept, &whole).unwrap();
            fs::rename(&kept, file).unwrap();
            assert!(archive.check(true).is_ok());
            drop(fs::remove_file(&kept));
        }
        fs::rename(&folder, dir.path().join("away")).unwrap();
        fs::create_dir(&folder).unwrap();
        let changed = archive.check(false);
        let none = matches!(changed, Err(ArchiveError::Changed { sound: Sequence::ZERO, .. }));
        assert!(none, "{changed:?}");
        fs::remove_dir(&folder).unwrap();
        fs::rename(dir.path().join("away"), &folder).unwrap();
        archive.append(&durable(&blocks)[7..]).unwrap();
        drop(archive);
        assert_eq!(*Archive::open(&folder).unwrap().0.head(), blocks[7].head());
    }
}

/// The first record of an archive's file, by its name.
fn first_of(file: &Path) -> u64 {
    file.file_name().unwrap().to_str().unwrap()[..20].parse().unwrap()
}

#[test]
fn an_archive_of_another_journal_or_ahead_of_it_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = chain(4, 2);
    archive(dir.path(), &blocks[..2], 1);
    let (opened, _) = Archive::open(dir.path()).unwrap();
    let second = Archive::open(dir.path());
    assert!(matches!(second, Err(ArchiveError::Locked(_))), "{second:?}");
    for length in 2..=4 {
        opened.belongs_to(&journal(&blocks[..length]).reader()).unwrap();
    }
    let ahead = opened.belongs_to(&journal(&blocks[..1]).reader());
    assert!(matches!(ahead, Err(ArchiveError::Ahead { .. })), "{ahead:?}");
    let other = block_after(&blocks[0].head(), TimeMs::MAX, vec![Command::AdvanceClock; 2]);
    let other = journal(&[blocks[0].clone(), other]);
    // Different from the first block on, and no longer than that block.
    let shorter = journal(&[block_after(&Head::START, TimeMs::MAX, vec![Command::AdvanceClock])]);
    for other in [other, shorter] {
        let other = opened.belongs_to(&other.reader());
        assert!(matches!(other, Err(ArchiveError::OtherJournal { .. })), "{other:?}");
    }
    let none = opened.belongs_to(&journal(&[]).reader());
    assert!(matches!(none, Err(ArchiveError::Ahead { .. })), "{none:?}");
}

/// A partial export would pass for a whole, shorter journal.
#[test]
fn an_export_has_its_name_only_once_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (path, partial) = (dir.path().join("j.gz"), dir.path().join("j.gz.partial"));
    // Left over by an export that was killed.
    fs::write(&partial, vec![7; 100_000]).unwrap();
    let blocks = chain(4, 2);
    let mut seen = 0;
    let head =
        portable::export_as(Form::Compressed, durable(&blocks).into_iter().map(Ok), &path, |_| {
            assert!(!path.exists());
            seen += 1;
        });
    assert_eq!((head.unwrap(), seen), (blocks[3].head(), 4));
    assert!(!partial.exists());
    assert_eq!(read(&path), (blocks.clone(), None));

    let again = portable::export(durable(&blocks).into_iter().map(Ok), &path);
    assert!(matches!(&again, Err(ExportError::File(e)) if e.kind() == ErrorKind::AlreadyExists));
    let broken = durable(&blocks[..1])
        .into_iter()
        .map(Ok)
        .chain([Err(JournalError::Damaged(Damage { block: FIRST, fault: BlockFault::Magic }))]);
    let other = dir.path().join("other");
    assert!(portable::export(broken, &other).is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing but the first");
}

/// Bytes written before the failure must count once, and what failed must be tried again.
#[test]
fn a_full_disk_only_delays_an_archive() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = chain(6, 2);
    let segment = dir.path().join("00000000000000000001.blocks.gz");
    std::os::unix::fs::symlink("/dev/full", &segment).unwrap();
    let (mut archive, _) = Archive::open(dir.path()).unwrap();
    let durable = durable(&blocks);
    for _ in 0..2 {
        assert!(archive.append(&durable[..2]).is_err());
        assert_eq!(*archive.head(), Head::START);
    }
    fs::remove_file(&segment).unwrap();
    archive.append(&durable[..2]).unwrap();
    // The open file is replaced by a copy, so that writes to it would be lost.
    let hidden = dir.path().join("hidden");
    fs::rename(&segment, &hidden).unwrap();
    fs::copy(&hidden, &segment).unwrap();
    fs::remove_file(&hidden).unwrap();
    assert!(archive.append(&durable[2..4]).is_err(), "nobody would find it");
    // A failed write may leave more bytes than the retry writes.
    let mut left = OpenOptions::new().append(true).open(&segment).unwrap();
    left.write_all(&[7; 10_000]).unwrap();
    archive.append(&durable[2..]).unwrap();
    drop(archive);
    assert_eq!(read(dir.path()), (blocks, None));
    assert_eq!(Archive::open(dir.path()).unwrap().1, None);
}
