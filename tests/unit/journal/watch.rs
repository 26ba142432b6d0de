//! Unit tests of `src/journal/watch.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use std::fs::{self, OpenOptions};

use super::*;

fn watched(path: &Path) -> WatchedFile {
    fs::write(path, b"some bytes").unwrap();
    WatchedFile::of(path, File::open(path).unwrap()).unwrap()
}

#[test]
fn each_fate_of_an_open_file_is_told_from_the_others() {
    type Deed = fn(&Path, &Path);
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("file"), dir.path().join("other"));
    let cases: [(Deed, Option<Fate>); 6] = [
        (|_, _| (), None),
        (|path, _| fs::write(path, b"some more bytes").unwrap(), None),
        (|path, _| fs::remove_file(path).unwrap(), Some(Fate::Deleted)),
        (|path, other| fs::rename(path, other).unwrap(), Some(Fate::Moved)),
        (
            |path, other| {
                fs::write(other, b"some bytes").unwrap();
                fs::rename(other, path).unwrap();
            },
            Some(Fate::Replaced),
        ),
        (
            |path, _| OpenOptions::new().write(true).open(path).unwrap().set_len(4).unwrap(),
            Some(Fate::Truncated),
        ),
    ];
    for (happens, expected) in cases {
        let file = watched(&path);
        assert_eq!(file.fate(), None);
        happens(&path, &other);
        assert_eq!(file.fate(), expected);
        drop(fs::remove_file(&other));
    }
}

#[test]
fn a_folder_is_told_by_what_it_is_and_not_by_what_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("folder");
    fs::create_dir(&path).unwrap();
    let folder = WatchedFile::folder(&path).unwrap();
    for number in 0..300 {
        fs::write(path.join(number.to_string()), b"").unwrap();
    }
    assert_eq!(folder.fate(), None);
    fs::rename(&path, dir.path().join("elsewhere")).unwrap();
    assert_eq!(folder.fate(), Some(Fate::Moved));
    fs::create_dir(&path).unwrap();
    assert_eq!(folder.fate(), Some(Fate::Replaced));
    fs::remove_dir(&path).unwrap();
    fs::remove_dir_all(dir.path().join("elsewhere")).unwrap();
    assert_eq!(folder.fate(), Some(Fate::Deleted));
}
