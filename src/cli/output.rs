//! The one file that writes to stdout and stderr. Whoever reads them may leave, stall, or have a
//! full disk, and nothing of that may become a server's fault: its lines wait in a bounded queue
//! for a thread of their own. Lines beyond the bound, and lines that cannot be written, are lost
//! and counted.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

/// Bytes of lines that may wait for one stream: some thousands of lines.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// How long the end of the process waits for lines to be written.
const FINISH_WAIT: Duration = Duration::from_secs(1);
/// How long a line is waited for that must not be lost.
const SURELY_WAIT: Duration = Duration::from_secs(5);
/// Pause before a stream is tried again that is full and told not to wait.
const FULL_PAUSE: Duration = Duration::from_millis(10);

/// The server's log, on stderr, once it has begun.
static LOG: OnceLock<Lines> = OnceLock::new();
/// What the server prints on stdout, once it has begun.
static STDOUT: OnceLock<Lines> = OnceLock::new();

/// A stream's queue.
struct Lines {
    entries: Sender<Entry>,
    counts: Arc<Counts>,
}

/// A line, or nothing, to learn that the lines before it are written.
struct Entry {
    bytes: Vec<u8>,
    /// Learns whether it was written.
    told: Option<Sender<bool>>,
}

#[derive(Default)]
struct Counts {
    waiting_bytes: AtomicUsize,
    lost: AtomicU64,
}

impl Lines {
    /// Starts the thread that writes to the stream. It calls `recovered` with the number of lost
    /// lines once some were lost and writing works again.
    fn start(name: &str, stream: impl AsFd, recovered: fn(u64)) -> io::Result<Lines> {
        // A handle of its own: the library's is locked while somebody writes.
        let file = File::from(stream.as_fd().try_clone_to_owned()?);
        let (entries, queue) = unbounded();
        let counts = Arc::new(Counts::default());
        let counted = Arc::clone(&counts);
        let thread = Builder::new().name(name.to_owned());
        thread.spawn(move || write_lines(file, &queue, &counted, recovered))?;
        Ok(Lines { entries, counts })
    }

