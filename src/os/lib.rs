//! What the server and the auditor's tool ask of the system before they do anything else, and what
//! they ask it about files and threads.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::Builder;

use rustix::fs::Mode;

/// Makes the process careful: its files are its owner's alone, its memory, which holds keys, is
/// never dumped, and a limit on file sizes is an error like a full disk. Call it first, on the only
/// thread.
pub fn prepare() {
    // Every file, sled's too, and whatever mask the caller has.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    #[cfg(target_os = "linux")]
    never_dumped();
    // The signal would end the process by default. With a handler, which nobody asks, the write
    // fails instead. It cannot be refused for this signal.
    drop(signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()));
}

#[cfg(target_os = "linux")]
fn never_dumped() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // It fails for a bad argument only.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).unwrap_or_default();
}

/// The files and folders in a folder, itself included, that others than their owner can read or
/// change.
///
/// # Errors
/// A folder cannot be listed.
pub fn exposed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    gather_exposed(folder, &fs::metadata(folder)?, 0o077, &mut found)?;
    Ok(found)
}

/// `classes` are the permissions of those who can reach the path: the group's, all others', both.
fn gather_exposed(
    path: &Path,
    found_there: &Metadata,
    classes: u32,
    found: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let mode = found_there.permissions().mode() & classes;
    // The names in a folder tell nothing; whoever can write to it can put other files there.
    let revealing = if found_there.is_dir() { 0o022 } else { 0o066 };
    if mode & revealing != 0 {
        found.push(path.to_owned());
    }
    // Whoever may pass through the folder.
    let passing = (mode & 0o011).saturating_mul(0o7);
    if !found_there.is_dir() || passing == 0 {
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        match entry.metadata() {
            // A link's own permissions mean nothing.
            Ok(inside) if inside.is_symlink() => {}
            Ok(inside) => gather_exposed(&entry.path(), &inside, passing, found)?,
            // Removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Checks that the system gives so many more threads at once. Where it does not, libraries would
/// panic or wait forever later.
///
/// # Errors
/// `THREADS_REFUSED`, with what to raise.
pub fn check_threads(wanted: usize) -> io::Result<()> {
    start_threads(wanted, Builder::new)
}

fn start_threads(wanted: usize, thread: impl Fn() -> Builder) -> io::Result<()> {
    // Each waits until all are there.
    let gate = Arc::new(Mutex::new(()));
    let shut = gate.lock();
    let start = |_| {
        let gate = Arc::clone(&gate);
        thread().spawn(move || drop(gate.lock()))
    };
    let mut started = Vec::new();
    let all = (0..wanted).map(start).try_for_each(|thread| thread.map(|it| started.push(it)));
    drop(shut);
    let given = started.len();
    // They do nothing that could fail.
    for thread in started {
        drop(thread.join());
    }
    all.map_err(|error| {
        let why = format!(
            "THREADS_REFUSED: the system gives {given} more threads, {wanted} are needed \
             ({error}); raise `ulimit -u`, TasksMax of systemd or pids.max of the container"
        );
        io::Error::new(error.kind(), why)
    })
}

#[cfg(test)]
mod tests {
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
}
