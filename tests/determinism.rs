//! The same records give the same effects and the same state, byte for byte: in a second run, after
//! a restart at any point, and whatever commands were refused in between.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "model/commands/mod.rs"]
mod commands;
#[path = "model/naive/mod.rs"]
mod naive;
#[path = "model/recorded.rs"]
mod recorded;

use std::collections::BTreeMap;

use proptest::prelude::*;

use exchange::Exchange;
use exchange::catalogue::{CategoryDraft, MarketRevision, Outcome};
use exchange::command::{
    Command, Condition, KeyHash, PlaceOrder, Record, Role, SelfTradePrevention, Side, TimeInForce,
    TradingMode, Wording,
};
use exchange::effect::Effect;
use exchange::ids::{KeyNo, MarketNo, Token, UserNo};
use exchange::results::{Results, ResultsLog, StateDigest};
use exchange::units::{Lots, Money, Sequence, SettlementPrice, Tick, TimeMs};
use journal::block::{Block, BlockBuilder, Head};
use journal::memory::{MemoryJournal, MemoryStore};
use journal::replay::Replayer;
use journal::store::{BlockStore, StoredJournal};
use journal::{self, Journal};

use commands::{Step, strategies};
use recorded::records;

/// Effects of one record, and the state's digest after it.
type Came = (Vec<Effect>, StateDigest);

fn apply(exchange: &mut Exchange, record: &Record) -> Came {
    let mut effects = Vec::new();
    exchange.apply(record, &mut effects).unwrap();
    (effects, exchange.digest().unwrap())
}

fn replay(records: &[Record]) -> (Exchange, Vec<Came>) {
    let mut exchange = Exchange::new();
    let outcomes = records.iter().map(|record| apply(&mut exchange, record)).collect();
    (exchange, outcomes)
}

fn block_of(head: &Head, records: &[Record], recorded: Results) -> Block {
    let mut builder = BlockBuilder::new(head);
    for record in records {
        assert!(builder.push(record.clone()).is_ok(), "block full");
    }
    builder.build(recorded).unwrap()
}

/// Stores records as acknowledged blocks, as bytes; returns the head.
fn keep(store: &mut MemoryStore, records: &[Record], block_records: usize) -> Head {
    let mut head = Head::START;
    let (mut exchange, mut log) = (Exchange::new(), ResultsLog::default());
    for some in records.chunks(block_records) {
        let block = block_of(&head, some, log.sealed());
        for record in some {
            log.push(record, &apply(&mut exchange, record).0);
        }
        log.seal();
        head = block.head();
        store.put(block.first(), block.bytes()).unwrap();
    }
    head
}

/// Replays a journal as a start does; also returns the effects of each record.
fn read_back(journal: &MemoryJournal) -> (Replayer, Vec<Vec<Effect>>) {
    let (mut replayer, mut effects_by_record) = (Replayer::new(), Vec::new());
    let collect = |_: &Record, effects: &[Effect]| effects_by_record.push(effects.to_vec());
    let head = journal::replay::replay(journal.read(Sequence::new(1)), &mut replayer, collect);
    assert_eq!(head.as_ref(), Ok(journal.head()));
    (replayer, effects_by_record)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(strategies::step(), 1..60)
}

