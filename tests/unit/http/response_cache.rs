//! Unit tests of `src/http/response_cache.rs`.

use super::*;
use crate::auth::{Holder, Via};
use exchange::command::Role;
use exchange::ids::KeyNo;
use exchange::units::TimeMs;

#[test]
fn an_entry_is_found_under_its_key_until_its_content_changes() {
    let kept: VersionedCache<UserNo> = VersionedCache::default();
    let (ann, bob) = (UserNo(3), UserNo(4));
    // Another key with the same slot.
    let eve = UserNo(3 + u32::try_from(SLOTS).unwrap());
    let (then, now) = (Sequence::new(7), Sequence::new(9));
    assert_eq!(kept.find(ann, &then), None);
    kept.keep(ann, then, Arc::from(*b"ann's"));
    assert_eq!(kept.find(ann, &then).as_deref(), Some(&b"ann's"[..]));
    assert_eq!(
        (kept.find(ann, &now), kept.find(bob, &then), kept.find(eve, &then)),
        Default::default()
    );
    kept.keep(eve, then, Arc::from(*b"eve's"));
    assert_eq!((kept.find(ann, &then), kept.find(eve, &then).is_some()), (None, true));
}

#[test]
fn books_differ_in_all_parts_of_their_key() {
    let kept: VersionedCache<DepthKey> = VersionedCache::default();
    let changed = Sequence::new(1);
    let book = DepthKey { market: MarketNo(5), outcome: Outcome::Yes, levels: 10 };
    kept.keep(book, changed, Arc::from(*b"it"));
    let others = [
        DepthKey { market: MarketNo(5 + 128), ..book },
        DepthKey { outcome: Outcome::No, ..book },
        DepthKey { levels: 20, ..book },
    ];
    assert!(kept.find(book, &changed).is_some());
    assert!(others.iter().all(|other| kept.find(*other, &changed).is_none()));
}

const ANN: Holder =
    Holder { user: UserNo(1), via: Via::Key(KeyNo(1)), role: Role::Trader, ends: None };
const BOB: Holder =
    Holder { user: UserNo(2), via: Via::Key(KeyNo(2)), role: Role::Trader, ends: None };

/// Two hashes with the same slot.
const HASHES: [KeyHash; 2] = [KeyHash([7; 32]), {
    let mut hash = [7; 32];
    hash[31] = 8;
    KeyHash(hash)
}];

#[test]
fn a_holder_is_looked_up_again_once_any_key_has_changed() {
    let known = ResponseCaches::default();
    let (then, now) = (Sequence::new(3), Sequence::new(4));
    let [hash, other] = HASHES;
    assert_eq!(known.holders.find_or(hash, then, || Err("unknown")), Err("unknown"));
    assert_eq!(known.holders.find_or(hash, then, || Ok::<_, ()>(ANN)), Ok(ANN));
    assert_eq!(known.holders.find_or(hash, then, || Err("looked up")), Ok(ANN));
    assert_eq!(known.holders.find_or(hash, now, || Err("revoked")), Err("revoked"));
    assert_eq!(known.holders.find_or(other, then, || Ok::<_, ()>(BOB)), Ok(BOB));
    assert_eq!(known.holders.find_or(hash, then, || Err("looked up")), Err("looked up"));
}

#[test]
fn a_market_is_looked_up_until_it_is_known() {
    let known = ResponseCaches::default();
    let [one, other] = [1, 2].map(|no| MarketId::derive(TimeMs::default(), Sequence::new(no), 0));
    assert_eq!(known.market_nos.find_or(one, Sequence::ZERO, || Err("unknown")), Err("unknown"));
    assert_eq!(
        known.market_nos.find_or(one, Sequence::ZERO, || Ok::<_, ()>(MarketNo(7))),
        Ok(MarketNo(7))
    );
    assert_eq!(known.market_nos.find_or(one, Sequence::ZERO, || Err("looked up")), Ok(MarketNo(7)));
    assert_eq!(
        known.market_nos.find_or(other, Sequence::ZERO, || Err("looked up")),
        Err("looked up")
    );
}
