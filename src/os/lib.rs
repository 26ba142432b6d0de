//! What the server and the auditor's tool ask of the system before they do anything else, and what
//! they ask it about files and threads.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
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

/// Bytes that a file system has for whoever asks.
///
/// # Errors
/// The path is not there.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
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

/// Whose a file or folder is and who this process is, by the system's numbers, if they differ.
pub fn another_owner(path: &Path) -> Option<(u32, u32)> {
    let owner = fs::metadata(path).ok()?.uid();
    let own = rustix::process::geteuid().as_raw();
    (owner != own).then_some((owner, own))
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
#[path = "../../tests/unit/os/lib.rs"]
mod tests;
