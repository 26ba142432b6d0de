//! Unit tests of `src/http/connection_slots.rs`.

use std::time::Duration;

use super::*;
use exchange::command::Role;
use exchange::ids::KeyNo;

/// Keys of which the first so many are revoked, each by a record.
struct FirstRevoked(u32);

impl Keys for FirstRevoked {
    fn changed(&self) -> Sequence {
        Sequence::new(self.0.into())
    }

    fn is_in_force(&self, via: Via) -> bool {
        matches!(via, Via::Key(key) if key.0 >= self.0)
    }
}

const ALL_GOOD: FirstRevoked = FirstRevoked(0);

/// Slots, and the seconds since they began.
struct Scene(ConnectionSlots, u64);

impl Scene {
    fn take(&self) -> Option<Granted> {
        self.0.take(Some(&ALL_GOOD), false)
    }

    /// A request with a key of this user's, a second after the last one.
    fn ask(&mut self, on: &Granted, user: u32, key: u32, role: Role) -> bool {
        self.1 += 1;
        let (as_of, keys_as_of) = (Sequence::ZERO, Sequence::ZERO);
        let (user, via) = (UserNo(user), Via::Key(KeyNo(key)));
        let caller = Caller { user, via, role, as_of, keys_as_of };
        let now = self.0.0.began + Duration::from_secs(self.1);
        on.slot.hold(&caller, now, &ALL_GOOD)
    }

    fn trader(&mut self, user: u32) -> Granted {
        let taken = self.take().unwrap();
        assert!(self.ask(&taken, user, user, Role::Trader));
        taken
    }

    fn traders(&mut self, user: u32, count: usize) -> Vec<Granted> {
        (0..count).map(|_| self.trader(user)).collect()
    }
}

fn scene(count: usize) -> Scene {
    Scene(ConnectionSlots::new(count), 0)
}

/// Which of them are evicted, forgetting those.
fn gone(all: &mut Vec<Granted>) -> Vec<usize> {
    let gone: Vec<usize> = (0..all.len()).filter(|at| all[*at].slot.is_evicted()).collect();
    let mut at = 0;
    all.retain_mut(|one| {
        at += 1;
        let evicted = one.evicted.try_recv().is_ok();
        assert_eq!(evicted, gone.contains(&(at - 1)), "its worker is told");
        !evicted
    });
    gone
}

#[test]
fn the_first_stranger_gives_way_and_nobody_loses_the_only_connection() {
    let mut scene = scene(3);
    let mut all: Vec<_> = (0..3).map(|_| scene.take().unwrap()).collect();
    assert!(scene.ask(&all[0], 1, 1, Role::Trader) && scene.ask(&all[0], 1, 1, Role::Trader));
    let fourth = scene.take().unwrap();
    let (second, evicted) = (Arc::clone(&all[1].slot), gone(&mut all));
    assert_eq!(evicted, [1]);
    assert!(!second.hold(&caller(2), Instant::now(), &ALL_GOOD), "it has no slot any more");
    drop(second);
    assert!(scene.ask(&all[1], 3, 3, Role::Trader) && scene.ask(&fourth, 4, 4, Role::Trader));
    assert!(scene.take().is_none(), "each is a user's only one");
    drop(fourth);
    assert!(scene.take().is_some());
}

fn caller(user: u32) -> Caller {
    let (as_of, keys_as_of) = (Sequence::ZERO, Sequence::ZERO);
    Caller { user: UserNo(user), via: Via::Key(KeyNo(user)), role: Role::Trader, as_of, keys_as_of }
}

#[test]
fn the_heaviest_users_least_recently_used_connection_gives_way() {
    let mut scene = scene(128);
    // Traders hold 120 of the slots, whatever the keys with which they come.
    let mut heavy = scene.traders(1, 100);
    for (at, one) in heavy.iter().enumerate() {
        assert!(scene.ask(one, 1, 1000 + u32::try_from(at % 32).unwrap(), Role::Trader));
    }
    let mut light = scene.traders(2, 20);
    assert_eq!((gone(&mut heavy), gone(&mut light)), (vec![], vec![]));
    assert!(scene.ask(&heavy[0], 1, 1, Role::Trader));
    light.extend(scene.traders(2, 2));
    assert_eq!((gone(&mut heavy), gone(&mut light)), (vec![1, 2], vec![]));
    // The heaviest gains nothing by more.
    heavy.extend(scene.traders(1, 3));
    assert_eq!((gone(&mut heavy), gone(&mut light)), (vec![1, 2, 3], vec![]));
    // At last all hold as many.
    let mut third = Vec::new();
    while heavy.len() > 40 {
        third.push(scene.trader(3));
        light.push(scene.trader(2));
        for one in [&mut heavy, &mut light, &mut third] {
            gone(one);
        }
    }
    let counts = [&heavy, &light, &third].map(Vec::len);
    assert_eq!((counts.iter().sum::<usize>(), counts.iter().max()), (120, Some(&40)));
}

