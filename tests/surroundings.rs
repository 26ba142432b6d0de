//! What surrounds a server may not change what it does: who reads its log and its stdout, the mask
//! for new files, signals sent by habit, limits on files and threads.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, PipeReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const BINARY: &str = env!("CARGO_BIN_EXE_openoutcry");
const KEY: &str = "test-operator-key-of-enough-characters";
/// How long a server may take for anything, before the test gives up on it.
const PATIENCE: Duration = Duration::from_secs(40);
const PAUSE: Duration = Duration::from_millis(20);

/// A command that serves the venue in this folder, with an archive beside it.
fn serve(dir: &Path) -> Command {
    let mut command = Command::new(BINARY);
    command.args(["serve", "--init", "--listen", "127.0.0.1:0", "--snapshot-every", "1", "--data"]);
    command.arg(dir.join("venue")).arg("--archive").arg(dir.join("archive"));
    command
        .env("OPENOUTCRY_OPERATOR_KEY", KEY)
        .env("OPENOUTCRY_LOG", "info,openoutcry::http=debug");
    command.stdin(Stdio::null());
    command
}

/// A running server; killed when dropped.
struct Server {
    process: Child,
    address: String,
    #[allow(dead_code, reason = "kept open, because the server may print more")]
    stdout: Option<BufReader<ChildStdout>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Server {
    /// Starts it and waits until it says on stdout that it listens.
    #[allow(clippy::zombie_processes, reason = "waited for when dropped")]
    fn listening(mut command: Command) -> Server {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut server = Server { process, address: String::new(), stdout: None };
        let (sender, listens) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            while stdout.read_line(&mut line).is_ok_and(|count| count > 0) {
                if let Some(address) = line.trim_end().strip_prefix("listening on http://") {
                    let address = address.to_owned();
                    return drop(sender.send((address, stdout)));
                }
                line.clear();
            }
        });
        let (address, stdout) = listens.recv_timeout(PATIENCE).unwrap();
        server.address = address;
        server.stdout = Some(stdout);
        server
    }

    /// Starts it and waits until its log says that it listens.
    fn listening_by(log: &Path, mut command: Command) -> Server {
        let process = command.stderr(File::create(log).unwrap()).spawn().unwrap();
        let mut server = Server { process, address: String::new(), stdout: None };
        until("it listens", || {
            assert_eq!(server.process.try_wait().unwrap(), None, "it ended");
            let text = fs::read_to_string(log).unwrap();
            let line = text.lines().find(|line| line.contains("listening address="));
            let address = line.and_then(|line| line.split("address=").last());
            address.unwrap_or_default().clone_into(&mut server.address);
            address.is_some()
        });
        server
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: test\r\nX-API-Key: {KEY}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
    }

    fn makes_a_user(&self) {
        let user = r#"{"profileName": "ann", "profilePic": "https://assets.example.org/p"}"#;
        let (status, answer) = self.ask("POST", "/api/v1/admin/users", user);
        assert_eq!(status, 201, "{answer}");
    }

    /// A figure of `/metrics`.
    fn figure(&self, name: &str) -> u64 {
        let (status, page) = self.ask("GET", "/metrics", "");
        assert_eq!(status, 200, "{page}");
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("openoutcry_{name} ")));
        line.unwrap_or_else(|| panic!("{name} in\n{page}")).trim().parse().unwrap()
    }

    fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// The exit code after a signal.
    fn ends_by(mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        exit_code(&mut self.process)
    }
}

fn until(what: &str, mut so: impl FnMut() -> bool) {
    let tries = PATIENCE.as_millis() / PAUSE.as_millis();
    for _ in 0..tries {
        if so() {
            return;
        }
        thread::sleep(PAUSE);
    }
    panic!("never: {what}");
}

fn exit_code(process: &mut Child) -> Option<i32> {
    let mut ended = None;
    until("it ends", || {
        ended = process.try_wait().unwrap();
        ended.is_some()
    });
    ended.unwrap().code()
}

