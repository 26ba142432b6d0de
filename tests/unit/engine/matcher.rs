//! Unit tests of `src/engine/matcher.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::bounded;
use parking_lot::Mutex;

use super::*;
use crate::fixture::{caller_that, slot};
use exchange::catalogue::MarketDraft;
use exchange::effect::Applied;
use exchange::ids::MarketNo;
use exchange::invariant::Broken;
use exchange::results::{Results, ResultsHash};
use exchange::rules::Rules;
use exchange::units::{Sequence, TimeMs};
use journal::Journal;
use journal::block::BlockBuilder;
use journal::memory::MemoryJournal;
use journal::replay::ReplayFault;
use views::ReadModel;

/// Blocks of one clock command each that record these results.
fn clocks(recorded: &[Results]) -> Vec<Durable<Block>> {
    let commands = recorded.iter().map(|recorded| (Command::AdvanceClock, *recorded));
    blocks_of(&mut MemoryJournal::new(), commands)
}

/// Further blocks of one command each, at the beginning of time, with the results they record.
fn blocks_of(
    journal: &mut MemoryJournal,
    commands: impl IntoIterator<Item = (Command, Results)>,
) -> Vec<Durable<Block>> {
    let mut durable = Vec::new();
    for (command, recorded) in commands {
        let sequence = journal.head().sequence.next();
        let mut block = BlockBuilder::new(journal.head());
        let time = TimeMs::default();
        block.push(Record { sequence, time, once: None, act: None, command }).unwrap();
        durable.push(journal.append(block.build(recorded).unwrap()).unwrap());
    }
    durable
}

/// A matcher without trials, with these blocks waiting and nothing applied.
fn matcher(blocks: Receiver<Sequenced>, read_model: ReadModel) -> Matcher {
    Matcher {
        replayer: Replayer::new(),
        blocks,
        trials: crossbeam_channel::never(),
        held: HeldTrial::default(),
        slicing: false,
        projector: Projector::new(read_model, None),
        status: Arc::default(),
        halt: Arc::default(),
        meter: Arc::default(),
        clock: Arc::new(Clock::after(TimeMs::default())),
    }
}

/// Applies the last of such blocks only, to a matcher on this read model. Returns the caller's
/// answer and, as of that answer, why the engine halted and the last record applied.
fn answer_over(
    read_model: ReadModel,
    recorded: &[Results],
) -> (Result<Sequence, Refusal>, Option<HaltReason>, Sequence) {
    let (sends, blocks) = bounded(1);
    let matcher = matcher(blocks, read_model);
    let (halt, meter) = (Arc::clone(&matcher.halt), Arc::clone(&matcher.meter));
    let found = Arc::new(Mutex::new(None));
    let finds = Arc::clone(&found);
    let wakes = move || *finds.lock() = Some((halt.reason(), meter.matcher.applied()));
    let (caller, heard) = caller_that(|| (), wakes);
    let block = clocks(recorded).pop().unwrap();
    sends.send(Sequenced { block, slots: vec![(0, slot(caller, 1))] }).unwrap();
    drop(sends);
    matcher.run();
    let answer = heard.try_recv().unwrap().1.unwrap();
    let (reason, applied) = found.lock().take().unwrap();
    (answer, reason, applied)
}

/// The same with an empty read model: the refusal, and why the engine halted.
fn halted_by(recorded: &[Results]) -> (Refusal, Option<HaltReason>) {
    let (answer, reason, _) = answer_over(ReadModel::new(), recorded);
    (answer.unwrap_err(), reason)
}

#[test]
fn whoever_is_answered_finds_his_record_among_those_applied() {
    let (answer, halted, applied) = answer_over(ReadModel::new(), &[Results::NONE]);
    assert_eq!((answer, halted, applied), (Ok(Sequence::new(1)), None, Sequence::new(1)));
}

