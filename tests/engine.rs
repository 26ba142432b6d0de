//! The engine's promises to its callers, tested with stores that fail and stores that block.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use engine::halt::HaltReason;
use engine::past::{Moment, PastError, Rebuilt};
use engine::pending::{Answer, Refusal};
use engine::start::{Options, Running, start};
use engine::{Engine, INTAKE_MAX, clock};
use exchange::catalogue::{MarketDraft, Outcome};
use exchange::command::{
    BodyHash, Command, IdempotencyKey, KeyedCommand, PlaceOrder, Record, Side, Wording,
};
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, Token, UserNo};
use exchange::market::MarketStatus;
use exchange::reject::Reject;
use exchange::restrictions::Heartbeat;
use exchange::rules::{Rules, SLICE};
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};
use http::asking::ask;
use journal::Journal;
use journal::memory::MemoryStore;
use journal::recovery::Marker;
use journal::replay::{Replayer, replay};
use journal::store::{BlockSource, BlockStore, Step, StoreError, StoredJournal};
use views::ReadModel;

/// A store that outlives its journal, fails on request, and can block its writes.
#[derive(Clone)]
struct TestStore(Arc<Shared>);

struct Shared {
    blocks: Mutex<MemoryStore>,
    fail_sync: AtomicBool,
    fail_mark: AtomicBool,
    gate_shut: Mutex<bool>,
    gate: Condvar,
}

impl TestStore {
    fn new() -> TestStore {
        TestStore(Arc::new(Shared {
            blocks: Mutex::new(MemoryStore::new()),
            fail_sync: AtomicBool::new(false),
            fail_mark: AtomicBool::new(false),
            gate_shut: Mutex::new(false),
            gate: Condvar::new(),
        }))
    }

    fn shut_gate(&self, shut: bool) {
        *self.0.gate_shut.lock().unwrap() = shut;
        self.0.gate.notify_all();
    }

    fn start(&self) -> Running {
        let (journal, _) = StoredJournal::over(self.clone()).unwrap();
        start(journal, Options::default()).unwrap()
    }
}

impl BlockStore for TestStore {
    fn put(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.blocks.lock().unwrap().put(first, bytes)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let mut shut = self.0.gate_shut.lock().unwrap();
        while *shut {
            shut = self.0.gate.wait(shut).unwrap();
        }
        let fails = self.0.fail_sync.load(Ordering::SeqCst);
        if fails { Err(StoreError::new(Step::Sync, "injected")) } else { Ok(()) }
    }

    fn remove_from(&mut self, first: Sequence) -> Result<(), StoreError> {
        self.0.blocks.lock().unwrap().remove_from(first)
    }

    fn marker(&self) -> Result<Marker, StoreError> {
        self.0.blocks.lock().unwrap().marker()
    }

    fn mark(&mut self, marker: Marker) -> Result<(), StoreError> {
        if self.0.fail_mark.load(Ordering::SeqCst) {
            return Err(StoreError::new(Step::Mark, "injected"));
        }
        self.0.blocks.lock().unwrap().mark(marker)
    }

    fn source(&self) -> Arc<dyn BlockSource> {
        self.0.blocks.lock().unwrap().source()
    }
}

fn create_user(name: &str) -> Command {
    Command::CreateUser { profile_name: name.to_owned(), profile_pic: String::new() }
}

fn deposit(units: i64) -> Command {
    Command::Deposit { user: UserNo(0), amount: Money::new(units) }
}

fn opened(engine: &Engine) {
    engine.ask(Command::OpenVenue(Rules::current())).unwrap();
    engine.ask(create_user("ann")).unwrap();
}

fn available(engine: &Engine) -> i64 {
    engine.read().accounts.user(UserNo(0)).unwrap().balance.available.get()
}

