//! Unit tests of `src/exchange/idempotency.rs`.

use super::*;
use crate::command::BodyHash;
use crate::rules::{Rules, USER_NAMES_SHARE, VENUE_NAMES_MAX};
use crate::units::Money;

const ANN: UserNo = UserNo(0);
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Applies a deposit that `caller` sends with this key.
fn deposit_with_key(exchange: &mut Exchange, caller: UserNo, key: &str, at_ms: i64) -> Vec<Effect> {
    let (key, body) = (Token::new(key).unwrap(), BodyHash([1; 32]));
    let record = Record {
        sequence: exchange.sequence().next(),
        time: TimeMs::new(at_ms).unwrap(),
        once: Some(Box::new(IdempotencyKey { caller, key, part: 0, body })),
        act: None,
        command: Command::Deposit { user: ANN, amount: Money::new(1) },
    };
    let mut effects = Vec::new();
    exchange.apply(&record, &mut effects).unwrap();
    effects
}

fn venue() -> Exchange {
    let mut exchange = Exchange::new();
    let user = || Command::CreateUser { profile_name: String::new(), profile_pic: String::new() };
    for command in [Command::OpenVenue(Rules::current()), user(), user()] {
        let sequence = exchange.sequence().next();
        let record = Record { sequence, time: TimeMs::default(), once: None, act: None, command };
        exchange.apply(&record, &mut Vec::new()).unwrap();
    }
    exchange
}

#[test]
fn a_user_at_the_name_limit_is_refused_new_names_until_old_ones_expire() {
    let mut exchange = venue();
    let refused = [Effect::Refused(Reject::TooManyNames)];
    assert!(deposit_with_key(&mut exchange, ANN, "first", 1).len() > 1);
    // As if she had given that many.
    exchange.idempotency.count_more(ANN, Rules::current().user_names_max - 1);
    assert_eq!(deposit_with_key(&mut exchange, ANN, "more", 2), refused);
    // Her earlier name is still valid, and other users are not affected.
    let first = Effect::Repeated { first: Sequence::new(4) };
    assert_eq!(deposit_with_key(&mut exchange, ANN, "first", 3), [first]);
    assert!(deposit_with_key(&mut exchange, UserNo(1), "more", 3).len() > 1);
    // Refused once more, but applying this record removes the first name.
    assert_eq!(deposit_with_key(&mut exchange, ANN, "more", DAY_MS + 1), refused);
    assert!(deposit_with_key(&mut exchange, ANN, "more", DAY_MS + 1).len() > 1);
    assert_eq!(exchange.idempotency.names_of(ANN), Rules::current().user_names_max);
}

/// The heaviest users fill a venue only as far as others still find room.
#[test]
fn a_venue_with_many_names_refuses_only_the_users_who_have_most() {
    let mut exchange = venue();
    let refused = [Effect::Refused(Reject::TooManyNames)];
    let (bob, room) = (UserNo(1), 150_000);
    exchange.idempotency.count_more(ANN, room);
    exchange.idempotency.count_more(bob, room - 2);
    let others = u32::try_from(VENUE_NAMES_MAX).unwrap() - 3 * room + 2;
    exchange.idempotency.count_more(UserNo(9), others);
    // Room for as many as Ann has, less one.
    assert_eq!(deposit_with_key(&mut exchange, ANN, "more", 1), refused);
    assert!(deposit_with_key(&mut exchange, bob, "last", 1).len() > 1);
    assert_eq!(deposit_with_key(&mut exchange, bob, "more", 2), refused);
    // In a full venue everybody has a share.
    let before = exchange.idempotency.names_of(bob);
    exchange.idempotency.count_more(UserNo(9), u32::try_from(VENUE_NAMES_MAX).unwrap());
    assert_eq!(deposit_with_key(&mut exchange, bob, "more", 2), refused);
    assert_eq!(exchange.idempotency.names_of(bob), before);
    let light = UserNo(7);
    exchange.idempotency.count_more(light, USER_NAMES_SHARE - 1);
    assert!(deposit_with_key(&mut exchange, light, "last", 3).len() > 1);
    assert_eq!(deposit_with_key(&mut exchange, light, "more", 3), refused);
    // Under the first version a venue with four million took 100,000 of each.
    let all = 4_000_000;
    let old = Rules { version: 1, ..Rules::current() };
    assert_eq!((old.names_max(all), old.names_max(all - 1)), (100_000, 1_000_000));
    assert_eq!(Rules::current().names_max(all), 1_000_000);
}

#[test]
fn names_are_counted_by_user_and_part_and_uncounted_when_removed() {
    let mut exchange = venue();
    for (key, part) in [("a", 0), ("a", 1), ("b", 0)] {
        let (key, body) = (Token::new(key).unwrap(), BodyHash([1; 32]));
        let record = Record {
            sequence: exchange.sequence().next(),
            time: TimeMs::default(),
            once: Some(Box::new(IdempotencyKey { caller: ANN, key, part, body })),
            act: None,
            command: Command::Deposit { user: ANN, amount: Money::new(1) },
        };
        exchange.apply(&record, &mut Vec::new()).unwrap();
    }
    assert_eq!(exchange.idempotency.names_of(ANN), 3);
    exchange.check().unwrap();
    let image = exchange.image().unwrap();
    let again = Exchange::from_image(&image).unwrap();
    assert_eq!(again.idempotency.names_of(ANN), 3);
    assert_eq!(again.image().unwrap(), image);
    let free = exchange.name_free_at(ANN).map(TimeMs::get);
    assert_eq!((free, again.name_free_at(ANN).map(TimeMs::get)), (Some(DAY_MS), Some(DAY_MS)));
    deposit_with_key(&mut exchange, UserNo(1), "c", DAY_MS);
    assert_eq!(
        (exchange.idempotency.names_of(ANN), exchange.idempotency.names_of(UserNo(1))),
        (0, 1)
    );
    exchange.check().unwrap();
}
