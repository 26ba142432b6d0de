//! Unit tests of `src/cli/demo/seed.rs`.

use std::collections::BTreeSet;

use super::*;
use crate::cli::demo::people::Person;
use crate::cli::demo::venue;
use exchange::catalogue::CategoryDraft;
use exchange::command::Direction;
use exchange::units::{MONEY_PER_UNIT, Money};

/// Asserts that the read model holds a complete demo.
fn assert_whole(engine: &Engine) {
    let model = engine.read();
    assert_eq!(model.catalogue.categories().len(), 11);
    let events = model.catalogue.events_created().count();
    assert_eq!((events, model.catalogue.events_published().count()), (13, 13));
    let markets = model.catalogue.markets_created().count();
    assert_eq!((markets, model.catalogue.markets_published().count()), (44, 40));

    let people = Person::all().map(|person| {
        let key = model.accounts.key_by_hash(&person.key_hash()).unwrap();
        assert_eq!(key.role, person.role);
        model.accounts.user(key.user).unwrap()
    });
    for user in people {
        let trader = *user.profile_name != *OPERATOR.name;
        assert_eq!(*user.profile_pic == *OPERATOR.picture(), !trader);
        assert!(user.balance.available > Money::ZERO);
        assert_eq!(model.positions.count(user.no), usize::from(trader));
        assert_eq!(model.orders.count(user.no), 2 * usize::from(trader));
        assert_eq!(model.orders.open_of(user.no).count(), usize::from(trader));
    }
    let names = model.accounts.users_newest_first().map(|user| user.profile_name.clone());
    assert_eq!(names.collect::<BTreeSet<_>>().len(), model.accounts.users_count());

    let traded = model.catalogue.markets_published();
    let traded = traded.filter(|row| model.depth.last_trade(row.no).is_some());
    let mut books = 0;
    for row in traded {
        let levels = |direction| model.depth.levels(row.no, direction).count();
        let (bids, asks) = (levels(Direction::Up), levels(Direction::Down));
        assert!(bids >= 3 && asks >= 3, "{:?}: {bids} bids, {asks} asks", row.no);
        books += 1;
    }
    assert_eq!(books, BOOKS);

    // An event of mutually exclusive markets is quoted consistently: buying no contracts of two of
    // them leaves a user able to convert them.
    let mut events = model.catalogue.events_published();
    let event = events.find(|row| row.draft.mutually_exclusive).unwrap();
    let field = model.field(event).unwrap();
    let (bid, ask) = (field.bid.unwrap(), field.ask.unwrap());
    let one = Money::new(MONEY_PER_UNIT);
    assert!(event.markets.len() >= 3 && bid < one && ask > one, "{bid} {ask}");
}

/// Markets in which recorded flow was played.
const BOOKS: usize = 13;

#[test]
fn an_empty_venue_becomes_the_demo_and_is_then_left_alone() {
    let engine = venue();
    assert!(!is_a_demo(&engine.read()));
    let Seeded::Made { commands_played, markets_past } = seed(&engine).unwrap() else {
        panic!("not empty")
    };
    assert!(is_a_demo(&engine.read()));
    assert_eq!((commands_played, markets_past), (19_263, 0));
    assert_whole(&engine);

    let sequence = engine.read().watermark();
    assert_eq!(seed(&engine).unwrap(), Seeded::Already);
    assert_eq!(engine.read().watermark(), sequence);
}

#[test]
fn a_start_cut_short_anywhere_is_finished_by_the_next() {
    let records = script::records().unwrap();
    let last = records.len() - 1;
    // Without its operator, within the catalogue, within the books, and before the last key.
    for journaled in [4, 60, 9_000, last] {
        let engine = venue();
        let first = engine.read().watermark();
        let own = &records[OF_EVERY_START..journaled];
        for record in own {
            // In a memory journal without a due clock, numbers are the script's.
            assert_eq!(engine.ask(record.command.clone()).unwrap().sequence(), record.sequence);
        }
        engine.ask(Command::AdvanceClock).unwrap();
        assert!(is_a_demo(&engine.read()), "{first}");
        let Seeded::Made { commands_played, .. } = seed(&engine).unwrap() else {
            panic!("{journaled}")
        };
        assert_eq!(commands_played, records.len() - journaled);
        assert_whole(&engine);
    }
}

#[test]
fn what_another_version_began_is_not_mixed_up() {
    let engine = venue();
    let (profile_name, profile_pic) = (OPERATOR.name.to_owned(), OPERATOR.picture());
    engine.ask(Command::CreateUser { profile_name, profile_pic }).unwrap();
    let draft = CategoryDraft { name: "Rain".to_owned(), slug: "rain".to_owned() };
    let of = engine.ask(Command::CreateCategory(draft)).unwrap().sequence();
    assert!(matches!(seed(&engine), Err(SeedError::OfAnother(sequence)) if sequence == of));
    assert_eq!(engine.watermark(), of);
}

#[test]
fn a_market_whose_deadline_has_passed_is_left_out_with_all_that_is_about_it() {
    let records = script::records().unwrap();
    let markets = records.iter().filter_map(|record| match &record.command {
        Command::CreateMarket(draft) => Some((record, draft.deadline)),
        _ => None,
    });
    let markets: Vec<_> = markets.collect();
    let first_to_end = markets.iter().map(|(_, deadline)| *deadline).min().unwrap();
    let mut seeding = Seeding::default();
    let made = markets.iter().map(|(record, _)| seeding.note(record, Sequence::ZERO, first_to_end));
    let made: Vec<bool> = made.collect();
    assert!(made.contains(&false) && made.contains(&true));
    let numbers = seeding.markets.iter().flatten().map(|market| market.0);
    assert!(numbers.eq(0..u32::try_from(made.iter().filter(|made| **made).count()).unwrap()));
    for (made, number) in made.into_iter().zip(0..) {
        let publish = Command::PublishMarket { market: MarketNo(number) };
        assert_eq!(seeding.numbered(&publish).is_some(), made);
    }
}

#[test]
fn a_venue_that_is_not_a_demo_is_not_touched() {
    let stranger = Command::CreateUser {
        profile_name: OPERATOR.name.to_owned(),
        profile_pic: "https://example.org/olga.png".to_owned(),
    };
    let draft = CategoryDraft { name: "Rain".to_owned(), slug: "rain".to_owned() };
    for command in [stranger, Command::CreateCategory(draft)] {
        let engine = venue();
        engine.ask(command).unwrap();
        let sequence = engine.read().watermark();
        assert!(matches!(seed(&engine), Err(SeedError::NotADemo)));
        assert_eq!(engine.read().watermark(), sequence);
    }
}

#[test]
fn a_revoked_key_stays_revoked() {
    let engine = venue();
    seed(&engine).unwrap();
    let key = engine.read().accounts.key_by_hash(&TRADERS[3].key_hash()).unwrap().no;
    let user = engine.read().accounts.key(key).unwrap().user;
    engine.ask(Command::RevokeKey { user, key }).unwrap();
    assert_eq!(seed(&engine).unwrap(), Seeded::Already);
    assert!(engine.read().accounts.key_by_hash(&TRADERS[3].key_hash()).is_none());
}
