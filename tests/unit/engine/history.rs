//! Unit tests of `src/engine/history.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use std::fs;

use super::*;
use exchange::results::{ResultsHash, StateDigest};
use exchange::units::TimeMs;
use journal::block::ChainHash;
use views::history::Kind;

fn point(sequence: u64) -> Point {
    Point {
        sequence: Sequence::new(sequence),
        time: TimeMs::default(),
        chain: ChainHash([7; 32]),
        state: StateDigest([0; 32]),
        results: ResultsHash([0; 32]),
    }
}

#[test]
fn after_a_failed_sync_nothing_is_vouched_for_until_all_is_made_anew() {
    // By `vouch`, or by the background thread.
    let vouch = |history: &HistoryStore| drop(history.vouch(&point(2)));
    let tidy = |history: &HistoryStore| {
        history.stored.unsynced.store(SYNC_EVERY_BYTES, Ordering::Release);
        history.stored.tidy();
    };
    let write_out = |history: &HistoryStore| {
        history.stored.unwritten.store(WRITE_OUT_EVERY_BYTES, Ordering::Release);
        history.stored.pages.while_unwritten(|| history.stored.tidy());
    };
    let ways: [fn(&HistoryStore); 3] = [vouch, tidy, write_out];
    for fails in ways {
        let data = tempfile::tempdir().unwrap();
        let history = HistoryStore::open(data.path()).unwrap();
        let key = PageKey { kind: Kind::Orders, owner: 1, page: 1 };
        PageStorage::put(&*history.stored, key, b"page".to_vec());
        history.vouch(&point(1)).unwrap();
        assert!(history.vouches(&point(1)) && !history.vouches(&point(2)));

        history.stored.pages.while_unsynced(|| fails(&history));
        // The disk works again, and reports that everything is written.
        for sequence in 2..4 {
            let vouched = history.vouch(&point(sequence));
            assert!(matches!(vouched, Err(NotVouched::Failed)), "{vouched:?}");
            assert!(!history.vouches(&point(sequence)));
        }
        // Pages put before are still found.
        assert_eq!(PageStorage::get(&*history.stored, key), Ok(Some(b"page".to_vec())));
        history.close();
        drop(history);

        let history = HistoryStore::open(data.path()).unwrap();
        assert!((1..5).all(|sequence| !history.vouches(&point(sequence))));
        assert_eq!(PageStorage::get(&*history.stored, key), Ok(None));
        history.vouch(&point(4)).unwrap();
        assert!(history.vouches(&point(4)));
    }
}

/// It may be sound, and a start that can read it again has nothing to replay.
#[test]
fn history_that_the_system_does_not_let_be_read_is_not_taken_away() {
    let data = tempfile::tempdir().unwrap();
    HistoryStore::open(data.path()).unwrap().close();
    let pages = PageStore::folder(data.path()).join("pages");
    let kept = pages.with_extension("kept");
    fs::rename(&pages, &kept).unwrap();
    fs::create_dir(&pages).unwrap();
    let error = HistoryStore::open(data.path()).unwrap_err();
    let folder = PageStore::folder(data.path());
    assert!(error.what.contains(folder.to_str().unwrap()), "{error}");
    assert!(kept.exists() && pages.exists());
}

/// A full disk, for instance: what is wrong with it is said, and not only what is with history.
#[test]
fn damaged_history_that_cannot_be_removed_says_both() {
    let data = tempfile::tempdir().unwrap();
    HistoryStore::open(data.path()).unwrap().close();
    let folder = PageStore::folder(data.path());
    fs::write(folder.join("pages"), [0; 64]).unwrap();
    // The sign that it is being removed cannot be made.
    std::os::unix::fs::symlink("nowhere/at all", folder.join("damaged")).unwrap();
    let error = HistoryStore::open(data.path()).unwrap_err();
    let said = "of another format; it cannot be removed: No such file or directory";
    assert!(error.what.contains(said), "{error}");
}

#[test]
fn the_thread_that_stores_finds_no_fault_in_what_was_closed() {
    let data = tempfile::tempdir().unwrap();
    let history = HistoryStore::open(data.path()).unwrap();
    history.close();
    history.stored.drain();
    history.stored.unsynced.store(SYNC_EVERY_BYTES, Ordering::Release);
    history.stored.tidy();
    history.stored.unwritten.store(WRITE_OUT_EVERY_BYTES, Ordering::Release);
    history.stored.tidy();
    assert!(!history.stored.failed.load(Ordering::Acquire));
    assert!(!PageStore::is_damaged(data.path()));
}

const fn key(page: u64) -> PageKey {
    PageKey { kind: Kind::Orders, owner: 1, page }
}

fn get(history: &HistoryStore, page: u64) -> Option<Vec<u8>> {
    PageStorage::get(&*history.stored, key(page)).unwrap()
}

#[test]
fn a_page_is_found_on_its_way_and_once_it_is_stored() {
    let data = tempfile::tempdir().unwrap();
    let history = HistoryStore::open(data.path()).unwrap();
    for page in 0..64 {
        PageStorage::put(&*history.stored, key(page), vec![7; 1 << 17]);
        assert!(history.stored.waiting.lock().new_bytes <= WAITING_BYTES_MAX);
        assert_eq!(get(&history, page), Some(vec![7; 1 << 17]));
    }
    history.stored.drain();
    assert!(history.stored.waiting.lock().new.is_empty());
    assert!((0..64).all(|page| get(&history, page) == Some(vec![7; 1 << 17])));
    assert_eq!(get(&history, 64), None);
}

#[test]
fn what_could_not_be_stored_is_found_within_a_bound() {
    let data = tempfile::tempdir().unwrap();
    let history = HistoryStore::open(data.path()).unwrap();
    PageStorage::put(&*history.stored, key(0), b"here".to_vec());
    history.stored.drain();
    // Another page of that name: the store is not that of this journal.
    PageStorage::put(&*history.stored, key(0), b"other".to_vec());
    history.stored.drain();
    assert!(history.has_failed());
    let pages = 2 * (UNSTORED_BYTES_MAX >> 20) as u64;
    for page in 1..pages {
        PageStorage::put(&*history.stored, key(page), vec![0; 1 << 20]);
    }
    history.stored.drain();
    assert!(history.stored.waiting.lock().new_bytes <= UNSTORED_BYTES_MAX);
    let found = (1..pages).filter(|page| get(&history, *page).is_some()).count();
    assert_eq!(found, (UNSTORED_BYTES_MAX >> 20) - 1);
}
