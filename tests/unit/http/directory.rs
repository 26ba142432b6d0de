//! Unit tests of `src/http/directory.rs`.

use super::*;
use exchange::units::TimeMs;

const ANN: Holder = Holder { user: UserNo(1), key: KeyNo(1), role: Role::Trader };
const BOB: Holder = Holder { user: UserNo(2), key: KeyNo(2), role: Role::Trader };

/// Two hashes with the same slot.
const HASHES: [KeyHash; 2] = [KeyHash([7; 32]), {
    let mut hash = [7; 32];
    hash[31] = 8;
    KeyHash(hash)
}];

#[test]
fn a_holder_is_looked_up_again_once_any_key_has_changed() {
    let directory = Directory::default();
    let (then, now) = (Sequence::new(3), Sequence::new(4));
    let [hash, other] = HASHES;
    assert_eq!(directory.holder(hash, then, || Err("unknown")), Err("unknown"));
    assert_eq!(directory.holder(hash, then, || Ok::<_, ()>(ANN)), Ok(ANN));
    assert_eq!(directory.holder(hash, then, || Err("looked up")), Ok(ANN));
    assert_eq!(directory.holder(hash, now, || Err("revoked")), Err("revoked"));
    assert_eq!(directory.holder(other, then, || Ok::<_, ()>(BOB)), Ok(BOB));
    assert_eq!(directory.holder(hash, then, || Err("looked up")), Err("looked up"));
}

#[test]
fn a_market_is_looked_up_until_it_is_known() {
    let directory = Directory::default();
    let [one, other] = [1, 2].map(|no| MarketId::derive(TimeMs::default(), Sequence::new(no), 0));
    assert_eq!(directory.market(one, || Err("unknown")), Err("unknown"));
    assert_eq!(directory.market(one, || Ok::<_, ()>(MarketNo(7))), Ok(MarketNo(7)));
    assert_eq!(directory.market(one, || Err("looked up")), Ok(MarketNo(7)));
    assert_eq!(directory.market(other, || Err("looked up")), Err("looked up"));
}
