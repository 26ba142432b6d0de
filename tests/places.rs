//! Folders that cannot hold a journal: the server names the folder and the cause, and exits 1.

#![cfg(feature = "server")]
#![allow(clippy::unwrap_used)] // a test may unwrap

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use openoutcry::journal::sled::SledJournal;

const BINARY: &str = env!("CARGO_BIN_EXE_openoutcry");

/// Starts a server that must refuse to start; returns the last line of its error output.
fn refused(folder: &Path) -> String {
    let output = Command::new(BINARY)
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(folder)
        .env_remove("OPENOUTCRY_OPERATOR_KEY")
        .output()
        .unwrap();
    let output_text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{output_text}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "no key is shown, nothing listens");
    assert!(!output_text.contains("panicked"), "{output_text}");
    let last = output_text.lines().last().unwrap().to_owned();
    let named = format!("openoutcry: {}: OPEN_", folder.display());
    assert!(last.starts_with(&named), "{last}");
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
    for name in ["lock", "refused", "witness"] {
        let venue = dir.path().join(format!("with {name}"));
        fs::create_dir_all(venue.join(name)).unwrap();
        refused(&venue);
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
    let output_text = refused(dir.path());
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
