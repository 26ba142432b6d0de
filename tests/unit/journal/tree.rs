//! Unit tests of `src/journal/copy.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use std::fs;

use super::*;

const SHAPE: Shape = Shape { segment_bytes: 1 << 20, cache_bytes: 1 << 20 };

fn written(dir: &Path) {
    let db = open_sled(dir, SHAPE).unwrap();
    db.insert(b"a", b"1").unwrap();
    db.flush().unwrap();
}

/// sled takes an unfinished snapshot for its newest, and reports damage.
#[test]
fn what_an_interrupted_open_left_of_a_snapshot_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path());
    for cut in [0, 1, 17, 200] {
        let unfinished = dir.path().join("snap.FFFFFFFFFFFFFFFF.generating");
        fs::write(&unfinished, vec![7; cut]).unwrap();
        let db = open_sled(dir.path(), SHAPE).unwrap();
        assert_eq!(db.get(b"a").unwrap().unwrap(), b"1");
        assert!(!unfinished.exists());
    }
}

#[test]
fn settings_without_a_data_file_are_made_again() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(SETTINGS_FILE), b"seg").unwrap();
    written(dir.path());
}

/// sled panics on some damage.
#[test]
fn damage_is_an_error_and_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path());
    fs::write(dir.path().join(SETTINGS_FILE), b"these are no settings of sled").unwrap();
    assert!(open_sled(dir.path(), SHAPE).is_err_and(|error| error.damaged));
    assert!(caught(Step::Read, || -> sled::Result<()> { panic!("as sled does") }).is_err());
}

/// sled words the system's errors anew: a full disk stays one, and is no damage, for which the copy
/// would be made anew.
#[test]
fn a_full_disk_is_no_damage() {
    let full = io::Error::new(io::ErrorKind::StorageFull, "no space left on device");
    let told = store_io(Step::Flush, "the store".to_owned(), &full);
    assert!(told.by_system && !told.damaged);
    let else_wrong = store_io(Step::Read, "the store".to_owned(), &io::Error::other("crc"));
    assert!(!else_wrong.by_system && else_wrong.damaged);
}