#[test]
fn an_answered_command_is_visible_in_every_later_read() {
    let running = TestStore::new().start();
    let engine = running.engine();
    opened(&engine);
    for round in 1..=200 {
        let answer = engine.ask(deposit(1)).unwrap();
        assert!(engine.read().watermark() >= answer.sequence());
        assert_eq!(available(&engine), round);
    }
    running.stop().unwrap();
}

#[test]
fn a_refusal_by_the_exchange_is_an_answer_and_is_replayed() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    opened(&engine);
    let too_much = Command::Withdraw { user: UserNo(0), amount: Money::new(1) };
    let answer = engine.ask(too_much).unwrap();
    assert_eq!(answer.effects(), [Effect::Refused(Reject::InsufficientFunds)]);
    let stopped = running.stop().unwrap();
    let again = store.start().stop().unwrap();
    assert_eq!((again.sequence, again.digest), (stopped.sequence, stopped.digest));
    assert_eq!(again.sequence, answer.sequence());
}

/// A read as of a past moment waits until the last block of that moment is on disk.
#[test]
fn a_question_about_a_moment_waits_for_the_block_being_written() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    opened(&engine);
    let head = engine.read().watermark();
    store.shut_gate(true);
    let asking = {
        let engine = engine.clone();
        std::thread::spawn(move || engine.ask(deposit(1)))
    };
    std::thread::sleep(Duration::from_millis(30));
    let moment = Moment::Until(clock::now());
    let past = Arc::clone(engine.past());
    let asked = std::thread::spawn(move || past.ask(moment, Rebuilt::sequence));
    std::thread::sleep(Duration::from_millis(30));
    assert!(!asked.is_finished(), "the block may be of this moment");
    store.shut_gate(false);
    assert_eq!(asking.join().unwrap().unwrap().sequence(), head.next());
    assert_eq!(asked.join().unwrap(), Ok(head.next()));
    running.stop().unwrap();
}

/// Live commands and appended blocks, as counted by the meter.
fn counted(running: &Running) -> (u64, u64) {
    let meter = Arc::clone(running.engine().meter());
    let commands = meter.matcher.commands().map(|(_, _, count)| count).sum();
    (commands, meter.sequencer.append.read().count())
}

#[test]
fn replayed_records_are_not_counted_as_live_commands() {
    let store = TestStore::new();
    let first = store.start();
    opened(&first.engine());
    let head = first.engine().read().watermark();
    assert_eq!(
        counted(&first),
        (head.get(), head.get()),
        "each waited for, so each in its own block"
    );
    first.stop().unwrap();
    let second = store.start();
    assert_eq!(counted(&second), (0, 0));
    let meter = Arc::clone(second.engine().meter());
    let progress = meter.replay_progress();
    assert_eq!((progress.applied, progress.head), (head, head));
    assert_eq!(meter.sequencer.journal_head(), head);
    second.engine().ask(deposit(1)).unwrap();
    assert_eq!((counted(&second), meter.sequencer.journal_head()), ((1, 1), head.next()));
    second.stop().unwrap();
}

#[test]
fn sequences_are_dense_and_each_caller_keeps_its_order() {
    let running = TestStore::new().start();
    let engine = running.engine();
    opened(&engine);
    let callers = (0..8).map(|_| {
        let engine = engine.clone();
        std::thread::spawn(move || {
            let mut waiting = Vec::new();
            for _ in 0..500 {
                waiting.push(engine.begin(deposit(1)));
            }
            let mut sequences = Vec::new();
            for answer in waiting {
                sequences.push(answer.wait().unwrap().sequence());
            }
            sequences
        })
    });
    let mut all = Vec::new();
    for caller in callers.collect::<Vec<_>>() {
        let sequences = caller.join().unwrap();
        assert!(sequences.is_sorted());
        all.extend(sequences);
    }
    all.sort_unstable();
    let dense: Vec<Sequence> = (3..4003).map(Sequence::new).collect();
    assert_eq!(all, dense);
    assert_eq!(available(&engine), 4000);
    running.stop().unwrap();
}

