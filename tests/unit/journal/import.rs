//! Unit tests of `src/journal/import.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;

#[test]
fn a_journal_made_just_before_the_lock_was_taken_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    assert!(claim(dir.path()).is_ok());
    drop(LogJournal::open(dir.path()).unwrap());
    assert!(matches!(claim(dir.path()), Err(ImportError::NotEmpty(_))));
}
