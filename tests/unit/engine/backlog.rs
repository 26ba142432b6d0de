//! Unit tests of `src/engine/backlog.rs`.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use views::history::Kind;

#[derive(Default)]
struct FakeStore(Mutex<Vec<(PageKey, Vec<u8>)>>, AtomicBool);

impl Store for FakeStore {
    fn store(&self, pages: &Pages) -> bool {
        let fails = self.1.load(Ordering::Acquire);
        if !fails {
            self.0.lock().extend(pages.iter().map(|(key, page)| (*key, page.to_vec())));
        }
        !fails
    }

    fn tidy(&self) {}
}

const fn key(page: u64) -> PageKey {
    PageKey { kind: Kind::Orders, owner: 1, page }
}

#[test]
fn a_page_is_found_on_its_way_and_stored_as_it_was_last() {
    let backlog = Backlog::start(FakeStore::default());
    for (page, bytes) in [(1, "a"), (2, "b"), (1, "c")] {
        backlog.put(key(page), bytes.into());
        let found = backlog.get(key(page)).or_else(|| {
            let stored = backlog.store().0.lock();
            stored.iter().rev().find(|(other, _)| *other == key(page)).map(|(_, b)| b.clone())
        });
        assert_eq!(found.as_deref(), Some(bytes.as_bytes()));
    }
    assert_eq!(backlog.get(key(3)), None);
    backlog.drain();
    assert_eq!((backlog.get(key(1)), backlog.get(key(2))), (None, None));
    let stored = backlog.store().0.lock();
    let last = |page| stored.iter().rev().find(|(other, _)| *other == key(page));
    assert_eq!(last(1).map(|(_, bytes)| &bytes[..]), Some(&b"c"[..]));
    assert_eq!(last(2).map(|(_, bytes)| &bytes[..]), Some(&b"b"[..]));
}

#[test]
fn what_could_not_be_stored_is_found_until_it_is_stored_anew() {
    let backlog = Backlog::start(FakeStore::default());
    let fails = |fails| backlog.store().1.store(fails, Ordering::Release);
    let put = |number, bytes: &str| {
        backlog.put(key(number), bytes.into());
        backlog.drain();
    };
    fails(true);
    put(1, "a");
    put(2, "b");
    put(1, "c");
    assert_eq!(backlog.get(key(1)).as_deref(), Some(b"c".as_slice()));
    assert_eq!(backlog.get(key(2)).as_deref(), Some(b"b".as_slice()));
    // The newer page is in the store; the older, unstored one must not hide it.
    fails(false);
    put(1, "d");
    assert_eq!((backlog.get(key(1)), backlog.get(key(2))), (None, Some(b"b".to_vec())));
    assert_eq!(backlog.store().0.lock().as_slice(), [(key(1), b"d".to_vec())]);
    assert_eq!(backlog.waiting.lock().unstored_bytes, 1);
}

#[test]
fn what_could_not_be_stored_is_bounded() {
    let backlog = Backlog::start(FakeStore::default());
    backlog.store().1.store(true, Ordering::Release);
    let page = vec![0; 1 << 20];
    for number in 0..2 * (UNSTORED_BYTES_MAX >> 20) as u64 {
        backlog.put(key(number), page.clone());
    }
    backlog.drain();
    let waiting = backlog.waiting.lock();
    assert_eq!(waiting.unstored_bytes, UNSTORED_BYTES_MAX);
    assert_eq!(waiting.unstored.len(), UNSTORED_BYTES_MAX >> 20);
}

#[test]
fn what_waits_is_bounded() {
    let backlog = Backlog::start(FakeStore::default());
    let page = vec![0; 1 << 20];
    for number in 0..64 {
        backlog.put(key(number), page.clone());
        assert!(backlog.waiting.lock().new_bytes <= WAITING_BYTES_MAX);
    }
    backlog.drain();
    assert_eq!(backlog.store().0.lock().len(), 64);
}