#[test]
fn a_failed_sync_refuses_closes_the_intake_and_loses_nothing_answered() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    opened(&engine);
    engine.ask(deposit(5)).unwrap();

    store.0.fail_sync.store(true, Ordering::SeqCst);
    let refused = Refusal::JournalUnavailable(HaltReason::JournalFailed);
    assert_eq!(engine.ask(deposit(7)).unwrap_err(), refused);
    store.0.fail_sync.store(false, Ordering::SeqCst);
    assert_eq!(engine.ask(deposit(9)).unwrap_err(), refused, "closed until a restart");
    assert_eq!(available(&engine), 5, "reads go on");
    assert_eq!(running.stop().unwrap().halted, Some(HaltReason::JournalFailed));

    // The refused block had reached the store, but must not come back at the restart.
    let running = store.start();
    assert_eq!(available(&running.engine()), 5);
    running.engine().ask(deposit(1)).unwrap();
    assert_eq!(available(&running.engine()), 6);
    running.stop().unwrap();
}

#[test]
fn a_failed_append_that_cannot_be_marked_is_answered_outcome_unknown() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    opened(&engine);
    store.0.fail_sync.store(true, Ordering::SeqCst);
    store.0.fail_mark.store(true, Ordering::SeqCst);
    let unknown = Refusal::OutcomeUnknown(HaltReason::JournalUnknown);
    assert_eq!(engine.ask(deposit(7)).unwrap_err(), unknown);
    running.stop().unwrap();
}

/// The next start decides whether the block counts, so until then nothing is said of its moment.
#[test]
fn a_moment_whose_block_may_or_may_not_be_durable_is_not_answered() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    opened(&engine);
    let head = engine.read().watermark();
    let before = Moment::Until(engine.read().time());
    std::thread::sleep(Duration::from_millis(5));
    store.0.fail_sync.store(true, Ordering::SeqCst);
    store.0.fail_mark.store(true, Ordering::SeqCst);
    engine.ask(deposit(7)).unwrap_err();
    let moment = Moment::Until(clock::now());
    std::thread::sleep(Duration::from_millis(5));
    let past = engine.past();
    assert_eq!(past.ask(moment, Rebuilt::sequence), Err(PastError::Busy));
    assert_eq!(past.ask(before, Rebuilt::sequence), Ok(head));
    running.stop().unwrap();
}

/// A refused block is marked as that, so its moment is known.
#[test]
fn a_moment_whose_block_was_refused_is_answered_without_it() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    opened(&engine);
    let head = engine.read().watermark();
    store.0.fail_sync.store(true, Ordering::SeqCst);
    engine.ask(deposit(7)).unwrap_err();
    let moment = Moment::Until(clock::now());
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(engine.past().ask(moment, Rebuilt::sequence), Ok(head));
    running.stop().unwrap();
}

#[test]
fn a_full_intake_refuses_at_once_and_the_rest_is_answered() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    opened(&engine);
    store.shut_gate(true);
    let mut waiting = Vec::new();
    let overloaded = loop {
        let answer = engine.begin(deposit(1));
        if let Some(refused) = answer.now() {
            break refused.unwrap_err();
        }
        waiting.push(answer);
        assert!(waiting.len() <= 2 * INTAKE_MAX, "the intake has no bound");
    };
    assert_eq!(overloaded, Refusal::Overloaded);
    assert_eq!(available(&engine), 0, "nothing is applied before it is durable");
    store.shut_gate(false);
    let count = i64::try_from(waiting.len()).unwrap();
    for answer in waiting {
        answer.wait().unwrap();
    }
    assert_eq!(available(&engine), count);
    running.stop().unwrap();
}

#[test]
fn stopping_answers_every_command_already_accepted() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    opened(&engine);
    let waiting: Vec<_> = (0..100).map(|_| engine.begin(deposit(1))).collect();
    let stopped = running.stop().unwrap();
    assert_eq!(stopped.sequence, Sequence::new(102));
    for answer in waiting {
        answer.wait().unwrap();
    }
    assert_eq!(engine.ask(deposit(1)).unwrap_err(), Refusal::Stopping);
}

