//! Unit tests of `src/cli/demo/history.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::cli::demo::{people::Person, stage};
use engine::Engine;
use engine::clock::{Clock, Timepiece};
use engine::start::{Options, start};
use exchange::command::Direction;
use exchange::effect::Effect;
use exchange::market::MarketStatus;
use exchange::units::LotsSum;
use journal::memory::MemoryJournal;
use journal::replay::{Replayer, replay};
use views::tape::Interval;

const NOW: i64 = 1_795_000_000_000;

/// A clock at the end of the past: by another one markets would close meanwhile.
#[derive(Debug)]
struct Stopped;

impl Timepiece for Stopped {
    fn calendar(&self) -> (TimeMs, bool) {
        (TimeMs::new(NOW).unwrap(), true)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Of a past that ended then, and nothing since.
fn engine(now: i64) -> Engine {
    let clock = Some(Clock::reading(Box::new(Stopped), TimeMs::new(NOW).unwrap()));
    start(written(now), Options { clock, ..Options::default() }).unwrap().engine()
}

fn written(now: i64) -> MemoryJournal {
    let mut journal = MemoryJournal::new();
    let now = TimeMs::new(now).unwrap();
    write(&mut journal, now, Pictures::at("http://x")).unwrap().unwrap();
    journal
}

#[test]
fn sixty_days_end_now_and_hold_what_a_replay_comes_to() {
    let journal = written(NOW);
    let mut replayer = Replayer::new();
    let (mut times, mut trades, mut refused) = (Vec::new(), BTreeMap::new(), 0_usize);
    replay(journal.read(Sequence::new(1)), &mut replayer, |record, effects| {
        times.push(record.time);
        for effect in effects {
            match effect {
                Effect::TradeMade(_) => *trades.entry(record.time.get() / DAY_MS).or_insert(0) += 1,
                Effect::Refused(_) => refused += 1,
                _ => {}
            }
        }
    })
    .unwrap();
    assert_eq!((times[0].get(), times.last().unwrap().get()), (NOW - SPAN_MS, NOW));
    assert!(times.is_sorted());
    assert!((50_000..150_000).contains(&times.len()), "{} records", times.len());
    assert!(refused * 100 < times.len(), "{refused} refused of {}", times.len());
    // Every day has trades, and the newest most.
    assert!((60..=61).contains(&trades.len()), "{trades:?}");
    assert!(trades.values().all(|count| *count >= 20), "{trades:?}");
    // Nothing is made or lost, and every invariant holds.
    replayer.exchange().check().unwrap();
}

#[test]
fn a_past_that_was_cut_short_is_finished_later_and_a_whole_one_is_left_alone() {
    let mut whole = written(NOW);
    let blocks: Vec<_> = whole.read(Sequence::new(1)).map(|block| block.unwrap()).collect();
    let later = TimeMs::new(NOW + DAY_MS).unwrap();
    for kept in [1, blocks.len() / 2] {
        let mut begun = MemoryJournal::new();
        for block in &blocks[..kept] {
            begun.append((**block).clone()).unwrap();
        }
        // The server may listen elsewhere meanwhile. All is made again from the same beginning.
        let made = write(&mut begun, later, Pictures::at("http://y")).unwrap();
        assert_eq!(made, Some(whole.head().sequence));
        assert_eq!(begun.head(), whole.head());
    }
    let head = *whole.head();
    assert_eq!(write(&mut whole, later, Pictures::at("http://x")).unwrap(), None);
    assert_eq!(*whole.head(), head);
}

#[test]
fn a_journal_of_another_kind_is_left_alone() {
    let mut journal = MemoryJournal::new();
    let now = TimeMs::new(NOW).unwrap();
    let mut scribe = Scribe::begin(&mut journal, None);
    scribe.tell(now, Command::OpenVenue(exchange::rules::Rules::current())).unwrap();
    let profile_pic = "http://x/pictures/people/ann.svg".to_owned();
    let user = Command::CreateUser { profile_name: "ann".to_owned(), profile_pic };
    scribe.tell(now, user).unwrap();
    scribe.end().unwrap();
    let head = *journal.head();
    assert_eq!(write(&mut journal, now, Pictures::at("http://x")).unwrap(), None);
    assert_eq!(*journal.head(), head);
}

/// The past begins at another hour of the day, so other people trade last.
#[test]
fn whenever_it_ends_each_open_book_has_both_sides() {
    for end in [NOW, 1_795_600_000_000, 1_795_602_345_678] {
        let engine = engine(end);
        let model = engine.read();
        let published = model.catalogue.markets_published();
        for row in published.filter(|row| row.status == MarketStatus::Active) {
            for side in [Direction::Up, Direction::Down] {
                assert!(model.depth.best(row.no, side).is_some(), "{end}: {:?} {side:?}", row.no);
            }
        }
    }
}

#[test]
fn markets_are_open_closed_decided_and_voided_and_the_open_ones_have_books_and_charts() {
    let engine = engine(NOW);
    let model = engine.read();
    stage::check(&model).unwrap();
    let mut statuses = BTreeMap::new();
    for row in model.catalogue.markets_created() {
        *statuses.entry(format!("{:?}", row.status)).or_insert(0) += 1;
    }
    let of = |status: MarketStatus| statuses.get(&format!("{status:?}")).copied().unwrap_or(0);
    assert_eq!(of(MarketStatus::Draft), 4, "{statuses:?}");
    assert_eq!(of(MarketStatus::Settled), 15, "{statuses:?}");
    assert_eq!(of(MarketStatus::Voided), 1, "{statuses:?}");
    assert_eq!(of(MarketStatus::Active), 45, "{statuses:?}");
    for row in model.catalogue.markets_published().filter(|r| r.status == MarketStatus::Active) {
        assert!(model.tape.trades_count(row.no) > 20, "{:?}", row.no);
        assert!(model.tape.volume(row.no) > LotsSum::default());
        let from = TimeMs::new(NOW - SPAN_MS).unwrap();
        let chart = model.tape.chart(row.no, Interval::Day, from, 100);
        let bars = chart.bars().unwrap().filter(|bar| bar.as_ref().unwrap().prices.is_some());
        assert!(bars.count() > 5, "{:?}", row.no);
    }
    for person in Person::all() {
        let key = model.accounts.key_by_hash(&person.key_hash()).unwrap();
        assert_eq!(key.role, person.role);
    }
    // One of each of those that exclude each other costs more than one, and brings less.
    let mut events = model.catalogue.events_published();
    let field = model.field(events.find(|row| row.draft.mutually_exclusive).unwrap()).unwrap();
    let one = Money::new(MONEY_PER_UNIT);
    let (bid, ask) = (field.bid.unwrap(), field.ask.unwrap());
    assert!(bid < one && ask > one, "{bid} {ask}");
}