/// The record is journaled, so it must not be reported as refused, and the engine must halt
/// before the caller can submit another.
#[test]
fn a_read_model_that_is_broken_halts_the_engine_before_callers_are_told() {
    let mut read_model = ReadModel::new();
    let again = Applied { sequence: Sequence::ZERO, time: TimeMs::default(), effects: &[] };
    // Debug builds panic here.
    drop(catch_unwind(AssertUnwindSafe(|| read_model.fold(&again))));
    let broken = HaltReason::ReadModelBroken;
    let (answer, halted, _) = answer_over(read_model, &[Results::NONE]);
    assert_eq!((answer, halted), (Err(Refusal::OutcomeUnknown(broken)), Some(broken)));
}

/// A block is durable before it is applied. If it cannot be applied, its commands must not be
/// reported as refused: a fixed version will apply them.
#[test]
fn callers_of_a_block_that_breaks_the_exchange_are_not_told_that_it_was_refused() {
    // The second block without the first.
    let broken = HaltReason::StateBroken(Broken::OutOfOrder);
    let answer = halted_by(&[Results::NONE; 2]);
    assert_eq!(answer, (Refusal::OutcomeUnknown(broken), Some(broken)));
}

#[test]
fn a_block_that_records_other_results_halts_the_engine() {
    let (block, through) = (Sequence::new(2), Sequence::new(1));
    let other = Results { through, hash: ResultsHash([1; 32]) };
    // No record was applied that they could be the results of.
    let differs = ReplayFault::ResultsPlace { block, through };
    let differs = HaltReason::ResultsDiffer(differs);
    let answer = halted_by(&[Results::NONE, other]);
    assert_eq!(answer, (Refusal::OutcomeUnknown(differs), Some(differs)));
}

#[test]
fn trials_that_wait_when_the_matcher_ends_are_let_go() {
    let blocks = bounded(0).1;
    let (asks, trials) = crossbeam_channel::unbounded::<Trial>();
    let (shows, answers) = crossbeam_channel::unbounded::<()>();
    for _ in 0..50 {
        let shows = shows.clone();
        asks.send(Box::new(move |_| drop(shows))).unwrap();
    }
    drop(shows);
    Matcher { trials, ..matcher(blocks, ReadModel::new()) }.run();
    // Nobody is left who could answer.
    assert_eq!(answers.recv(), Err(crossbeam_channel::RecvError));
    drop(asks);
}

/// A deadline that has passed and is never journaled, as where another one always passes
/// meanwhile.
#[test]
fn a_trial_waits_for_due_work_a_few_blocks_only_and_those_behind_it_no_longer() {
    let deadline = TimeMs::new(1).unwrap();
    let mut journal = MemoryJournal::new();
    let begins = [
        Command::OpenVenue(Rules::current()),
        Command::CreateMarket(Box::new(MarketDraft::plain(deadline))),
        Command::PublishMarket { market: MarketNo(0) },
    ];
    let mut matcher = matcher(bounded(0).1, ReadModel::new());
    let mut apply = |matcher: &mut Matcher, command: Command| {
        let recorded = matcher.status.results();
        let block = blocks_of(&mut journal, [(command, recorded)]).pop().unwrap();
        assert_eq!(matcher.apply(Sequenced { block, slots: Vec::new() }), Ok(()));
    };
    for command in begins {
        apply(&mut matcher, command);
    }
    assert_eq!(matcher.replayer.exchange().next_due(), Some(deadline));
    let (asks, trials) = crossbeam_channel::unbounded::<Trial>();
    let (shows, answers) = crossbeam_channel::unbounded();
    for _ in 0..3 {
        let shows = shows.clone();
        asks.send(Box::new(move |_| shows.send(()).unwrap())).unwrap();
    }
    matcher.trials = trials;
    // As `run` does after each block.
    let mut answered = Vec::new();
    for _ in 0..TRIAL_BLOCKS_MAX + 3 {
        let held = matcher.held.trial.take();
        matcher.held.trial = held.or_else(|| matcher.trials.try_recv().ok());
        apply(&mut matcher, Command::AdvanceClock);
        matcher.try_held();
        answered.push(answers.try_iter().count());
    }
    let mut expected = vec![0; 7];
    expected.extend([1, 1, 1, 0]);
    assert_eq!(answered, expected);
    // The next one waits again.
    assert_eq!(matcher.held.blocks, 0);
}