#[tokio::test]
async fn a_look_sees_the_state_right_after_its_own_record() {
    let running = TestStore::new().start();
    let engine = running.engine();
    opened(&engine);
    let look = |read_model: &ReadModel, applied: &Applied<'_>| {
        let balance = read_model.accounts.user(UserNo(0)).unwrap().balance;
        (applied.sequence, balance.available.get())
    };
    // Many commands share a block.
    let looks: Vec<_> = (0..100).map(|_| ask(&engine, deposit(1), look)).collect();
    for (deposits, look) in (1..).zip(looks) {
        let (answer, seen) = look.await.unwrap();
        assert_eq!(seen, (answer.sequence(), deposits));
    }
    running.stop().unwrap();
}

fn draft(deadline: TimeMs) -> Command {
    Command::CreateMarket(Box::new(MarketDraft::plain(deadline)))
}

fn status(engine: &Engine) -> MarketStatus {
    engine.read().catalogue.market(MarketNo(0)).unwrap().status
}

#[test]
fn a_deadline_closes_its_market_without_any_command() {
    let running = TestStore::new().start();
    let engine = running.engine();
    opened(&engine);
    let soon = TimeMs::new(clock::now().get() + 200).unwrap();
    engine.ask(draft(soon)).unwrap();
    engine.ask(Command::PublishMarket { market: MarketNo(0) }).unwrap();
    while status(&engine) != MarketStatus::Closed {
        std::thread::sleep(Duration::from_millis(5));
    }
    let closed_at = engine.read().time();
    assert!(closed_at >= soon);
    running.stop().unwrap();
}

/// One command per block, then many at once: each block carries the matcher's results so far.
#[test]
fn blocks_record_the_results_that_their_callers_were_given() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    opened(&engine);
    for _ in 0..20 {
        engine.ask(deposit(1)).unwrap();
    }
    let waiting: Vec<_> = (0..500).map(|_| engine.begin(deposit(1))).collect();
    for answer in waiting {
        answer.wait().unwrap();
    }
    let stopped = running.stop().unwrap();

    let (journal, _) = StoredJournal::over(store.clone()).unwrap();
    let mut replayer = Replayer::new();
    let mut ends = vec![Sequence::ZERO];
    for block in journal.read(Sequence::new(1)) {
        let block = block.unwrap();
        // A caller that waits for each answer sees its result recorded in the very next block.
        if block.last() <= Sequence::new(22) {
            assert_eq!(Some(&block.recorded().through), ends.last());
        }
        ends.push(block.last());
    }
    replay(journal.read(Sequence::new(1)), &mut replayer, |_, _| {}).unwrap();
    assert_eq!(Some(replayer.results().hash), stopped.results);
    assert!(replayer.confirmed() > Sequence::new(21));
    let again = store.start().stop().unwrap();
    assert_eq!((again.digest, again.results), (stopped.digest, stopped.results));
}

#[test]
fn after_a_start_due_clock_work_precedes_new_commands() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    opened(&engine);
    let soon = TimeMs::new(clock::now().get() + 100).unwrap();
    engine.ask(draft(soon)).unwrap();
    let published = engine.ask(Command::PublishMarket { market: MarketNo(0) }).unwrap();
    running.stop().unwrap();
    while clock::now() < soon {
        std::thread::sleep(Duration::from_millis(5));
    }
    let running = store.start();
    let engine = running.engine();
    let answer: Answer = engine.ask(deposit(1)).unwrap();
    assert_eq!(status(&engine), MarketStatus::Closed);
    let clock_record_between = answer.sequence().get() - published.sequence().get();
    assert_eq!(clock_record_between, 2);
    running.stop().unwrap();
}

fn publish() -> Command {
    Command::PublishMarket { market: MarketNo(0) }
}