/// The ways in which nobody takes what is printed: a full disk, a reader who left, and one who
/// stalls, who is returned too.
fn takers() -> [(&'static str, Stdio, Option<PipeReader>); 3] {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let (gone, left) = std::io::pipe().unwrap();
    drop(gone);
    let (stalls, mut stalled) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&stalled, true).unwrap();
    while stalled.write(&[b'.'; 512]).is_ok() {}
    rustix::io::ioctl_fionbio(&stalled, false).unwrap();
    [
        ("full disk", full.into(), None),
        ("reader left", left.into(), None),
        ("reader stalls", stalled.into(), Some(stalls)),
    ]
}

#[test]
fn a_log_that_nobody_takes_changes_no_answer_no_backup_and_no_exit_code() {
    for (how, stderr, _reader) in takers() {
        let dir = tempfile::tempdir().unwrap();
        let mut command = serve(dir.path());
        command.stderr(stderr);
        let server = Server::listening(command);
        for _ in 0..20 {
            server.makes_a_user();
        }
        until("a snapshot", || server.figure("snapshots_total") > 0);
        until("the archive", || server.figure("archive_behind_records") == 0);
        assert_eq!(server.figure("snapshot_failures_total"), 0, "{how}");
        assert_eq!(server.figure("log_lines_lost") > 0, how != "reader stalls", "{how}");
        assert_eq!(server.ask("GET", "/readyz", "").0, 200, "{how}");
        server.makes_a_user();
        assert_eq!(server.ends_by("TERM"), Some(0), "{how}");
    }
}

#[test]
fn a_log_that_is_taken_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let mut command = serve(dir.path());
    command.stderr(File::create(&log).unwrap());
    let server = Server::listening(command);
    for _ in 0..200 {
        assert_eq!(server.ask("GET", "/healthz", "").0, 200);
    }
    assert_eq!(server.figure("log_lines_lost"), 0);
    assert_eq!(server.ends_by("TERM"), Some(0));
    let log = fs::read_to_string(log).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("/healthz")).count(), 200, "{log}");
    assert!(log.lines().last().unwrap().contains("stopped sequence="), "{log}");
}

/// Whoever restarts servers must not restart this one, whatever became of the message.
#[test]
fn a_damaged_journal_is_exit_code_3_whoever_reads_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = serve(dir.path());
    command.stderr(Stdio::null());
    let server = Server::listening(command);
    for _ in 0..20 {
        server.makes_a_user();
    }
    assert_eq!(server.ends_by("TERM"), Some(0));
    let database = dir.path().join("venue/journal/log/00000000000000000001.blocks");
    let mut bytes = fs::read(&database).unwrap();
    let last = bytes.windows(8).rposition(|window| window == b"OPOUTCRY").unwrap();
    bytes[last + 60] ^= 0xff;
    fs::write(&database, bytes).unwrap();
    for (how, stderr, _reader) in takers() {
        let copy = tempfile::tempdir().unwrap();
        let copied = Command::new("cp")
            .arg("-r")
            .args([dir.path().join("venue"), copy.path().into()])
            .status();
        assert!(copied.unwrap().success());
        let mut started = serve(copy.path()).stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
        assert_eq!(exit_code(&mut started), Some(3), "{how}");
    }
}

#[test]
fn a_refused_start_ends_with_its_exit_code_whoever_reads_the_log() {
    let dir = tempfile::tempdir().unwrap();
    for (how, stderr, _reader) in takers() {
        let mut command = serve(dir.path());
        command.env("OPENOUTCRY_OPERATOR_KEY", "short").stdout(Stdio::null()).stderr(stderr);
        assert_eq!(exit_code(&mut command.spawn().unwrap()), Some(2), "{how}");
    }
}

#[test]
fn a_stdout_that_nobody_takes_changes_nothing() {
    for (how, stdout, _reader) in takers() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut command = serve(dir.path());
        command.stdout(stdout);
        let server = Server::listening_by(&log, command);
        server.makes_a_user();
        assert_eq!(server.ends_by("TERM"), Some(0), "{how}");
    }
}

