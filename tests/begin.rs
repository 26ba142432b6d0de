//! Where a start begins a new venue, and where it refuses to: a misspelt path, variable or filter
//! must not look like success.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop

mod starting;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use exchange::command::{Command as Asked, Record};
use exchange::results::Results;
use exchange::rules::Rules;
use exchange::units::{Sequence, TimeMs};
use journal::Journal;
use journal::block::BlockBuilder;
use journal::directory::LogJournal;

/// Nobody has this address: a start that refuses nothing else ends here too, before it touches
/// anything.
const NOWHERE: &str = "192.0.2.1:1";

const KEY: &str = "begin-operator-key-0123456789abcdef-0xyz";

/// What a start that must fail says; nothing goes to its standard output.
fn fails(mut command: Command, code: i32) -> String {
    let output = command.args(["--listen", NOWHERE]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(code), Vec::new()), "{said}");
    said.lines().next().unwrap_or_default().to_owned()
}

/// The lines that a start prints before it listens; then it is killed.
fn lines_of(mut command: Command) -> Vec<String> {
    command.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn().unwrap();
    let stdout = BufReader::new(process.stdout.take().unwrap());
    let lines = stdout.lines().map(Result::unwrap);
    let said = lines.take_while(|line| !line.starts_with("listening on")).collect();
    process.kill().unwrap();
    process.wait().unwrap();
    said
}

fn with(data: &Path, more: &[&str]) -> Command {
    let mut command = starting::plain();
    command.arg("--data").arg(data).args(more).env("OPENOUTCRY_OPERATOR_KEY", KEY);
    command
}

/// All paths below a folder.
fn below(folder: &Path) -> BTreeSet<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeSet::new() };
    let mut all = BTreeSet::new();
    for entry in entries {
        let path = entry.unwrap().path();
        all.extend(below(&path));
        all.insert(path);
    }
    all
}

#[test]
fn a_directory_without_a_venue_is_refused_unless_a_new_one_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("empty")).unwrap();
    fs::create_dir(path("others")).unwrap();
    fs::write(path("others/notes.txt"), "a disk of something else").unwrap();
    fs::create_dir(path("locked")).unwrap();
    fs::write(path("locked/lock"), "").unwrap();
    fs::create_dir_all(path("begun/journal")).unwrap();
    std::os::unix::fs::symlink(path("unmounted"), path("link")).unwrap();
    let before = below(dir.path());
    for name in ["missing", "no/parent", "empty", "others", "locked", "begun", "link"] {
        for more in [&[][..], &["--archive", "/nonexistent/archive"]] {
            let said = fails(with(&path(name), more), 1);
            assert!(said.contains("OPEN_MISSING") && said.contains("--init"), "{name}: {said}");
        }
        let mut no = with(&path(name), &[]);
        no.env("OPENOUTCRY_INIT", "false");
        assert!(fails(no, 1).contains("OPEN_MISSING"), "{name}");
    }
    // The same through the variable, which nobody has misspelt on purpose.
    let mut named = starting::plain();
    named.env("OPENOUTCRY_DATA", path("vneue"));
    assert!(fails(named, 1).contains("OPEN_MISSING"));
    let mut unclear = with(&path("missing"), &[]);
    unclear.env("OPENOUTCRY_INIT", "flase");
    assert!(fails(unclear, 2).contains("--init"));
    assert_eq!(below(dir.path()), before, "a refused start makes nothing");
    // With leave only the address is refused.
    for name in ["missing", "no/parent", "empty"] {
        assert!(fails(with(&path(name), &["--init"]), 1).contains("cannot listen"), "{name}");
        let mut yes = with(&path(name), &[]);
        yes.env("OPENOUTCRY_INIT", "true");
        assert!(fails(yes, 1).contains("cannot listen"), "{name}");
    }
    assert!(fails(with(&path("missing"), &["--demo"]), 2).contains("loopback"));
}

#[test]
fn a_venue_begins_once_and_then_opens_without_being_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("new/venue");
    assert_eq!(lines_of(with(&data, &["--init"])), Vec::<String>::new());
    let head = |data: &Path| {
        let (journal, _) = LogJournal::open_existing(data).unwrap();
        journal.head().sequence
    };
    let first = head(&data);
    assert!(first > Sequence::ZERO);
    for more in [&[][..], &["--init"]] {
        assert_eq!(lines_of(with(&data, more)), Vec::<String>::new());
        assert_eq!(head(&data), first, "the same venue");
    }
}

#[test]
fn the_default_directory_begins_only_when_asked_for_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let here = |more: &[&str]| {
        let mut command = starting::plain();
        command.current_dir(dir.path()).args(more).env("OPENOUTCRY_OPERATOR_KEY", KEY);
        command
    };
    assert!(fails(here(&[]), 1).contains("OPEN_MISSING: ./data"));
    assert_eq!(below(dir.path()), BTreeSet::new());
    lines_of(here(&["--init"]));
    assert_eq!(lines_of(here(&[])), Vec::<String>::new());
}

#[test]
fn a_variable_or_a_filter_that_means_nothing_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("venue");
    let (mut journal, _) = LogJournal::open(&data).unwrap();
    let mut builder = BlockBuilder::new(journal.head());
    let (sequence, command) = (Sequence::new(1), Asked::OpenVenue(Rules::current()));
    let record = Record { sequence, time: TimeMs::default(), once: None, act: None, command };
    assert!(builder.push(record).is_ok());
    journal.append(builder.build(Results::NONE).unwrap()).unwrap();
    drop(journal);
    for (name, value, says) in [
        ("OPENOUTCRY_ARCHIVES", "/backup", "did you mean OPENOUTCRY_ARCHIVE?"),
        ("OPENOUTCRY_OPERATOR_KEYS", "x", "did you mean OPENOUTCRY_OPERATOR_KEY?"),
        ("OPENOUTCRY_DTA", "", "did you mean OPENOUTCRY_DATA?"),
        ("OPENOUTCRY_LOG", "verbose", "`verbose`"),
        ("OPENOUTCRY_LOG", "info,openoutry::api=debug", "`openoutry::api=debug`"),
        ("OPENOUTCRY_LOG", "openoutcry::api=loud", "`openoutcry::api=loud`"),
    ] {
        let mut command = with(&data, &[]);
        command.env(name, value);
        let said = fails(command, 2);
        let named = if name == "OPENOUTCRY_LOG" { "--log" } else { name };
        assert!(said.contains(named) && said.contains(says), "{said}");
    }
    for (name, value) in [
        ("OPENOUTCRY", "openoutcry"),
        ("OPENOUTCRY_URL", "http://127.0.0.1:8080"),
        ("OPENOUTCRY_LOG", "warn,openoutcry::api=debug"),
    ] {
        let mut command = with(&data, &[]);
        command.env(name, value);
        fails(command, 1);
    }
}