/// A venue in which Ann has this many orders in one market.
fn crowded(engine: &Engine, orders: usize) {
    opened(engine);
    engine.ask(deposit(1_000_000)).unwrap();
    engine.ask(draft(TimeMs::MAX)).unwrap();
    engine.ask(publish()).unwrap();
    let wording = Wording { outcome: Outcome::Yes, side: Side::Buy };
    let price = |number: usize| Tick::new(u8::try_from(number % 9 + 1).unwrap()).unwrap();
    let placed = (0..orders).map(|number| {
        let order = PlaceOrder::plain(UserNo(0), MarketNo(0), wording, price(number), Lots::new(1));
        engine.begin(Command::PlaceOrder(order))
    });
    for answer in placed.collect::<Vec<_>>() {
        answer.wait().unwrap();
    }
    assert_eq!(open(engine), orders);
}

fn open(engine: &Engine) -> usize {
    engine.read().orders.open_count_of(UserNo(0))
}

/// The records of a journal with how many orders each of them cancelled.
fn cancelled(store: &TestStore) -> Vec<(Command, usize)> {
    let (journal, _) = StoredJournal::over(store.clone()).unwrap();
    let mut records = Vec::new();
    let is_one = |effect: &&Effect| matches!(effect, Effect::OrderCancelled { .. });
    let note = |record: &Record, effects: &[Effect]| {
        records.push((record.command.clone(), effects.iter().filter(is_one).count()));
    };
    replay(journal.read(Sequence::new(1)), &mut Replayer::new(), note).unwrap();
    records
}

#[test]
fn others_are_served_between_the_slices_of_an_end() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    let slice = SLICE as usize;
    crowded(&engine, 20 * slice);
    engine.ask(Command::CloseMarket { market: MarketNo(0) }).unwrap();
    assert_eq!(status(&engine), MarketStatus::Closed);
    while open(&engine) > 0 {
        engine.ask(deposit(1)).unwrap();
    }
    running.stop().unwrap();
    let records = cancelled(&store);
    let is_clock = |(command, _): &(Command, usize)| matches!(command, Command::AdvanceClock);
    let first = records.iter().position(is_clock).unwrap();
    let last = records.iter().rposition(is_clock).unwrap();
    let deposits = records[first..last].iter().filter(|record| !is_clock(record)).count();
    assert!(deposits > 0, "nobody came between");
    assert!(records.iter().all(|(_, cancelled)| *cancelled <= slice));
    assert_eq!(records.iter().map(|(_, cancelled)| cancelled).sum::<usize>(), 20 * slice);
}

/// Without any command, and across a stop in the middle.
#[test]
fn an_end_goes_on_by_itself_and_after_a_restart() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    let orders = 20 * SLICE as usize;
    crowded(&engine, orders);
    engine.ask(Command::CloseMarket { market: MarketNo(0) }).unwrap();
    running.stop().unwrap();
    let before: usize = cancelled(&store).iter().map(|(_, cancelled)| cancelled).sum();
    assert!(before < orders, "nothing was left to a restart");
    let running = store.start();
    while open(&running.engine()) > 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let stopped = running.stop().unwrap();
    let again = store.start().stop().unwrap();
    assert_eq!((again.digest, again.results), (stopped.digest, stopped.results));
}

/// Arms the first user's heartbeat and renews it without a record: when it runs out by the journal,
/// and by the promise.
fn renewed(engine: &Engine, timeout_seconds: u32) -> (TimeMs, TimeMs) {
    let user = UserNo(0);
    // On a slow machine half of the time may be over before it is renewed.
    for _ in 0..100 {
        engine.ask(Command::Heartbeat { user, timeout_seconds, group: None }).unwrap();
        let journaled = heartbeat(engine).until.unwrap();
        let armed = engine.now();
        while engine.now() == armed {
            std::hint::spin_loop();
        }
        if let Some(promised) = engine.renew_heartbeat((user, None), timeout_seconds, journaled) {
            return (journaled, promised);
        }
    }
    panic!("never renewed");
}

