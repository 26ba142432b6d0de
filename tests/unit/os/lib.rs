//! Unit tests of `src/os/lib.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use std::fs::Permissions;

use super::*;

/// What is exposed of a folder of this mode with a file of this mode in it.
fn exposed_of(folder_mode: u32, file_mode: u32) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let (folder, file) = (dir.path().join("venue"), dir.path().join("venue/wal"));
    fs::create_dir(&folder).unwrap();
    fs::write(&file, "").unwrap();
    std::os::unix::fs::symlink("/", folder.join("elsewhere")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(file_mode)).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(folder_mode)).unwrap();
    let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    exposed(&folder).unwrap().into_iter().map(name).collect()
}

#[test]
fn what_others_can_read_or_change_is_found_where_they_can_reach_it() {
    for (folder, file, found) in [
        (0o700, 0o666, &[][..]),
        (0o755, 0o600, &[]),
        (0o744, 0o644, &[]),
        (0o755, 0o644, &["wal"]),
        (0o750, 0o640, &["wal"]),
        // The group reaches the file, which only others may read; and the reverse.
        (0o750, 0o604, &[]),
        (0o705, 0o640, &[]),
        (0o711, 0o602, &["wal"]),
        (0o722, 0o644, &["venue"]),
        (0o777, 0o666, &["venue", "wal"]),
    ] {
        assert_eq!(exposed_of(folder, file), found, "{folder:o} {file:o}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_prepared_process_keeps_files_and_memory_to_itself_and_outlives_a_limit() {
    prepare();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let dumped = rustix::process::dumpable_behavior().unwrap();
    assert_eq!(dumped, rustix::process::DumpableBehavior::NotDumpable);
    signal_hook::low_level::raise(signal_hook::consts::SIGXFSZ).unwrap();
}

#[test]
fn a_thread_that_is_refused_is_named() {
    check_threads(3).unwrap();
    let refused = start_threads(3, || Builder::new().stack_size(1 << 60));
    let why = refused.unwrap_err().to_string();
    assert!(why.starts_with("THREADS_REFUSED: the system gives 0 more threads, 3"), "{why}");
}
