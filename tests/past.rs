//! Questions about the past: any moment is rebuilt exactly as it was, within the bounds on work and
//! concurrency.

#![allow(clippy::unwrap_used)] // a test may unwrap

use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::time::Duration;

use engine::clock::Clock;
use engine::past::{Moment, PastError, RECORDS_MAX};
use exchange::Exchange;
use exchange::command::{Command, Record};
use exchange::ids::UserNo;
use exchange::results::{Results, ResultsHash, ResultsLog, StateDigest};
use exchange::units::{Sequence, TimeMs};
use flow::records::FlowRecords;
use flow::{Flow, sample};
use http::past::{ASKERS_MAX, Past, QuerySlot, Questions};
use journal::block::{BlockBuilder, Head};
use journal::directory::LogJournal;
use journal::memory::MemoryJournal;
use journal::replay::ReplayFault;
use journal::snapshot::{Kind, Point, SnapshotFolder};
use journal::{Journal, JournalError};
use tokio::runtime::{Builder, Runtime};

/// Lines of recorded flow in the journal.
const LINES: u32 = 40;
/// Records per block.
const RECORDS: usize = 8;

/// What is compared of a moment: the digest of its state and the hash of its results.
type State = (StateDigest, ResultsHash);

/// A journal, its records, and the state after each of them; the first state is the empty one.
struct Story {
    journal: MemoryJournal,
    records: Vec<Record>,
    states: Vec<State>,
    runtime: Runtime,
}

fn story() -> Story {
    story_in_which(|recorded| recorded)
}

/// A story whose blocks record `record` of the true results before them.
fn story_in_which(record: impl Fn(Results) -> Results) -> Story {
    let flow = Flow::read(sample::flow(), Some(LINES)).unwrap();
    let mut records = FlowRecords::of(&flow).records;
    let mut journal = MemoryJournal::new();
    let (mut exchange, mut log) = (Exchange::new(), ResultsLog::default());
    let mut states = vec![(exchange.digest().unwrap(), log.latest().hash)];
    // Some records, and some blocks, share a millisecond; others are far apart.
    for record in &mut records {
        let step = record.sequence.get() / 19 * 3;
        record.time = TimeMs::new(1_700_000_000_000 + i64::try_from(step).unwrap()).unwrap();
    }
    for part in records.chunks(RECORDS) {
        let before = log.sealed();
        let mut builder = BlockBuilder::new(journal.head());
        for record in part {
            let mut effects = Vec::new();
            exchange.apply(record, &mut effects).unwrap();
            log.push(record, &effects);
            builder.push(record.clone()).unwrap();
            states.push((exchange.digest().unwrap(), log.latest().hash));
        }
        log.seal();
        journal.append(builder.build(record(before)).unwrap()).unwrap();
    }
    assert!(records.len() > 3 * RECORDS && !records.len().is_multiple_of(RECORDS));
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    Story { journal, records, states, runtime }
}

/// Bounds on questions.
#[derive(Clone, Copy)]
struct Bounds {
    records: u64,
    askers: usize,
}

impl Bounds {
    const STANDARD: Bounds = Bounds { records: RECORDS_MAX, askers: ASKERS_MAX };
}

/// The past of a journal that no longer grows.
fn past_of(journal: &impl Journal, states: Option<SnapshotFolder>, bounds: Bounds) -> Past {
    let clock = Arc::new(Clock::after(journal.head().time));
    let past = engine::past::Past::new(journal.reader(), states, clock).bounded(bounds.records);
    Past::new(Arc::new(past), Arc::new(Questions::at_once(bounds.askers)))
}