fn heartbeat(engine: &Engine) -> Heartbeat {
    engine.read().accounts.user(UserNo(0)).unwrap().standing.heartbeat
}

#[test]
fn a_renewed_heartbeat_is_not_journaled_before_it_must_and_a_stop_keeps_it() {
    let store = TestStore::new();
    let running = store.start();
    let engine = running.engine();
    opened(&engine);
    let (journaled, promised) = renewed(&engine, 300);
    assert!(promised > journaled && engine.heartbeat_promised((UserNo(0), None)) == Some(promised));
    let head = engine.watermark();
    for _ in 0..1_000 {
        assert!(engine.renew_heartbeat((UserNo(0), None), 300, journaled).is_some());
    }
    let promised = engine.heartbeat_promised((UserNo(0), None)).unwrap();
    assert_eq!((engine.watermark(), heartbeat(&engine).until), (head, Some(journaled)));
    // Another time-out, or none, is a command's business.
    assert_eq!(engine.renew_heartbeat((UserNo(0), None), 299, journaled), None);
    assert_eq!(engine.renew_heartbeat((UserNo(0), None), 0, journaled), None);
    running.stop().unwrap();
    let running = store.start();
    let engine = running.engine();
    assert!(heartbeat(&engine).until.is_some_and(|until| until >= promised));
    // Of what was before the start nothing is known: the first beat is journaled.
    let until = heartbeat(&engine).until.unwrap();
    assert_eq!(engine.renew_heartbeat((UserNo(0), None), 300, until), None);
    running.stop().unwrap();
}

#[test]
fn a_repetition_of_a_heartbeat_takes_nothing_from_a_promise() {
    let running = TestStore::new().start();
    let engine = running.engine();
    opened(&engine);
    let once = || {
        let (key, body) = (Token::new("beat").unwrap(), BodyHash([1; 32]));
        let caller = UserNo(0);
        let once = Some(Box::new(IdempotencyKey { caller, key, body, part: 0 }));
        let command = Command::Heartbeat { user: caller, timeout_seconds: 300, group: None };
        KeyedCommand { once, act: None, command }
    };
    engine.ask(once()).unwrap();
    let (_, promised) = renewed(&engine, 300);
    let answer = engine.ask(once()).unwrap();
    assert!(matches!(answer.effects(), [Effect::Repeated { .. }]), "{:?}", answer.effects());
    assert!(heartbeat(&engine).until.is_some_and(|until| until >= promised));
    running.stop().unwrap();
}

/// A promised time holds even if the disk stands still for longer than the journaled time.
#[test]
fn a_promised_heartbeat_outlives_a_standstill_of_the_disk() {
    for stalls in [false, true] {
        let store = TestStore::new();
        let running = store.start();
        let engine = running.engine();
        opened(&engine);
        let (journaled, promised) = renewed(&engine, 3);
        store.shut_gate(stalls);
        let waits = engine.begin(deposit(1));
        while engine.now() <= journaled {
            std::thread::sleep(Duration::from_millis(10));
        }
        store.shut_gate(false);
        waits.wait().unwrap();
        // Whatever is stamped after the journaled time finds the heartbeat renewed.
        while !heartbeat(&engine).expired {
            std::thread::sleep(Duration::from_millis(10));
        }
        running.stop().unwrap();
        let (journal, _) = StoredJournal::over(store).unwrap();
        let mut ran_out = Vec::new();
        let blocks = journal.read(Sequence::new(1));
        replay(blocks, &mut Replayer::new(), |record, effects| {
            let expired = |effect: &Effect| matches!(effect, Effect::HeartbeatExpired { .. });
            ran_out.extend(effects.iter().any(expired).then_some(record.time));
        })
        .unwrap();
        assert!(ran_out.len() == 1 && ran_out[0] >= promised, "{ran_out:?} {promised:?}");
    }
}
