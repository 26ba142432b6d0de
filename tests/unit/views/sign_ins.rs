//! Unit tests of `src/views/sign_ins.rs`.

use super::super::fixture::{ANN, BOB};
use super::*;
use exchange::units::Sequence;

/// Names that differ in capital letters are of two people in old journals: each keeps its own.
#[test]
fn a_name_is_confusing_if_it_is_new_and_like_anothers() {
    let mut live = SignIns::default();
    let token = |name| Token::new(name).unwrap();
    for (user, name) in [(ANN, "Ann_Z"), (BOB, "ann_z"), (UserNo(2), "AnnZ")] {
        let identity = KeyHash([u8::try_from(user.0).unwrap(); 32]);
        let (role, password) = (Role::Trader, Password::vouched(identity));
        let effects = [Effect::PasswordSet { user, role, name: token(name), password }];
        let at = Applied { sequence: Sequence::new(1), time: TimeMs::default(), effects: &effects };
        live.see(&at, &effects[0]).unwrap();
    }
    let confusing = |name, user| live.confusing(token(name), user);
    for name in ["ann_z", "ANN_Z", "aNN_z", "Ann_Z", "annz"] {
        assert!(confusing(name, None), "{name}");
    }
    for name in ["ann_", "ann_zz", "ann-z", "ann", "z"] {
        assert!(!confusing(name, None), "{name}");
    }
    assert!(!confusing("Ann_Z", Some(ANN)) && !confusing("ann_z", Some(BOB)));
    assert!(confusing("ANN_Z", Some(ANN)) && confusing("Ann_Z", Some(BOB)));
    assert!(!confusing("ANNZ", Some(UserNo(2))));
    assert_eq!(live.named(token("ann_z")).map(|row| row.user), Some(BOB));
    assert!(live.named(token("ANN_Z")).is_none());
}

/// Two users invited by one hash: each can be found while the other's invitation comes and goes, as
/// after a restart, which knows the invitations and not their order.
#[test]
fn users_invited_by_one_hash_are_found_as_after_a_restart() {
    let (hash, now) = (KeyHash([7; 32]), TimeMs::default());
    let invited = |user, invitation, ends| {
        let role = Role::Trader;
        Effect::Invited { user, role, invitation, ends }
    };
    let mut live = SignIns::default();
    let mut see = |effect| {
        let effects = [effect];
        let at = Applied { sequence: Sequence::new(1), time: now, effects: &effects };
        live.see(&at, &effects[0]).unwrap();
        let rows = live.invitations.clone();
        let sizes = Sizes { users: 10, ..Sizes::default() };
        let restored = SignIns { invitations: rows, ..SignIns::default() };
        let restored = restored.with_indexes(sizes).unwrap();
        assert_eq!(live.invited, restored.invited);
        let found = live.invited(hash, now).map(|(user, _)| user);
        assert_eq!(found, restored.invited(hash, now).map(|(user, _)| user));
        found
    };
    assert_eq!(see(invited(BOB, hash, TimeMs::MAX)), Some(BOB));
    assert_eq!(see(invited(ANN, hash, TimeMs::MAX)), Some(ANN.min(BOB)));
    assert_eq!(see(invited(ANN, KeyHash([8; 32]), TimeMs::MAX)), Some(BOB));
    assert_eq!(see(invited(ANN, hash, now)), Some(BOB), "the other is over");
    assert_eq!(see(invited(BOB, KeyHash([9; 32]), TimeMs::MAX)), None);
}