    /// Never waits.
    fn put(&self, bytes: Vec<u8>, told: Option<Sender<bool>>) {
        let length = bytes.len();
        let before = self.counts.waiting_bytes.fetch_add(length, Ordering::Relaxed);
        let fits = length == 0 || before.saturating_add(length) <= WAITING_BYTES_MAX;
        if !fits || self.entries.send(Entry { bytes, told }).is_err() {
            self.counts.waiting_bytes.fetch_sub(length, Ordering::Relaxed);
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until the line and all before it are written, at most so long; whether it was.
    fn put_and_wait(&self, bytes: Vec<u8>, wait: Duration) -> bool {
        let (told, written) = bounded(1);
        self.put(bytes, Some(told));
        written.recv_timeout(wait).unwrap_or(false)
    }
}

fn write_lines(mut file: File, queue: &Receiver<Entry>, counts: &Counts, recovered: fn(u64)) {
    let (mut reported, mut torn) = (0, false);
    for Entry { bytes, told } in queue {
        let written = write_line(&mut file, &bytes, &mut torn);
        counts.waiting_bytes.fetch_sub(bytes.len(), Ordering::Relaxed);
        let lost = counts.lost.fetch_add(u64::from(!written), Ordering::Relaxed);
        if let Some(told) = told {
            // Nobody may be waiting any more.
            told.send(written).unwrap_or_default();
        }
        if written && lost > reported && queue.is_empty() && !bytes.is_empty() {
            recovered(lost.saturating_sub(reported));
            reported = lost;
        }
    }
}

/// Whether all of it was written. `torn` says that only the beginning of the line before was.
fn write_line(file: &mut File, bytes: &[u8], torn: &mut bool) -> bool {
    let line_break: &[u8] = if *torn && !bytes.is_empty() { b"\n" } else { b"" };
    for part in [line_break, bytes] {
        let mut rest = part;
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(count) if count > 0 => {
                    *torn = true;
                    rest = rest.get(count..).unwrap_or_default();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(FULL_PAUSE),
                Ok(_) | Err(_) => return false,
            }
        }
    }
    *torn &= bytes.is_empty();
    true
}

/// Starts the server's queues. From then on [`note`] and [`LogLine`] never wait.
///
/// # Errors
/// The system gives no threads or descriptors.
pub(crate) fn start() -> io::Result<()> {
    let recovered = |lines| tracing::warn!(lines, "lines of the log were lost");
    let log = Lines::start("log", io::stderr(), recovered)?;
    let stdout = Lines::start("stdout", io::stdout(), |_| ())?;
    // Nobody starts them twice.
    drop((LOG.set(log), STDOUT.set(stdout)));
    Ok(())
}

/// Waits, for a second at most, until what was said is written.
pub(crate) fn finish() {
    let began = Instant::now();
    for lines in [&LOG, &STDOUT].into_iter().filter_map(OnceLock::get) {
        lines.put_and_wait(Vec::new(), FINISH_WAIT.saturating_sub(began.elapsed()));
    }
}

/// How many lines of the log were lost.
pub(crate) fn log_lines_lost() -> u64 {
    LOG.get().map_or(0, |log| log.counts.lost.load(Ordering::Relaxed))
}

/// Whether a person reads what is printed.
pub(crate) fn is_read() -> bool {
    io::stdout().is_terminal()
}

/// Whether what is printed may have colours: a person reads it, who has not asked for none.
pub(crate) fn has_colours() -> bool {
    let asked = |name: &str| std::env::var_os(name).unwrap_or_default();
    is_read() && asked("NO_COLOR").is_empty() && asked("TERM") != "dumb"
}

/// Whether people see the log.
pub(crate) fn log_is_on_a_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether the process has a terminal as its input or as one of its outputs.
pub(crate) fn has_terminal() -> bool {
    let outputs = io::stdout().is_terminal() || io::stderr().is_terminal();
    outputs || io::stdin().is_terminal()
}

/// Where log lines are written to. Each write is a whole line, and is never refused.
#[derive(Debug)]
pub(crate) struct LogLine;

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(log) = LOG.get() {
            log.put(bytes.to_vec(), None);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints a line of a server on stdout: lost if nobody takes it.
pub(crate) fn say(line: &str) {
    if let Some(stdout) = STDOUT.get() {
        stdout.put(format!("{line}\n").into_bytes(), None);
    }
}

/// Prints a line of a server on stdout; whether it was written.
pub(crate) fn say_surely(line: &str) -> bool {
    let bytes = format!("{line}\n").into_bytes();
    STDOUT.get().is_some_and(|stdout| stdout.put_and_wait(bytes, SURELY_WAIT))
}

/// Prints a line on stderr; lost if nobody takes it.
pub(crate) fn note(line: &str) {
    let line = format!("{line}\n");
    match LOG.get() {
        Some(log) => log.put(line.into_bytes(), None),
        // There is nowhere to report it.
        None => drop(io::stderr().write_all(line.as_bytes())),
    }
}

/// Prints a command's answer on stdout. A reader who has left, such as `head`, has seen enough.
///
/// # Errors
/// Stdout does not take it: a full disk.
pub(crate) fn print(answer: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    whole(stdout.write_all(answer.as_bytes()).and_then(|()| stdout.flush()))
}

/// Prints what the parser of the command line has to say, help or an error; returns the exit code.
pub(crate) fn usage(said: &clap::Error) -> ExitCode {
    let printed = whole(said.print().and_then(|()| io::stdout().flush()));
    match printed {
        Err(error) if !said.use_stderr() => {
            note(&format!("openoutcry: stdout: {error}"));
            ExitCode::FAILURE
        }
        _ => u8::try_from(said.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

fn whole(printed: io::Result<()>) -> io::Result<()> {
    match printed {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

#[cfg(test)]
#[path = "../../tests/unit/cli/output.rs"]
mod tests;
