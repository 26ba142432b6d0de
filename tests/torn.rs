//! A journal whose last blocks are truncated or changed at any byte, in every form of a journal:
//! the damage is reported with its block, and the state is that of the blocks before it.
//!
//! `tests/codec.rs` tests the same of a single block, `tests/recovery.rs` of sled's own file.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may unwrap

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use exchange::Exchange;
use exchange::results::{ResultsLog, StateDigest};
use flow::records::FlowRecords;
use flow::{Flow, sample};
use journal::block::{Block, BlockBuilder, BlockFault, Head};
use journal::directory::LogJournal;
use journal::memory::MemoryStore;
use journal::portable::PortableFile;
use journal::recovery::Reason;
use journal::replay::{ReplayError, Replayer, replay};
use journal::store::{BlockStore, OpenError, StoredJournal};
use journal::{Damage, Journal, JournalError};

/// Lines of recorded flow in the journal.
const LINES: u32 = 16;
/// Records per block.
const RECORDS: usize = 7;

/// A small venue that trades, and the state after each of its blocks.
struct Venue {
    blocks: Vec<Block>,
    /// The first is the empty state.
    states: Vec<StateDigest>,
}

fn venue() -> Venue {
    let flow = Flow::read(sample::flow(), Some(LINES)).unwrap();
    let mut head = Head::START;
    let mut exchange = Exchange::new();
    let (mut log, mut effects) = (ResultsLog::default(), Vec::new());
    let (mut blocks, mut states) = (Vec::new(), vec![exchange.digest().unwrap()]);
    for records in FlowRecords::of(&flow).records.chunks(RECORDS) {
        let mut builder = BlockBuilder::new(&head);
        for record in records {
            effects.clear();
            exchange.apply(record, &mut effects).unwrap();
            log.push(record, &effects);
            builder.push(record.clone()).unwrap();
        }
        let block = builder.build(log.sealed()).unwrap();
        log.seal();
        head = block.head();
        blocks.push(block);
        states.push(exchange.digest().unwrap());
    }
    assert!(blocks.len() > 3);
    Venue { blocks, states }
}

/// The block truncated at each byte, and with one bit of each byte flipped.
fn damages(block: &Block) -> impl Iterator<Item = Vec<u8>> {
    let bytes = block.bytes();
    (0..bytes.len()).flat_map(|at| {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1 << (at % 8);
        [bytes[..at].to_vec(), flipped]
    })
}

#[test]
fn a_portable_file_cut_or_changed_anywhere_is_read_up_to_the_damage() {
    let Venue { blocks, states } = venue();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let mut tried = 0;
    for damaged in blocks.len() - 2..blocks.len() {
        let sound: Vec<u8> = blocks[..damaged].iter().flat_map(Block::bytes).copied().collect();
        let after: Vec<u8> = blocks[damaged + 1..].iter().flat_map(Block::bytes).copied().collect();
        for bytes in damages(&blocks[damaged]) {
            let cut = bytes.len() < blocks[damaged].bytes().len();
            let rest: &[u8] = if cut { &[] } else { &after };
            fs::write(&path, [&sound, &bytes, rest].concat()).unwrap();
            let mut replayer = Replayer::new();
            let read = replay(PortableFile::open(&path).unwrap(), &mut replayer, |_, _| {});
            let head = blocks[damaged - 1].head();
            match read {
                // A file that ends between two blocks is a valid shorter journal.
                Ok(found) => assert!(bytes.is_empty() && found == head, "{found:?}"),
                Err(ReplayError::Journal(JournalError::Damaged(Damage { block, fault }))) => {
                    assert_eq!(block, blocks[damaged].first(), "{fault}");
                    assert!(!cut || matches!(fault, BlockFault::Truncated { .. }), "{fault}");
                }
                Err(other) => panic!("{other}"),
            }
            let state = replayer.exchange().digest().unwrap();
            assert_eq!(state, states[damaged], "nothing of it was applied");
            tried += 1;
        }
    }
    let whole: Vec<u8> = blocks.iter().flat_map(Block::bytes).copied().collect();
    fs::write(&path, whole).unwrap();
    let mut replayer = Replayer::new();
    let read = replay(PortableFile::open(&path).unwrap(), &mut replayer, |_, _| {});
    assert_eq!(read.unwrap(), blocks[blocks.len() - 1].head());
    assert_eq!(replayer.exchange().digest().unwrap(), states[blocks.len()]);
    assert!(tried > 1_000, "{tried}");
}