/// However many traders there are, a health check and an operator find a slot, and keep it.
#[test]
fn a_reserve_is_left_to_strangers_and_operators() {
    let mut scene = scene(64);
    let traders: Vec<_> = (0..60).map(|user| scene.trader(user)).collect();
    let mut strangers: Vec<_> = (0..4).map(|_| scene.take().unwrap()).collect();
    let served = scene.take().unwrap();
    assert_eq!(gone(&mut strangers), [0]);
    assert!(scene.ask(&served, 99, 99, Role::Trader), "served as long as it lasts");
    let operator = scene.take().unwrap();
    assert!(scene.ask(&operator, 100, 100, Role::Operator));
    for _ in 0..40 {
        let next = scene.take().unwrap();
        strangers.push(next);
        gone(&mut strangers);
    }
    assert!(served.slot.is_evicted() && !operator.slot.is_evicted());
    assert!(traders.iter().all(|held| !held.slot.is_evicted()), "each is a user's only one");
}

/// Whoever comes in by the operators' entrance keeps the slot until a key is shown, whatever crowd
/// comes in elsewhere.
#[test]
fn a_crowd_elsewhere_does_not_take_the_slots_of_the_operators_entrance() {
    let scene = scene(64);
    let mut guests: Vec<_> = (0..3).map(|_| scene.0.take(Some(&ALL_GOOD), true).unwrap()).collect();
    let mut crowd = Vec::new();
    for _ in 0..200 {
        crowd.push(scene.take().unwrap());
        gone(&mut crowd);
    }
    assert_eq!((gone(&mut guests).len(), guests.len(), crowd.len()), (0, 3, 61));
}

/// Strangers cannot take what users hold, except beyond a user's share.
#[test]
fn strangers_give_way_to_each_other() {
    let mut scene = scene(256);
    let mut heavy = scene.traders(1, 240);
    let mut strangers = Vec::new();
    for _ in 0..600 {
        strangers.push(scene.take().unwrap());
        gone(&mut strangers);
        gone(&mut heavy);
    }
    assert_eq!((heavy.len(), strangers.len()), (239, 17));
    let mut operators = Vec::new();
    for number in 0..40 {
        let next = scene.take().unwrap();
        assert!(scene.ask(&next, 7, 7, Role::Operator), "{number}");
        operators.push(next);
        gone(&mut strangers);
        gone(&mut heavy);
    }
    assert_eq!(operators.iter().filter(|one| one.slot.is_evicted()).count(), 0);
}

#[test]
fn a_bad_key_or_a_revoked_one_takes_the_standing_away() {
    let mut scene = scene(32);
    // All the traders' slots, and all of the reserve.
    let mut held: Vec<_> = (50..80).map(|user| scene.trader(user)).collect();
    let mut strangers: Vec<_> = (0..2).map(|_| scene.take().unwrap()).collect();
    held[5].slot.disown();
    strangers.push(scene.take().unwrap());
    assert_eq!((gone(&mut held), gone(&mut strangers)), (vec![5], vec![]));
    // Disowned, and then a good key again.
    held[7].slot.disown();
    assert!(scene.ask(&held[7], 99, 99, Role::Trader));
    strangers.push(scene.take().unwrap());
    assert_eq!((gone(&mut held), gone(&mut strangers)), (vec![], vec![0]));
    // Keys below 53 are revoked: their idle connections give way before any stranger.
    for _ in 0..3 {
        strangers.push(scene.0.take(Some(&FirstRevoked(53)), false).unwrap());
    }
    assert_eq!((gone(&mut held), gone(&mut strangers)), (vec![0, 1, 2], vec![]));
    // The same where a trader needs a slot of the traders'.
    held.extend((90..94).map(|user| scene.trader(user)));
    assert!(gone(&mut held).is_empty());
}

#[test]
fn few_evicted_connections_are_open_at_once() {
    let mut scene = scene(CLOSING_MAX * 2);
    let mut silent: Vec<_> = (0..CLOSING_MAX * 2).map(|_| scene.take().unwrap()).collect();
    let newer: Vec<_> = (0..CLOSING_MAX).map(|_| scene.take().unwrap()).collect();
    assert!(scene.take().is_none());
    assert!(silent[CLOSING_MAX].evicted.try_recv().is_err(), "nor is one evicted for nothing");
    assert!(scene.ask(&silent[CLOSING_MAX], 1, 1, Role::Trader));
    drop(silent.remove(0));
    assert!(scene.take().is_some());
    drop(newer);
}

#[test]
fn nothing_is_left_of_connections_that_ended() {
    let mut scene = scene(64);
    for round in 0..1000 {
        let taken = scene.take().unwrap();
        let role = if round % 3 == 0 { Role::Operator } else { Role::Trader };
        assert!(round % 2 == 0 || scene.ask(&taken, round, round, role));
        if round % 5 == 0 {
            taken.slot.disown();
        }
    }
    let taken = scene.0.0.taken.lock();
    assert_eq!((taken.free, taken.traders), (64, 0));
    assert!(taken.strangers.is_empty() && taken.held.is_empty());
}
