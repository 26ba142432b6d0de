//! Results are committed to: a journal that records other results than its records produce, one
//! that records none for too long, and one whose records or rules were changed behind its chain are
//! detected at the first block that shows it, by a replay and by a start.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may stop

#[path = "model/commands/mod.rs"]
mod commands;
#[path = "model/naive/mod.rs"]
mod naive;
#[path = "model/recorded.rs"]
mod recorded;

use std::fs;

use proptest::prelude::*;

use engine::catch_up::StartError;
use engine::halt::HaltReason;
use engine::start::{Options, start};
use exchange::Exchange;
use exchange::command::{Command, Record};
use exchange::effect::Effect;
use exchange::results::{Results, ResultsHash, ResultsLog};
use exchange::units::{Money, Sequence};
use journal::Journal;
use journal::block::{Block, BlockBuilder, Head};
use journal::memory::MemoryStore;
use journal::portable::PortableFile;
use journal::replay::{RESULTS_LAG_BLOCKS_MAX, ReplayError, ReplayFault, Replayer, replay};
use journal::store::{BlockStore, StoredJournal};

use commands::strategies;
use recorded::records;

/// How a journal is cut: the records of each block in turn, and how many blocks the recorded
/// results lag, also in turn.
#[derive(Debug, Clone)]
struct Cuts {
    blocks: Vec<usize>,
    lags: Vec<usize>,
}

fn cuts() -> impl Strategy<Value = Cuts> {
    let lags = prop::collection::vec(0..=RESULTS_LAG_BLOCKS_MAX, 1..6);
    (prop::collection::vec(1..9_usize, 1..6), lags).prop_map(|(blocks, lags)| Cuts { blocks, lags })
}

/// Blocks of these records with these cuts and lags; `record` may replace what a block records.
fn blocks(
    records: &[Record],
    cuts: &Cuts,
    mut record: impl FnMut(usize, Results) -> Results,
) -> Vec<Block> {
    let (mut head, mut blocks, mut rest) = (Head::START, Vec::new(), records);
    let (mut exchange, mut log) = (Exchange::new(), ResultsLog::default());
    let (mut ends, mut last) = (vec![Results::NONE], Results::NONE);
    while !rest.is_empty() {
        let index = blocks.len();
        let some = cuts.blocks[index % cuts.blocks.len()].min(rest.len());
        let (now, later) = rest.split_at(some);
        let lag = cuts.lags[index % cuts.lags.len()];
        let end = ends[ends.len().saturating_sub(1 + lag)];
        // Results never go back behind those of the block before.
        last = if end.through < last.through { last } else { end };
        let mut builder = BlockBuilder::new(&head);
        for one in now {
            builder.push(one.clone()).unwrap();
            let mut effects: Vec<Effect> = Vec::new();
            exchange.apply(one, &mut effects).unwrap();
            log.push(one, &effects);
        }
        let block = builder.build(record(index, last)).unwrap();
        ends.push(log.seal());
        head = block.head();
        blocks.push(block);
        rest = later;
    }
    blocks
}

fn read(blocks: &[Block]) -> (Result<Head, ReplayError>, Replayer) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let bytes: Vec<u8> = blocks.iter().flat_map(Block::bytes).copied().collect();
    fs::write(file.path(), bytes).unwrap();
    let mut replayer = Replayer::new();
    let head = replay(PortableFile::open(file.path()).unwrap(), &mut replayer, |_, _| {});
    (head, replayer)
}

fn store(blocks: &[Block]) -> MemoryStore {
    let mut store = MemoryStore::new();
    for block in blocks {
        store.put(block.first(), block.bytes()).unwrap();
    }
    store
}

