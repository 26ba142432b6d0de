//! Unit tests of `src/journal/portable.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;
use crate::Journal;
use crate::block::BlockBuilder;
use crate::memory::MemoryJournal;
use exchange::command::{Command, Record};
use exchange::results::Results;
use exchange::units::{Sequence, TimeMs};

fn journal() -> MemoryJournal {
    let mut journal = MemoryJournal::new();
    journal.append(block_of(1, journal.head(), 10)).unwrap();
    journal
}

fn exported(path: &Path, on_block: impl FnMut(&Block)) -> Result<Head, ExportError> {
    let journal = journal();
    export_as(Form::Plain, journal.read(Head::START.sequence.next()), path, on_block)
}

#[test]
fn a_file_made_during_an_export_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let outcome = exported(&path, |_| fs::write(&path, "another's").unwrap());
    let Err(ExportError::File(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), b"another's");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no remainder");
}

/// A crash can leave a finished file with both names.
#[test]
fn a_remainder_that_is_another_name_of_a_file_is_not_written_to() {
    let dir = tempfile::tempdir().unwrap();
    let (path, moved) = (dir.path().join("j"), dir.path().join("moved"));
    fs::write(&moved, "finished").unwrap();
    fs::hard_link(&moved, dir.path().join("j.partial")).unwrap();
    assert_eq!(exported(&path, |_| ()).unwrap(), *journal().head());
    assert_eq!(fs::read(&moved).unwrap(), b"finished");
    assert_eq!(fs::read(&path).unwrap(), block_of(1, &Head::START, 10).bytes());
}

#[test]
fn two_exports_to_one_file_do_not_pass_for_one() {
    let dir = tempfile::tempdir().unwrap();
    let (path, partial) = (dir.path().join("j"), dir.path().join("j.partial"));
    let outcome = exported(&path, |_| {
        fs::remove_file(&partial).unwrap();
        fs::write(&partial, "half").unwrap();
    });
    assert!(matches!(outcome, Err(ExportError::File(_))), "{outcome:?}");
    assert!(!path.exists());
}

/// A block of so many records, each with a text of `text_bytes`.
fn block_of(records: u64, head: &Head, text_bytes: usize) -> Block {
    let mut builder = BlockBuilder::new(head);
    for number in 1..=records {
        let name = "x".repeat(text_bytes);
        let command = Command::CreateUser { profile_name: name, profile_pic: String::new() };
        let sequence = Sequence::new(head.sequence.get() + number);
        let time = TimeMs::default();
        builder.push(Record { sequence, time, once: None, act: None, command }).unwrap();
    }
    builder.build(Results::NONE).unwrap()
}
