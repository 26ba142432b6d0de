//! Unit tests of `src/views/sign_ins.rs`.

use super::super::fixture::{ANN, BOB};
use super::*;
use exchange::units::Sequence;

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