fn flipped(Results { through, hash: ResultsHash(mut hash) }: Results, bit: usize) -> Results {
    hash[bit / 8] ^= 1 << (bit % 8);
    Results { through, hash: ResultsHash(hash) }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// However a journal is cut into blocks, and however far its results lag, it replays, twice to
    /// the same results. With one bit of one recorded result flipped, and everything else adjusted
    /// to fit, the replay fails and names the block and the records that the result covers.
    #[test]
    fn a_changed_result_is_found_in_the_block_that_carries_it(
        steps in prop::collection::vec(strategies::step(), 1..60),
        cuts in cuts(),
        changed in any::<prop::sample::Index>(),
        bit in 0..256_usize,
    ) {
        let records = records(&steps);
        let sound = blocks(&records, &cuts, |_, results| results);
        let (head, replayer) = read(&sound);
        prop_assert_eq!(head, Ok(sound[sound.len() - 1].head()));
        let (_, again) = read(&sound);
        prop_assert_eq!(replayer.results(), again.results());
        prop_assert_eq!(replayer.results().through, records[records.len() - 1].sequence);
        prop_assert_eq!(replayer.confirmed(), sound[sound.len() - 1].recorded().through);

        let recording: Vec<usize> = (0..sound.len())
            .filter(|index| sound[*index].recorded() != Results::NONE)
            .collect();
        prop_assume!(!recording.is_empty());
        let changed = recording[changed.index(recording.len())];
        let forged = blocks(&records, &cuts, |index, results| {
            if index == changed { flipped(results, bit) } else { results }
        });
        let block = forged[changed].first();
        let through = sound[changed].recorded().through;
        let from = sound[changed - 1].recorded().through.next().min(through);
        let fault = ReplayFault::ResultsDiffer { block, from, through };
        let (read, replayer) = read(&forged);
        prop_assert_eq!(read, Err(fault.into()));
        prop_assert_eq!(replayer.exchange().sequence().next(), block, "nothing of it was applied");

        let (journal, _) = StoredJournal::over(store(&forged)).unwrap();
        match start(journal, Options::default()) {
            Err(StartError::Halted(reason)) => {
                prop_assert_eq!(reason, HaltReason::ResultsDiffer(fault));
                prop_assert!(reason.to_string().contains("RESULTS_DIFFER"));
            }
            other => prop_assert!(false, "{:?}", other.map(|_| ())),
        }
    }

    /// As if the matching rules had changed: the records now produce other results than those
    /// recorded when they were answered.
    #[test]
    fn results_of_changed_records_are_detected(
        steps in prop::collection::vec(strategies::step(), 1..60),
        cuts in cuts(),
    ) {
        let original = records(&steps);
        let mut altered = original.clone();
        let deposit = altered.iter_mut().find_map(|record| match &mut record.command {
            Command::Deposit { amount, .. } => Some((record.sequence, amount)),
            _ => None,
        });
        let (changed, amount) = deposit.unwrap();
        *amount = Money::new(amount.get() + 1);
        let truth = blocks(&original, &cuts, |_, results| results);
        let forged = blocks(&altered, &cuts, |index, _| truth[index].recorded());
        let first = truth.iter().find(|block| block.recorded().through >= changed);
        let (read, _) = read(&forged);
        match first {
            None => prop_assert!(read.is_ok()),
            Some(block) => {
                let Err(ReplayError::Fault(fault)) = read else { panic!("{read:?}") };
                let ReplayFault::ResultsDiffer { block: at, from, through } = fault else {
                    panic!("{fault}")
                };
                prop_assert_eq!(at, block.first());
                prop_assert!((from..=through).contains(&changed));
            }
        }
    }

    /// From the end of any block on, as from a snapshot.
    #[test]
    fn a_replay_resumes_from_any_block(
        steps in prop::collection::vec(strategies::step(), 1..60),
        cuts in cuts(),
        at in any::<prop::sample::Index>(),
    ) {
        let blocks = blocks(&records(&steps), &cuts, |_, results| results);
        let at = at.index(blocks.len());
        let (_, whole) = read(&blocks);
        let (_, part) = read(&blocks[..at]);
        let hash = part.results().hash;
        let mut resumed = Replayer::resume(part.into_exchange(), hash);
        let (journal, _) = StoredJournal::over(store(&blocks)).unwrap();
        replay(journal.read(blocks[at].first()), &mut resumed, |_, _| {}).unwrap();
        prop_assert_eq!(resumed.results(), whole.results());
        prop_assert_eq!(resumed.exchange().digest(), whole.exchange().digest());
        // Replaying a block again changes nothing.
        replay(journal.read(blocks[at].first()), &mut resumed, |_, _| {}).unwrap();
        prop_assert_eq!(resumed.results(), whole.results());
    }
}

/// The opening in one block, then blocks of one clock record each; none records any results.
fn blocks_without_results(blocks_count: usize) -> Vec<Block> {
    let mut records = records(&[]);
    let (opening, time) = (records.len(), records[records.len() - 1].time);
    for _ in 1..blocks_count {
        let sequence = records[records.len() - 1].sequence.next();
        records.push(Record {
            sequence,
            time,
            once: None,
            act: None,
            command: Command::AdvanceClock,
        });
    }
    let mut cut = vec![1; blocks_count];
    cut[0] = opening;
    blocks(&records, &Cuts { blocks: cut, lags: vec![0] }, |_, _| Results::NONE)
}

#[test]
fn results_may_lag_as_far_as_the_pipeline_is_deep_and_no_further() {
    assert!(read(&blocks_without_results(RESULTS_LAG_BLOCKS_MAX + 1)).0.is_ok());
    let blocks = blocks_without_results(RESULTS_LAG_BLOCKS_MAX + 2);
    let (block, through) = (blocks[blocks.len() - 1].first(), Sequence::ZERO);
    let lag = ReplayFault::ResultsLag { block, through };
    assert_eq!(read(&blocks).0, Err(lag.into()));
}

#[test]
fn results_not_up_to_a_blocks_end_are_refused() {
    let cuts = Cuts { blocks: vec![2], lags: vec![0] };
    let inside = blocks(&records(&[]), &cuts, |index, results| match index {
        1 => Results { through: Sequence::new(1), hash: ResultsHash([7; 32]) },
        _ => results,
    });
    let (block, through) = (inside[1].first(), Sequence::new(1));
    let place = ReplayFault::ResultsPlace { block, through };
    assert_eq!(read(&inside).0, Err(place.into()));
}

/// A result recorded twice must be the same both times.
#[test]
fn a_repeated_result_must_equal_the_earlier_one() {
    let opening = records(&[]);
    let cuts = Cuts { blocks: vec![1], lags: vec![0, 1] };
    let twice = blocks(&opening, &cuts, |_, results| results);
    let repeated =
        |index: &usize| *index > 1 && twice[*index].recorded() == twice[*index - 1].recorded();
    let at = (0..twice.len()).find(repeated).unwrap();
    let forged = blocks(
        &opening,
        &cuts,
        |index, results| {
            if index == at { flipped(results, 0) } else { results }
        },
    );
    let (block, through) = (forged[at].first(), twice[at].recorded().through);
    let fault = ReplayFault::ResultsDiffer { block, from: through, through };
    assert_eq!(read(&forged).0, Err(fault.into()));
}