/// A key that nobody saw must not open the venue, and must not be the only one.
#[test]
fn a_drawn_key_that_could_not_be_printed_is_drawn_again() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    for (how, stdout, _reader) in takers() {
        let mut command = serve(dir.path());
        command.env_remove("OPENOUTCRY_OPERATOR_KEY").stdout(stdout);
        let server = Server::listening_by(&log, command);
        assert_eq!(server.ask("GET", "/readyz", "").0, 200, "{how}");
        assert_eq!(server.ends_by("TERM"), Some(0), "{how}");
        assert!(fs::read_to_string(&log).unwrap().contains("is not in force"), "{how}");
    }
    let mut command = serve(dir.path());
    command.env_remove("OPENOUTCRY_OPERATOR_KEY").stdout(Stdio::piped());
    let mut server = Server::listening_by(&log, command);
    let mut line = String::new();
    BufReader::new(server.process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("operator key: "), "{line}");
}

#[test]
fn signals_sent_by_habit_end_no_server_and_the_others_end_it_in_order() {
    let dir = tempfile::tempdir().unwrap();
    for ends in ["TERM", "INT", "QUIT"] {
        let log = dir.path().join("log");
        let mut command = serve(dir.path());
        command.stdout(Stdio::null());
        let server = Server::listening_by(&log, command);
        for signal in ["HUP", "USR1", "USR2", "ALRM", "XFSZ", "PIPE"] {
            server.signal(signal);
        }
        server.makes_a_user();
        assert_eq!(server.ends_by(ends), Some(0), "{ends}");
        let log = fs::read_to_string(log).unwrap();
        assert!(log.contains("SIGHUP: the settings were read again"), "{log}");
        assert!(log.contains("stopped sequence="), "{log}");
    }
}

/// Everything in a folder, and itself, with its permissions.
fn permissions(path: &Path) -> Vec<(PathBuf, u32)> {
    let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut found = vec![(path.to_owned(), mode)];
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            found.extend(permissions(&entry.unwrap().path()));
        }
    }
    found
}

#[test]
fn files_are_their_owners_alone_whatever_the_mask_and_a_start_warns_of_others() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let masked = || {
        let served = serve(dir.path());
        let mut command = Command::new("sh");
        command.args(["-c", "umask 000; exec \"$0\" \"$@\"", BINARY]).args(served.get_args());
        command.env("OPENOUTCRY_OPERATOR_KEY", KEY).env_remove("OPENOUTCRY_LOG");
        command.stdout(Stdio::null());
        command
    };
    let server = Server::listening_by(&log, masked());
    server.makes_a_user();
    until("a snapshot", || server.figure("snapshots_total") > 0);
    assert_eq!(server.ends_by("TERM"), Some(0));
    let (venue, archive) = (dir.path().join("venue"), dir.path().join("archive"));
    let found = [permissions(&venue), permissions(&archive)].concat();
    assert!(found.len() > 15, "{found:?}");
    for (path, mode) in found {
        let private = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, private, "{}: {mode:o}", path.display());
    }
    assert!(!fs::read_to_string(&log).unwrap().contains("WARN"));

    fs::set_permissions(&archive, Permissions::from_mode(0o755)).unwrap();
    let segment = archive.join("00000000000000000001.blocks.gz");
    fs::set_permissions(&segment, Permissions::from_mode(0o640)).unwrap();
    let server = Server::listening_by(&log, masked());
    assert_eq!(server.ends_by("TERM"), Some(0));
    let text = fs::read_to_string(&log).unwrap();
    let warned: Vec<_> = text.lines().filter(|line| line.contains("WARN")).collect();
    assert_eq!(warned.len(), 1, "{text}");
    assert!(warned[0].contains("other users of this machine can read or change"), "{text}");
    assert!(warned[0].contains(segment.to_str().unwrap()), "{text}");
}

/// A server of a user who may have six processes, threads included.
#[test]
fn too_few_threads_are_a_named_failure() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
    let served = serve(dir.path());
    let mut command = Command::new("sh");
    let limited = "ulimit -u 6 2>/dev/null || ulimit -p 6; exec \"$0\" \"$@\"";
    command.args(["-c", limited, BINARY]).args(served.get_args());
    command.env("OPENOUTCRY_OPERATOR_KEY", KEY).env_remove("OPENOUTCRY_LOG");
    if rustix::process::geteuid().is_root() {
        // The limit does not bind the superuser.
        command.uid(54_321).gid(54_321);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    if output.status.code() == Some(126) {
        // The binary is in a folder that only the superuser may enter.
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("openoutcry: THREADS_REFUSED: the system gives "), "{said}");
    assert!(!dir.path().join("venue").exists(), "nothing was begun");
}