/// With either of its last two blocks damaged a store is not opened, and the error names the block;
/// with the block restored it opens as before.
#[test]
fn a_store_in_memory_with_a_block_cut_or_changed_anywhere_is_not_opened() {
    let Venue { blocks, .. } = venue();
    let mut store = MemoryStore::new();
    for block in &blocks {
        store.put(block.first(), block.bytes()).unwrap();
    }
    for block in &blocks[blocks.len() - 2..] {
        for bytes in damages(block) {
            let mut damaged = store.clone();
            damaged.put(block.first(), &bytes).unwrap();
            match StoredJournal::over(damaged).map(|(_, recovered)| recovered.head) {
                Err(OpenError::Damaged(damage)) => assert_eq!(damage.block, block.first()),
                other => panic!("{other:?}"),
            }
        }
    }
    let (_, recovered) = StoredJournal::over(store).unwrap();
    assert_eq!((recovered.head, recovered.cut), (blocks[blocks.len() - 1].head(), None));
}

/// A directory with these blocks, and its open segment.
fn directory(blocks: &[Block]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = LogJournal::open(dir.path()).unwrap();
    for block in blocks {
        journal.append(block.clone()).unwrap();
    }
    let path = dir.path().join("journal/log/00000000000000000001.blocks");
    (dir, path)
}

/// Where a directory's journal ends, with these bytes in its open segment.
fn opened(data: &Path, segment: &Path, offset: u64, bytes: &[u8]) -> Result<Head, OpenError> {
    let file = File::options().write(true).open(segment).unwrap();
    file.write_all_at(bytes, offset).unwrap();
    LogJournal::open(data).map(|(_, recovered)| recovered.head)
}

/// The last block cut or changed at some bytes: what is missing was interrupted, and is cut off;
/// what was changed was whole before, and is refused. `tests/unit/journal/torn.rs` tries each byte.
#[test]
fn a_log_whose_last_block_is_torn_or_changed_is_cut_or_refused_and_never_wrong() {
    let Venue { blocks, .. } = venue();
    let last = blocks[blocks.len() - 1].bytes();
    let (before, whole) = (blocks[blocks.len() - 2].head(), blocks[blocks.len() - 1].head());
    let (dir, path) = directory(&blocks);
    let offset: usize = blocks[..blocks.len() - 1].iter().map(|block| block.bytes().len()).sum();
    let offset = offset as u64;
    for at in (0..last.len()).step_by(19) {
        let mut torn = last.to_vec();
        torn[at..].fill(0);
        let head = opened(dir.path(), &path, offset, &torn);
        if last.len() - at > 16 {
            assert_eq!(head, Ok(before), "{at}");
        } else {
            assert!(head == Ok(before) || head == Err(OpenError::Refused(Reason::Beyond)), "{at}");
        }
        let mut flipped = last.to_vec();
        flipped[at] ^= 1 << (at % 8);
        let head = opened(dir.path(), &path, offset, &flipped);
        assert_eq!(head, Err(OpenError::Refused(Reason::Beyond)), "{at}");
    }
    assert_eq!(opened(dir.path(), &path, offset, last), Ok(whole));
    // Of an earlier block too.
    let bytes = fs::read(&path).unwrap();
    for at in (0..offset).step_by(397) {
        let sound = bytes[usize::try_from(at).unwrap()];
        let head = opened(dir.path(), &path, at, &[sound ^ 4]);
        assert_eq!(head, Err(OpenError::Refused(Reason::Beyond)), "{at}");
        assert_eq!(opened(dir.path(), &path, at, &[sound]), Ok(whole));
    }
}

#[test]
fn a_truncated_open_segment_is_refused_at_any_length() {
    let Venue { blocks, .. } = venue();
    let (dir, path) = directory(&blocks);
    for bytes in [(8 << 20) - 1, 1 << 20, 512, 7, 0] {
        File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        let opened = LogJournal::open(dir.path()).map(|(_, recovered)| recovered.head);
        assert_eq!(opened, Err(OpenError::Truncated { path: path.clone(), bytes }));
    }
}