/// Whether a future still waits.
fn is_pending(future: &mut (impl Future + Unpin)) -> bool {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

impl Story {
    fn past(&self, bounds: Bounds) -> Past {
        past_of(&self.journal, None, bounds)
    }

    fn enter(&self, past: &Past) -> Result<QuerySlot, PastError> {
        self.runtime.block_on(past.enter())
    }

    /// All slots that are left.
    fn all(&self, past: &Past) -> Vec<QuerySlot> {
        std::iter::from_fn(|| self.enter(past).ok()).collect()
    }

    fn last(&self) -> u64 {
        self.journal.head().sequence.get()
    }

    /// The record and the state that answer a question.
    fn ask(&self, past: &Past, moment: Moment) -> Result<(u64, State), PastError> {
        let asked = past.ask(moment, |rebuilt| {
            assert_eq!(rebuilt.results().through, rebuilt.sequence());
            let digest = rebuilt.exchange().digest().unwrap();
            (rebuilt.sequence().get(), (digest, rebuilt.results().hash))
        });
        self.runtime.block_on(asked)
    }

    fn state(&self, sequence: u64) -> State {
        self.states[usize::try_from(sequence).unwrap()]
    }
}

const fn after(sequence: u64) -> Moment {
    Moment::After(Sequence::new(sequence))
}

#[test]
fn every_record_can_be_asked_for_in_any_order() {
    let story = story();
    let past = story.past(Bounds::STANDARD);
    let forwards = 0..=story.last();
    let backwards = (0..=story.last()).rev();
    let about = (0..=story.last()).map(|n| n * 31 % (story.last() + 1));
    for sequence in forwards.chain(backwards).chain(about) {
        let found = story.ask(&past, after(sequence));
        assert_eq!(found, Ok((sequence, story.state(sequence))), "{sequence}");
    }
    assert_eq!(story.ask(&past, Moment::Head), Ok((story.last(), story.state(story.last()))));
}

#[test]
fn a_time_is_the_moment_after_its_last_record() {
    let story = story();
    let past = story.past(Bounds::STANDARD);
    let (first, last) = (story.records[0].time.get(), story.journal.head().time.get());
    for ms in first - 2..=last + 2 {
        let time = TimeMs::new(ms).unwrap();
        let until = story.records.iter().filter(|record| record.time <= time).count();
        let until = u64::try_from(until).unwrap();
        assert_eq!(story.ask(&past, Moment::Until(time)), Ok((until, story.state(until))), "{ms}");
    }
}

#[test]
fn the_state_includes_the_head_of_the_last_whole_block() {
    let story = story();
    let past = story.past(Bounds::STANDARD);
    let ends: Vec<Head> =
        story.journal.read(Sequence::new(1)).map(|block| block.unwrap().head()).collect();
    for sequence in (0..=story.last()).chain([3, 20]) {
        let head = past.ask(after(sequence), |state| *state.head());
        let head = story.runtime.block_on(head).unwrap();
        let whole = ends.iter().rev().find(|end| end.sequence.get() <= sequence);
        assert_eq!(Some(&head), whole.or(Some(&Head::START)), "{sequence}");
    }
}

#[test]
fn a_future_moment_is_refused() {
    let story = story();
    let past = story.past(Bounds::STANDARD);
    let beyond = Err(PastError::Beyond(story.journal.head().sequence));
    assert_eq!(story.ask(&past, after(story.last() + 1)), beyond);
    assert_eq!(story.ask(&past, after(u64::MAX)), beyond);
    assert_eq!(story.ask(&past, Moment::Until(TimeMs::MAX)), beyond);
}

#[test]
fn no_question_replays_more_records_than_the_bound() {
    let story = story();
    let past = story.past(Bounds { records: 10, ..Bounds::STANDARD });
    assert_eq!(story.ask(&past, after(11)), Err(PastError::OutOfReach(11)));
    assert_eq!(story.ask(&past, after(10)), Ok((10, story.state(10))));
    // The replay goes on from the state asked for last, not from the start.
    assert_eq!(story.ask(&past, after(20)), Ok((20, story.state(20))));
    assert_eq!(story.ask(&past, after(31)), Err(PastError::OutOfReach(11)));
    // A refused question does not discard the kept state.
    assert_eq!(story.ask(&past, after(25)), Ok((25, story.state(25))));
    assert_eq!(story.ask(&past, after(9)), Ok((9, story.state(9))));
}

#[test]
fn a_replay_begins_at_the_nearest_snapshot_on_disk() {
    let story = story();
    let dir = tempfile::tempdir().unwrap();
    let folder = SnapshotFolder::open(dir.path()).unwrap();
    let state = |sequence| story.state(sequence);
    let kept: Vec<Head> =
        story.journal.read(Sequence::new(1)).map(|block| block.unwrap().head()).collect();
    let mut snapshots_at = Vec::new();
    for head in [kept[4], kept[9]] {
        let past = story.past(Bounds::STANDARD);
        let point = Point {
            sequence: head.sequence,
            time: head.time,
            chain: head.hash,
            results: state(head.sequence.get()).1,
            state: state(head.sequence.get()).0,
        };
        let asked = past.ask(Moment::After(head.sequence), |found| found.exchange().image());
        let image = story.runtime.block_on(asked).unwrap().unwrap();
        folder.write(Kind::State, &point, |out| out.write_all(&image)).unwrap();
        snapshots_at.push(head.sequence.get());
    }
    let bounds = Bounds { records: 12, ..Bounds::STANDARD };
    let fresh = || past_of(&story.journal, Some(folder.clone()), bounds);
    for snapshot_at in snapshots_at.iter().copied() {
        assert_eq!(story.ask(&fresh(), after(snapshot_at)), Ok((snapshot_at, state(snapshot_at))));
        // Within the next block and at its end; then out of reach.
        for sequence in [snapshot_at + 1, snapshot_at + 8, snapshot_at + 12] {
            assert_eq!(story.ask(&fresh(), after(sequence)), Ok((sequence, state(sequence))));
        }
        assert_eq!(story.ask(&fresh(), after(snapshot_at + 13)), Err(PastError::OutOfReach(13)));
        assert_eq!(story.ask(&fresh(), after(snapshot_at - 1)).map_err(drop), Err(()));
    }
    // The head of the snapshot's block is restored with the state.
    let past = fresh();
    let asked = past.ask(after(snapshots_at[1] + 3), |found| *found.head());
    assert_eq!(story.runtime.block_on(asked), Ok(kept[9]));
    // A replay goes on from the last answer if that is nearest, else from a snapshot.
    let past = fresh();
    for sequence in
        [snapshots_at[0] + 3, snapshots_at[0] + 15, snapshots_at[1] + 2, snapshots_at[0] + 1]
    {
        assert_eq!(story.ask(&past, after(sequence)), Ok((sequence, state(sequence))));
    }
    // A damaged snapshot is skipped.
    let path = folder.path(Kind::State, Sequence::new(snapshots_at[1]));
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let far = snapshots_at[1] + 1 - snapshots_at[0];
    assert_eq!(story.ask(&fresh(), after(snapshots_at[1] + 1)), Err(PastError::OutOfReach(far)));
}

#[test]
fn questions_beyond_the_number_of_slots_are_refused() {
    let story = story();
    assert_eq!(
        story.ask(&story.past(Bounds { askers: 0, ..Bounds::STANDARD }), after(1)),
        Err(PastError::Busy)
    );
    let past = story.past(Bounds::STANDARD);
    let slots = story.all(&past);
    assert_eq!(slots.len(), Bounds::STANDARD.askers);
    assert_eq!(story.ask(&past, after(1)), Err(PastError::Busy));
    let records = past.records(Sequence::new(1), 1, 1);
    assert_eq!(story.runtime.block_on(records), Err(PastError::Busy));
    drop(slots);
    assert_eq!(story.ask(&past, after(1)), Ok((1, story.state(1))));
}

#[test]
fn one_slot_is_reserved_for_the_operator() {
    let story = story();
    let past = story.past(Bounds::STANDARD);
    let (ann, bob) = (past.for_trader(UserNo(1)), past.for_trader(UserNo(2)));
    let asking = story.enter(&ann).unwrap();
    assert_eq!(story.ask(&ann, after(1)), Err(PastError::Another));
    assert_eq!(story.ask(&past, after(1)), Ok((1, story.state(1))));
    // Bob waits until it is his turn; so he does for the operator's questions.
    drop(asking);
    for asking in [&ann, &past] {
        let slots = [vec![story.enter(asking).unwrap()], story.all(&past)];
        let mut waiting = Box::pin(bob.enter());
        assert!(is_pending(&mut waiting));
        assert_eq!(story.ask(&bob, after(1)), Err(PastError::Another));
        drop(slots);
        let slot = story.runtime.block_on(waiting).unwrap();
        assert_eq!(story.all(&past).len(), 1);
        drop(slot);
    }
    assert_eq!(story.ask(&ann, after(1)), Ok((1, story.state(1))));
    assert_eq!(story.all(&past).len(), 2);
}

#[test]
fn a_trader_who_asks_again_and_again_does_not_hold_the_others_out() {
    let story = story();
    let past = story.past(Bounds::STANDARD);
    let (ann, bob) = (past.for_trader(UserNo(1)), past.for_trader(UserNo(2)));
    let first = story.enter(&ann).unwrap();
    let mut waiting = Box::pin(bob.enter());
    assert!(is_pending(&mut waiting));
    // Her next question comes after his.
    drop(first);
    let mut next = Box::pin(ann.enter());
    assert!(is_pending(&mut next));
    let his = story.runtime.block_on(waiting).unwrap();
    assert!(is_pending(&mut next));
    // Whoever goes away while waiting leaves no place taken.
    drop(next);
    drop(his);
    assert_eq!(story.ask(&ann, after(1)), Ok((1, story.state(1))));
    // Only so many wait.
    let traders: Vec<Past> = (1..100).map(|user| past.for_trader(UserNo(user))).collect();
    let mut asking: Vec<_> = traders.iter().map(|trader| Box::pin(trader.enter())).collect();
    let held = story.enter(&ann).unwrap();
    let waiting = asking.iter_mut().filter_map(|asking| is_pending(asking).then_some(())).count();
    assert_eq!(waiting, 7);
    assert_eq!(story.ask(&past.for_trader(UserNo(100)), after(1)), Err(PastError::Busy));
    drop(held);
}

#[test]
fn an_abandoned_question_keeps_its_slot_until_it_is_done() {
    let story = story();
    let past = story.past(Bounds { askers: 1, ..Bounds::STANDARD });
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let asking = story.runtime.spawn({
        let past = past.clone();
        async move {
            let look = move |_: &_| {
                begun.send(()).unwrap();
                let _ = may_go_on.recv();
            };
            past.ask(after(1), look).await
        }
    });
    has_begun.recv().unwrap();
    asking.abort();
    assert!(story.runtime.block_on(asking).unwrap_err().is_cancelled());
    assert!(matches!(story.enter(&past), Err(PastError::Busy)));
    drop(go_on);
    while story.enter(&past).is_err() {
        std::thread::yield_now();
    }
}

#[test]
fn records_come_in_order_and_no_more_than_asked() {
    let story = story();
    let past = story.past(Bounds::STANDARD);
    let read = |from: u64, count: usize, bytes: usize| {
        let records = past.records(Sequence::new(from), count, bytes);
        story.runtime.block_on(records).unwrap()
    };
    let all = &story.records;
    assert_eq!(read(1, usize::MAX, usize::MAX), *all);
    for from in 1..=all.len() {
        let asked = u64::try_from(from).unwrap();
        assert_eq!(
            read(asked, 9, usize::MAX),
            all.iter().skip(from - 1).take(9).cloned().collect::<Vec<_>>()
        );
        // At least the rest of one block, however large it is.
        let left = RECORDS - (from - 1) % RECORDS;
        assert_eq!(read(asked, usize::MAX, 0).len(), left.min(all.len() + 1 - from));
    }
    assert_eq!(read(story.last() + 1, 9, usize::MAX), []);
}

#[test]
fn a_state_whose_results_differ_from_the_recorded_is_refused() {
    let end = Sequence::new(2 * u64::try_from(RECORDS).unwrap());
    let story = story_in_which(|recorded| {
        let other = ResultsHash([7; 32]);
        if recorded.through == end { Results { hash: other, ..recorded } } else { recorded }
    });
    let past = story.past(Bounds::STANDARD);
    for sequence in 0..=story.last() {
        let found = story.ask(&past, after(sequence));
        if sequence <= end.get() {
            assert_eq!(found, Ok((sequence, story.state(sequence))), "{sequence}");
        } else {
            let differ = matches!(
                found,
                Err(PastError::Fault(ReplayFault::ResultsDiffer { through, .. })) if through == end
            );
            assert!(differ, "{sequence} {found:?}");
        }
    }
}

#[test]
fn an_unreadable_journal_is_reported() {
    let story = story();
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = LogJournal::open(dir.path()).unwrap();
    for block in story.journal.read(Sequence::new(1)) {
        journal.append((*block.unwrap()).clone()).unwrap();
    }
    let past = past_of(&journal, None, Bounds::STANDARD);
    assert_eq!(story.ask(&past, after(9)), Ok((9, story.state(9))));
    drop(journal);
    let unread = story.ask(&past, after(8));
    assert!(matches!(unread, Err(PastError::Journal(JournalError::Read(_)))), "{unread:?}");
    // A failed question gives its slot back.
    assert_eq!(story.all(&past).len(), 2);
}

/// The answer for a moment must not depend on when it is asked: it waits for a block of that moment
/// that is still being written.
#[test]
fn a_question_waits_for_a_block_of_its_moment_being_written() {
    let Story { mut journal, records, runtime, .. } = story();
    let clock = Arc::new(Clock::after(journal.head().time));
    let past = engine::past::Past::new(journal.reader(), None, Arc::clone(&clock));
    let questions = Arc::new(Questions::at_once(ASKERS_MAX));
    let past = Past::new(Arc::new(past), questions);
    let stamped = clock.stamp();
    let mut block = BlockBuilder::new(journal.head());
    let sequence = journal.head().sequence.next();
    let (once, command) = (None, Command::AdvanceClock);
    block.push(Record { sequence, time: stamped, once, act: None, command }).unwrap();
    let last = journal.read(Sequence::new(1)).last().unwrap().unwrap();
    let block = block.build(last.recorded()).unwrap();
    let writing = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(60));
        journal.append(block).unwrap();
        clock.wrote();
    });
    let asked = past.ask(Moment::Until(stamped), |found| found.exchange().sequence().get());
    assert_eq!(runtime.block_on(asked), Ok(records.len() as u64 + 1));
    writing.join().unwrap();
    let earlier = TimeMs::new(stamped.get() - 1).unwrap();
    let asked = past.ask(Moment::Until(earlier), |found| found.exchange().sequence().get());
    assert_eq!(runtime.block_on(asked), Ok(records.len() as u64));
    let later = TimeMs::new(stamped.get() + 60_000).unwrap();
    let asked = past.ask(Moment::Until(later), |_| ());
    assert!(matches!(runtime.block_on(asked), Err(PastError::Beyond(_))));
}
