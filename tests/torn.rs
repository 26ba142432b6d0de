//! A journal whose last blocks are truncated or changed at any byte, in every form of a journal:
//! the damage is reported with its block, and the state is that of the blocks before it.
//!
//! `tests/codec.rs` tests the same of a single block, `tests/recovery.rs` of sled's own file.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may unwrap

use std::fs;
use std::sync::{Arc, Mutex};

use exchange::Exchange;
use exchange::digest::StateDigest;
use exchange::results::ResultsLog;
use exchange::units::Sequence;
use flow::records::FlowRecords;
use flow::{Flow, sample};
use journal::block::{Block, BlockBuilder, BlockFault, Head};
use journal::marker::{Marker, Witness};
use journal::memory::MemoryStore;
use journal::portable::PortableFile;
use journal::replay::{ReplayError, Replayer, replay};
use journal::sled::SledStore;
use journal::store::{BlockSource, BlockStore, OpenError, StoreError, StoredJournal};
use journal::{Damage, JournalError};

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

/// A store that several journals open, one after the other.
struct Shared<S>(Arc<Mutex<S>>);

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Shared<S> {
        Shared(Arc::clone(&self.0))
    }
}

impl<S: BlockStore> BlockStore for Shared<S> {
    fn put(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.lock().unwrap().put(first, bytes)
    }
    fn flush(&mut self) -> Result<(), StoreError> {
        self.0.lock().unwrap().flush()
    }
    fn sync(&mut self) -> Result<(), StoreError> {
        self.0.lock().unwrap().sync()
    }
    fn remove_from(&mut self, first: Sequence) -> Result<(), StoreError> {
        self.0.lock().unwrap().remove_from(first)
    }
    fn marker(&self) -> Result<Marker, StoreError> {
        self.0.lock().unwrap().marker()
    }
    fn mark(&mut self, marker: Marker) -> Result<(), StoreError> {
        self.0.lock().unwrap().mark(marker)
    }
    fn witness(&self) -> Result<Option<Witness>, StoreError> {
        self.0.lock().unwrap().witness()
    }
    fn attest(&mut self, witness: Witness) -> Result<(), StoreError> {
        self.0.lock().unwrap().attest(witness)
    }
    fn source(&self) -> Arc<dyn BlockSource> {
        self.0.lock().unwrap().source()
    }
}

/// With either of its last two blocks damaged a store is not opened, and the error names the block;
/// with the block restored it opens as before.
fn is_refused<S: BlockStore>(store: S) {
    let Venue { blocks, .. } = venue();
    let mut store = Shared(Arc::new(Mutex::new(store)));
    for block in &blocks {
        store.put(block.first(), block.bytes()).unwrap();
    }
    let whole = blocks[blocks.len() - 1].head();
    store.attest(Witness { last: whole.sequence, hash: whole.hash }).unwrap();
    for (index, block) in blocks.iter().enumerate().skip(blocks.len() - 2) {
        for bytes in damages(block) {
            // A store refuses a block that it already has.
            store.remove_from(block.first()).unwrap();
            store.put(block.first(), &bytes).unwrap();
            for later in &blocks[index + 1..] {
                store.put(later.first(), later.bytes()).unwrap();
            }
            match StoredJournal::over(store.clone()).map(|(_, recovered)| recovered) {
                Err(OpenError::Damaged(damage)) => assert_eq!(damage.block, block.first()),
                other => panic!("{other:?}"),
            }
        }
        store.remove_from(block.first()).unwrap();
        for sound in &blocks[index..] {
            store.put(sound.first(), sound.bytes()).unwrap();
        }
        let (_, recovered) = StoredJournal::over(store.clone()).unwrap();
        assert_eq!((recovered.head, recovered.cut), (whole, None));
    }
}

#[test]
fn a_store_in_memory_with_a_block_cut_or_changed_anywhere_is_not_opened() {
    is_refused(MemoryStore::new());
}

#[test]
fn a_sled_with_a_block_cut_or_changed_anywhere_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    is_refused(SledStore::open(dir.path()).unwrap());
}
