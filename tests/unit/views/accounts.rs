//! Unit tests of `src/views/accounts.rs`.

use super::super::fixture::*;
use super::*;
use exchange::units::Sequence;

const HASH: KeyHash = KeyHash([7; 32]);

fn added(key: u32, hash: KeyHash) -> Effect {
    let (role, label) = (Role::Trader, "laptop".to_owned());
    Effect::KeyAdded { user: BOB, key: KeyNo(key), role, label, hash, ends: None }
}

#[test]
fn an_id_leads_to_its_user_only_if_all_of_it_is_right() {
    let mut accounts = Accounts::default();
    for (sequence, no) in [(4, 0), (9, 1), (12, 2)] {
        assert_eq!(fold(&mut accounts, sequence, &[user(UserNo(no))]), 0);
    }
    let id = UserId::derive(at(9), Sequence::new(9), 0);
    assert_eq!(accounts.user_no(id), Some(UserNo(1)));
    let wrong_time = UserId::derive(at(8), Sequence::new(9), 0);
    assert_eq!(accounts.user_no(wrong_time), None);
    let newest: Vec<u32> = accounts.users_newest_first().map(|row| row.no.0).collect();
    assert_eq!(newest, [2, 1, 0]);
}

#[test]
fn a_revoked_key_opens_nothing_but_is_remembered() {
    let mut accounts: Accounts = opened();
    assert_eq!(fold(&mut accounts, 2, &[added(0, HASH)]), 0);
    assert_eq!(accounts.key_by_hash(&HASH).map(|key| key.user), Some(BOB));
    let revoked = Effect::KeyRevoked { user: BOB, key: KeyNo(0) };
    assert_eq!(fold(&mut accounts, 3, std::slice::from_ref(&revoked)), 0);
    assert!(accounts.key_by_hash(&HASH).is_none());
    let id = KeyId::derive(at(2), Sequence::new(2), 0);
    let row = accounts.key_no(id).and_then(|key| accounts.key(key)).unwrap();
    assert_eq!(row.revoked_at, Some(at(3)));
    let counts = |accounts: &Accounts| {
        [accounts.keys_in_force(BOB).count(), accounts.revoked_keys(BOB).count()]
    };
    assert_eq!(counts(&accounts), [0, 1]);

    // When the same hash is added again, it belongs to the new key; revoking the old one has no
    // effect on it.
    assert_eq!(fold(&mut accounts, 4, &[added(1, HASH)]), 0);
    assert_eq!(fold(&mut accounts, 5, &[revoked]), 0);
    assert_eq!(accounts.key_by_hash(&HASH).map(|key| key.no), Some(KeyNo(1)));
    assert_eq!(counts(&accounts), [1, 1]);
    let since = |moment| accounts.keys_given_since(BOB, at(moment));
    assert_eq!([1, 2, 3, 4].map(since), [2, 1, 1, 0]);
}

#[test]
fn the_last_word_of_a_record_on_an_account_is_the_truth() {
    let mut accounts: Accounts = opened();
    let says = |available, reserved| Effect::AccountChanged {
        user: ANN,
        available: Money::new(available),
        reserved: Money::new(reserved),
    };
    let deposited = Effect::Deposited { user: ANN, amount: Money::new(100) };
    assert_eq!(fold(&mut accounts, 2, &[deposited, says(100, 0), says(40, 60)]), 0);
    let balance = accounts.user(ANN).unwrap().balance;
    assert_eq!((balance.available.get(), balance.reserved.get()), (40, 60));
    assert_eq!(accounts.user(BOB).unwrap().balance, Balance::default());
}

#[test]
fn switches_stand_as_they_were_set_last() {
    let mut accounts: Accounts = opened();
    let (mode, limit) = (TradingMode::CancelOnly, Some(Money::new(5)));
    let effects = [
        Effect::VenueModeSet { mode: TradingMode::ReadOnly },
        Effect::UserModeSet { user: BOB, mode },
        Effect::ExposureLimitSet { user: BOB, limit },
        Effect::HeartbeatSet { user: BOB, until: Some(at(9)) },
    ];
    assert_eq!(fold(&mut accounts, 2, &effects), 0);
    let heartbeat = Heartbeat { until: Some(at(9)), expired: false };
    let standing = UserRestrictions { mode, exposure_limit: limit, heartbeat };
    assert_eq!(accounts.user(BOB).unwrap().standing, standing);
    assert_eq!(accounts.user(ANN).unwrap().standing, UserRestrictions::default());
    assert_eq!(accounts.venue_mode(), TradingMode::ReadOnly);
    assert_eq!(fold(&mut accounts, 3, &[Effect::HeartbeatExpired { user: BOB }]), 0);
    assert!(accounts.user(BOB).unwrap().standing.heartbeat.expired);
    let nobody = Effect::UserModeSet { user: UserNo(9), mode };
    assert_eq!(fold(&mut accounts, 4, &[nobody]), 1);
}

#[test]
fn numbers_that_skip_or_name_nobody_are_faults() {
    let mut accounts: Accounts = opened();
    let nobody = UserNo(9);
    let changed =
        Effect::AccountChanged { user: nobody, available: Money::ZERO, reserved: Money::ZERO };
    let revoked = Effect::KeyRevoked { user: BOB, key: KeyNo(0) };
    assert_eq!(fold(&mut accounts, 2, &[user(nobody), changed, revoked, added(1, HASH)]), 4);
    assert_eq!(accounts.users_count(), 2);
}
