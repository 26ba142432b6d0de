//! Unit tests of `src/http/response_cache.rs`.

use super::*;

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