/// Whether an effect must change the digest. Effects on texts do not, since the exchange keeps
/// none; nor need an order that never rests, an amend to the same terms, or a switch set to its
/// current value.
fn changes_digest(effect: &Effect) -> bool {
    match effect {
        Effect::Refused(_)
        | Effect::EventRevised { .. }
        | Effect::AccountChanged { .. }
        | Effect::PositionChanged { .. }
        | Effect::VenueModeSet { .. }
        | Effect::UserModeSet { .. }
        | Effect::UserRenamed { .. }
        | Effect::TwoPersonsSet { .. }
        | Effect::ExposureLimitSet { .. }
        | Effect::HeartbeatSet { until: None, .. }
        | Effect::OrderAccepted { .. }
        | Effect::OrderCancelled { rested: false, .. } => false,
        Effect::MarketRevised { revision, .. } => revision.deadline.is_some(),
        Effect::OrderAmended { price_before, price, remaining_before, remaining, .. } => {
            price_before != price || remaining_before != remaining
        }
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_replay_is_the_same_to_the_byte(steps in steps()) {
        let records = records(&steps);
        let (once, twice) = (replay(&records).1, replay(&records).1);
        prop_assert_eq!(once, twice);
    }

    /// Everything passes through bytes: the first run's blocks go into a store, the second run
    /// replays them and goes on.
    #[test]
    fn a_restart_at_any_point_changes_nothing(
        steps in steps(),
        cut in any::<prop::sample::Index>(),
        block_records in 1..9_usize,
    ) {
        let records = records(&steps);
        let (_, straight) = replay(&records);
        let cut = cut.index(records.len() + 1);
        let mut store = MemoryStore::new();
        let head = keep(&mut store, &records[..cut], block_records);

        let (mut journal, recovered) = StoredJournal::over(store).unwrap();
        prop_assert_eq!(recovered.head, head);
        let (mut replayer, effects_by_record) = read_back(&journal);
        let expected: Vec<_> = straight[..cut].iter().map(|(effects, _)| effects).collect();
        prop_assert_eq!(effects_by_record.iter().collect::<Vec<_>>(), expected);
        if let Some((_, digest)) = straight[..cut].last() {
            prop_assert_eq!(&replayer.exchange().digest().unwrap(), digest);
        }

        let mut ahead = straight[cut..].iter();
        for some in records[cut..].chunks(block_records) {
            let block = block_of(journal.head(), some, replayer.results());
            let durable = journal.append(block).unwrap();
            let collect = |record: &Record, effects: &[Effect]| {
                let (expected, _) = ahead.next().unwrap();
                assert_eq!(effects, expected, "{record:?}");
            };
            let blocks = std::iter::once(Ok(durable));
            journal::replay::replay(blocks, &mut replayer, collect).unwrap();
        }
        prop_assert!(ahead.next().is_none());
        let (again, _) = read_back(&journal);
        let end = straight.last().map(|(_, digest)| *digest);
        prop_assert_eq!(Some(again.exchange().digest().unwrap()), end);
        prop_assert_eq!(Some(replayer.exchange().digest().unwrap()), end);
        prop_assert_eq!(again.results(), replayer.results());
    }

    /// For comparison, the same record is replaced by a clock command that finds nothing due.
    #[test]
    fn the_digest_shows_every_change_and_no_refusal(steps in steps()) {
        let (mut exchange, mut beats) = (Exchange::new(), BTreeMap::new());
        for record in records(&steps) {
            let mut idle = exchange.clone();
            let (effects, digest) = apply(&mut exchange, &record);
            let command = Command::AdvanceClock;
            let clock = Record { once: None, act: None, command, ..record.clone() };
            let (nothing, without) = apply(&mut idle, &clock);
            let refused = matches!(effects[..], [Effect::Refused(_) | Effect::Repeated { .. }]);
            let as_it_stood = match &effects[..] {
                // The same heartbeat, set twice within a millisecond, or none off again.
                [Effect::HeartbeatSet { user, until }] => {
                    beats.insert((*user, None), *until) == Some(*until)
                }
                [Effect::GroupHeartbeatSet { user, group, until }] => {
                    let before = beats.insert((*user, Some(group.clone())), *until);
                    before.flatten() == *until
                }
                _ => false,
            };
            if !nothing.is_empty() && !matches!(nothing[..], [Effect::Refused(_)]) {
                continue; // Something was due, so the two states are not comparable.
            }
            if refused {
                prop_assert_eq!(digest, without, "a refusal left a trace: {:?}", record);
            } else if !as_it_stood && effects.iter().any(changes_digest) {
                prop_assert_ne!(digest, without, "the digest does not show {:?}", record);
            }
        }
    }
}

/// Orders that each differ from the others in one thing.
fn orders_alike(user: UserNo, market: MarketNo) -> [PlaceOrder; 12] {
    let plain = PlaceOrder::plain(
        user,
        market,
        Wording { outcome: Outcome::Yes, side: Side::Buy },
        Tick::new(40).unwrap(),
        Lots::contracts(2),
    );
    let expires_at = Some(commands::after(commands::START, 9_999));
    let no = Wording { outcome: Outcome::No, side: Side::Sell };
    [
        plain.clone(),
        PlaceOrder { user: UserNo(2), ..plain.clone() },
        PlaceOrder { market: MarketNo(0), ..plain.clone() },
        // The same bet at the same price, stated on the other outcome.
        PlaceOrder { wording: no, price: plain.price.complement(), ..plain.clone() },
        PlaceOrder { price: Tick::new(41).unwrap(), ..plain.clone() },
        PlaceOrder { quantity: Lots::contracts(3), ..plain.clone() },
        PlaceOrder {
            time_in_force: TimeInForce::GoodTillCancelled { expires_at },
            ..plain.clone()
        },
        PlaceOrder { self_trade: SelfTradePrevention::CancelMaker, ..plain.clone() },
        PlaceOrder { condition: Condition::PostOnly, ..plain.clone() },
        PlaceOrder { copy_from: Some(UserNo(0)), ..plain.clone() },
        PlaceOrder { client_order_id: Token::new("a").map(Box::new), ..plain.clone() },
        PlaceOrder { client_order_id: Token::new("b").map(Box::new), ..plain },
    ]
}

/// Commands possible in the same state, each differing from another in one thing.
fn commands_alike() -> Vec<Command> {
    let (user, market) = (UserNo(1), MarketNo(1));
    let key = |role, byte| Command::AddKey {
        user,
        role,
        label: String::new(),
        hash: KeyHash([byte; 32]),
        ends: None,
    };
    let deadline = |ms| Some(commands::after(commands::START, ms));
    let mut alike: Vec<Command> =
        orders_alike(user, market).into_iter().map(Command::PlaceOrder).collect();
    alike.extend([
        Command::Heartbeat { user, timeout_seconds: 5, group: None },
        Command::Heartbeat { user, timeout_seconds: 6, group: None },
        Command::Heartbeat { user: UserNo(2), timeout_seconds: 5, group: None },
        Command::SetVenueMode { mode: TradingMode::CancelOnly },
        Command::SetVenueMode { mode: TradingMode::ReadOnly },
        Command::SetUserMode { user, mode: TradingMode::CancelOnly },
        Command::SetUserMode { user, mode: TradingMode::ReadOnly },
        Command::SetUserMode { user: UserNo(2), mode: TradingMode::ReadOnly },
        Command::SetExposureLimit { user, limit: Some(Money::ZERO) },
        Command::SetExposureLimit { user, limit: Some(Money::new(1)) },
        Command::AdvanceClock,
        Command::ResolveMarket { market, winner: Outcome::Yes },
        Command::ResolveMarket { market, winner: Outcome::No },
        Command::VoidMarket { market, price: SettlementPrice::HALF },
        Command::SuspendMarket { market },
        Command::CloseMarket { market },
        key(Role::Trader, 1),
        key(Role::Operator, 1),
        key(Role::Reader, 2),
        Command::RevokeKey { user: UserNo(0), key: KeyNo(0) },
        Command::Deposit { user, amount: Money::new(1) },
        Command::Deposit { user: UserNo(2), amount: Money::new(1) },
        Command::CreateMarket(Box::new(commands::draft(TimeMs::MAX, 0, commands::fees_of(2)))),
        Command::CreateMarket(Box::new(commands::draft(TimeMs::MAX, 1, commands::fees_of(0)))),
        commands::create_event(false),
        commands::create_event(true),
        Command::CreateCategory(CategoryDraft { name: String::new(), slug: "a".to_owned() }),
        Command::CreateCategory(CategoryDraft { name: String::new(), slug: "b".to_owned() }),
    ]);
    for ms in [500, 501] {
        let revision = MarketRevision { deadline: deadline(ms), ..MarketRevision::default() };
        alike.push(Command::ReviseMarket { market, revision: Box::new(revision) });
    }
    alike
}

/// Commands that differ in one thing must leave different digests.
#[test]
fn similar_commands_leave_different_digests() {
    let alike = commands_alike();
    let (mut before, _) = replay(&records(&[]));
    let first_key = Command::AddKey {
        user: UserNo(0),
        role: Role::Trader,
        label: String::new(),
        hash: KeyHash([0; 32]),
        ends: None,
    };
    let ask = |exchange: &mut Exchange, command: Command| {
        let sequence = exchange.sequence().next();
        let (effects, digest) = apply(
            exchange,
            &Record { sequence, time: commands::START, once: None, act: None, command },
        );
        assert!(!matches!(effects[..], [Effect::Refused(_)]), "{effects:?}");
        digest
    };
    ask(&mut before, first_key);
    let digests: Vec<StateDigest> =
        alike.iter().map(|command| ask(&mut before.clone(), command.clone())).collect();
    for (index, digest) in digests.iter().enumerate() {
        for (other, same) in digests.iter().enumerate().skip(index + 1) {
            assert_ne!(digest, same, "{:?} and {:?}", alike[index], alike[other]);
        }
    }
}
