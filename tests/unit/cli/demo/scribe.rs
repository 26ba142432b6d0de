//! Unit tests of `src/cli/demo/scribe.rs`.

use super::*;
use exchange::catalogue::MarketDraft;
use exchange::ids::MarketNo;
use exchange::market::MarketStatus;
use exchange::rules::Rules;
use journal::memory::MemoryJournal;
use journal::replay::{Replayer, replay};

fn at(ms: i64) -> TimeMs {
    TimeMs::new(ms).unwrap()
}

fn told(journal: &mut dyn Journal, users: usize) -> Result<Sequence, SeedError> {
    let first = journal.read(Sequence::new(1)).next().map(|block| block.unwrap().hash());
    let mut scribe = Scribe::begin(journal, first);
    scribe.tell(at(1_000), Command::OpenVenue(Rules::current()))?;
    scribe.tell(at(1_000), Command::CreateMarket(Box::new(MarketDraft::plain(at(5_000)))))?;
    scribe.tell(at(1_000), Command::PublishMarket { market: MarketNo(0) })?;
    for user in 0..users {
        let (profile_name, profile_pic) = (format!("ann{user}"), "http://x/a".repeat(20));
        scribe.tell(at(9_000), Command::CreateUser { profile_name, profile_pic })?;
    }
    scribe.end()
}

#[test]
fn what_is_due_happens_at_its_own_time_and_a_replay_agrees() {
    let mut journal = MemoryJournal::new();
    assert_eq!(told(&mut journal, 400).unwrap().get(), 404);
    let mut replayer = Replayer::new();
    let mut clocks = Vec::new();
    let head = replay(journal.read(Sequence::new(1)), &mut replayer, |record, _| {
        if record.command == Command::AdvanceClock {
            clocks.push((record.sequence.get(), record.time));
        }
    });
    assert_eq!(head.unwrap(), *journal.head());
    assert_eq!(clocks, [(4, at(5_000))]);
    let market = replayer.exchange().market(MarketNo(0)).unwrap();
    assert_eq!(market.status, MarketStatus::Closed);
    assert!(replayer.confirmed() > Sequence::new(4), "blocks record results");
}

#[test]
fn what_was_begun_is_finished_and_what_differs_is_refused() {
    let mut whole = MemoryJournal::new();
    told(&mut whole, 400).unwrap();
    let blocks: Vec<_> = whole.read(Sequence::new(1)).map(|block| block.unwrap()).collect();
    assert!(blocks.len() > 2);
    for kept in 1..=blocks.len() {
        let mut begun = MemoryJournal::new();
        for block in &blocks[..kept] {
            begun.append((**block).clone()).unwrap();
        }
        told(&mut begun, 400).unwrap();
        assert_eq!(begun.head(), whole.head(), "{kept}");
    }
    // One that ends before what is there, and one that begins otherwise.
    let longer = told(&mut whole, 399);
    assert!(matches!(longer, Err(SeedError::OfAnother(_))), "{longer:?}");
    let mut other = MemoryJournal::new();
    let mut scribe = Scribe::begin(&mut other, None);
    scribe.tell(at(1_001), Command::OpenVenue(Rules::current())).unwrap();
    scribe.end().unwrap();
    let head = *other.head();
    assert!(matches!(told(&mut other, 400), Err(SeedError::NotADemo)));
    assert_eq!(*other.head(), head);
}
