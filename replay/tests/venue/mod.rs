//! Journals for tests, made in memory from scripts or commands and written as exported files; runs
//! the tool on them.

#![allow(dead_code)] // each test uses its part

use std::ffi::OsStr;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output};

use exchange::command::Record;
use exchange::script;
use exchange::units::Sequence;
use journal::block::BlockBuilder;
use journal::memory::MemoryJournal;
use journal::replay::{Replayer, replay};
use journal::{Journal, portable};

/// Writes records as an exported file with at most `each` records per block; each block stores the
/// results of all blocks before it.
pub fn export(records: impl IntoIterator<Item = Record>, each: usize, file: &Path) {
    let (mut journal, mut replayer) = (MemoryJournal::new(), Replayer::new());
    let mut records = records.into_iter();
    let mut next = records.next();
    while next.is_some() {
        let mut builder = BlockBuilder::new(journal.head());
        while let Some(record) = next.take_if(|_| builder.count() < each) {
            match builder.push(record) {
                Ok(()) => next = records.next(),
                Err(refill) => {
                    next = Some(refill.0);
                    break;
                }
            }
        }
        let block = journal.append(builder.build(replayer.results()).unwrap()).unwrap();
        replay(iter::once(Ok(block)), &mut replayer, |_, _| {}).unwrap();
    }
    portable::export(journal.read(Sequence::new(1)), file).unwrap();
}

/// Writes a script's records as an exported file with this name.
pub fn journal(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    export(script::parse(text).unwrap(), 4, &file);
    file
}

/// Runs the tool.
pub fn ask<A: AsRef<OsStr>>(arguments: &[A]) -> Output {
    let tool = env!("CARGO_BIN_EXE_openoutcry-replay");
    Process::new(tool).args(arguments).output().unwrap()
}

/// Runs a command on a journal; returns its exit code and its stdout without the journal's path.
pub fn run_on(question: &str, file: &Path, rest: &str) -> (i32, String) {
    let mut arguments = vec![question.to_owned(), file.to_str().unwrap().to_owned()];
    arguments.extend(rest.split_whitespace().map(str::to_owned));
    let output = ask(&arguments);
    let folder = format!("{}/", file.parent().unwrap().display());
    let text = String::from_utf8(output.stdout).unwrap().replace(&folder, "");
    (output.status.code().unwrap(), text)
}

/// Compares an answer with the file of that name in `tests/answers`. `UPDATE=1` rewrites the file;
/// read the difference before you keep it.
pub fn as_written(name: &str, answer: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, answer).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(answer, written, "{name}");
}
