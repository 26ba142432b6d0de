//! Folders that cannot hold a journal, and damaged ones: the server names the folder and the
//! cause. It exits 1, or 3 where another start would be refused too.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop

mod starting;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use exchange::command::{Command, Record};
use exchange::results::Results;
use exchange::rules::Rules;
use exchange::units::{Sequence, TimeMs};
use journal::Journal;
use journal::block::BlockBuilder;
use journal::directory::LogJournal;

/// Starts a server that must refuse to start with exit code 1; returns the last line of its error
/// output.
fn refused(folder: &Path) -> String {
    refused_with(1, folder)
}

fn refused_with(code: i32, folder: &Path) -> String {
    let output = starting::serve(folder).output().unwrap();
    let output_text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{output_text}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "no key is shown, nothing listens");
    assert!(!output_text.contains("panicked"), "{output_text}");
    let last = output_text.lines().last().unwrap().to_owned();
    let named = format!("openoutcry: {}: ", folder.display());
    let code = last.strip_prefix(&named).unwrap_or_else(|| panic!("{last}"));
    assert!(code.starts_with("OPEN_") || code.starts_with("RECOVERY_"), "{last}");
    println!("{last}");
    last
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, b"mine").unwrap();
    for folder in [file.clone(), file.join("venue"), "/proc/openoutcry/venue".into()] {
        refused(&folder);
    }
    assert_eq!(fs::read(&file).unwrap(), b"mine", "what stood there stands there");
}

#[test]
fn a_folder_where_a_file_should_be_is_named() {
    let dir = tempfile::tempdir().unwrap();
    // Where there is a marker there is a journal, and this one has no log.
    for (code, name) in [(1, "lock"), (3, "refused")] {
        let venue = dir.path().join(format!("with {name}"));
        fs::create_dir_all(venue.join(name)).unwrap();
        refused_with(code, &venue);
    }
    let venue = dir.path().join("with journal");
    fs::create_dir(&venue).unwrap();
    fs::write(venue.join("journal"), b"mine").unwrap();
    refused(&venue);
    assert_eq!(fs::read(venue.join("journal")).unwrap(), b"mine");
}

/// Whether permissions bind this process; root ignores them.
fn permissions_bind(dir: &Path) -> bool {
    let probe = dir.join("probe");
    fs::create_dir(&probe).unwrap();
    fs::set_permissions(&probe, Permissions::from_mode(0o000)).unwrap();
    fs::read_dir(&probe).is_err()
}

#[test]
fn a_folder_that_may_not_be_read_or_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    if !permissions_bind(dir.path()) {
        println!("skipped: permissions do not bind this user");
        return;
    }
    for mode in [0o000, 0o111, 0o444, 0o555] {
        let venue = dir.path().join(format!("mode {mode:o}"));
        fs::create_dir(&venue).unwrap();
        fs::set_permissions(&venue, Permissions::from_mode(mode)).unwrap();
        let output_text = refused(&venue);
        fs::set_permissions(&venue, Permissions::from_mode(0o755)).unwrap();
        assert!(output_text.to_lowercase().contains("permission denied"), "{output_text}");
    }
}

/// What may happen to a venue's files, and the code of the refusal after it.
type Damage = (&'static str, fn(&Path));

/// The open segment.
fn segment(venue: &Path) -> PathBuf {
    venue.join("journal/log/00000000000000000001.blocks")
}

fn overwrite(file: &Path) {
    let length = fs::read(file).unwrap().len();
    fs::write(file, vec![0xA5; length]).unwrap();
}

/// A process manager must be able to tell these from a full disk: what restarts the server must
/// not do it here.
#[test]
fn a_refused_journal_has_an_exit_code_of_its_own() {
    let damages: [Damage; 9] = [
        ("OPEN_LOST", |venue| fs::remove_dir_all(venue.join("journal")).unwrap()),
        ("OPEN_LOST", |venue| fs::remove_file(segment(venue)).unwrap()),
        ("OPEN_FILE_MISSING", |venue| fs::remove_file(venue.join("refused")).unwrap()),
        ("RECOVERY_MARKER", |venue| overwrite(&venue.join("refused"))),
        ("RECOVERY_BEYOND", |venue| overwrite(&segment(venue))),
        ("RECOVERY_SHORT", |venue| fs::write(segment(venue), b"short").unwrap()),
        ("RECOVERY_SHORT", |venue| fs::write(segment(venue), b"").unwrap()),
        ("OPEN_OLD", |venue| {
            fs::remove_dir_all(venue.join("journal/log")).unwrap();
            fs::write(venue.join("journal/db"), b"").unwrap();
        }),
        ("OPEN_UNFINISHED", |venue| fs::write(venue.join("importing"), b"").unwrap()),
    ];
    for (code, damage) in damages {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = LogJournal::open(dir.path()).unwrap();
        let mut block = BlockBuilder::new(journal.head());
        let (sequence, time) = (Sequence::new(1), TimeMs::default());
        let command = Command::OpenVenue(Rules::current());
        block.push(Record { sequence, time, once: None, act: None, command }).unwrap();
        journal.append(block.build(Results::NONE).unwrap()).unwrap();
        drop(journal);
        damage(dir.path());
        let last = refused_with(3, dir.path());
        assert!(last.contains(&format!(": {code}: ")), "{code}: {last}");
    }
}

#[test]
fn the_unit_does_not_restart_a_server_whose_journal_is_refused() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib/openoutcry.service");
    let unit = fs::read_to_string(unit).unwrap();
    assert!(unit.lines().any(|line| line == "RestartPreventExitStatus=3"), "{unit}");
}
