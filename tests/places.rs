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
use journal::sled::SledJournal;

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
    // Where there is a marker there is a journal, and this one has no witness.
    for (code, name) in [(1, "lock"), (3, "refused"), (1, "witness")] {
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

/// sled panics on a file with its first segment twice. The panic's own message is for developers;
/// an operator must get ours.
#[test]
fn a_panic_of_the_store_is_reported_as_damage() {
    let dir = tempfile::tempdir().unwrap();
    drop(SledJournal::open(dir.path()).unwrap());
    let database = dir.path().join("journal/db");
    let mut bytes = fs::read(&database).unwrap();
    bytes.resize(bytes.len().next_multiple_of(1 << 24), 0);
    fs::write(&database, bytes.repeat(2)).unwrap();
    let output_text = refused_with(3, dir.path());
    let words = "the store met damage that it cannot read past; if its files are damaged, see \
                 `openoutcry-replay salvage`";
    assert!(output_text.ends_with(words), "{output_text}");
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

/// The file of sled's snapshot.
fn snapshot(venue: &Path) -> PathBuf {
    let mut entries = fs::read_dir(venue.join("journal")).unwrap().map(|entry| entry.unwrap());
    let snap = entries.find(|entry| entry.file_name().to_string_lossy().starts_with("snap."));
    snap.unwrap().path()
}

fn overwrite(file: &Path) {
    let length = fs::read(file).unwrap().len();
    fs::write(file, vec![0xA5; length]).unwrap();
}

/// A process manager must be able to tell these from a full disk: what restarts the server must
/// not do it here.
#[test]
fn a_refused_journal_has_an_exit_code_of_its_own() {
    let damages: [Damage; 10] = [
        ("OPEN_LOST", |venue| fs::remove_dir_all(venue.join("journal")).unwrap()),
        ("OPEN_LOST", |venue| fs::remove_file(venue.join("journal/db")).unwrap()),
        ("OPEN_FILE_MISSING", |venue| fs::remove_file(venue.join("witness")).unwrap()),
        ("OPEN_FILE_MISSING", |venue| fs::remove_file(venue.join("refused")).unwrap()),
        ("RECOVERY_MARKER", |venue| overwrite(&venue.join("refused"))),
        ("RECOVERY_WITNESS", |venue| overwrite(&venue.join("witness"))),
        ("RECOVERY_TORN", |venue| overwrite(&venue.join("journal/db"))),
        ("OPEN_FAILED", |venue| overwrite(&venue.join("journal/conf"))),
        ("OPEN_FAILED", |venue| overwrite(&snapshot(venue))),
        ("OPEN_UNFINISHED", |venue| fs::write(venue.join("importing"), b"").unwrap()),
    ];
    for (code, damage) in damages {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = SledJournal::open(dir.path()).unwrap();
        let mut block = BlockBuilder::new(journal.head());
        let (sequence, time) = (Sequence::new(1), TimeMs::default());
        let command = Command::OpenVenue(Rules::current());
        block.push(Record { sequence, time, once: None, command }).unwrap();
        journal.append(block.build(Results::NONE).unwrap()).unwrap();
        drop(journal);
        // sled makes a snapshot when it opens a file that holds something.
        drop(SledJournal::open(dir.path()).unwrap());
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
