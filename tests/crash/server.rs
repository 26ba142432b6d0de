//! The real binary on a real folder: started, killed, stopped in order.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::starting;

/// The operator's key.
pub const KEY: &str = "crash-operator-key-of-enough-characters";

/// A folder with a venue and the log of its last server.
pub struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    pub fn new() -> Ground {
        Ground { folder: tempfile::tempdir().unwrap() }
    }

    /// Keeps the folder, so that a failure can be examined.
    pub fn kept(self) -> PathBuf {
        self.folder.keep()
    }

    /// The folder of the journal.
    pub fn venue(&self) -> PathBuf {
        self.folder.path().join("venue")
    }

    /// The folder of its archive.
    pub fn archive(&self) -> PathBuf {
        self.folder.path().join("archive")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// What the last server logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap()
    }
}

/// A started server; killed when dropped.
pub struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Server {
    /// Starts it without waiting.
    #[allow(clippy::zombie_processes, reason = "waited for when dropped")]
    pub fn spawn(ground: &Ground) -> Server {
        let mut child = starting::serve(&ground.venue())
            .args(["--rate-reads", "0", "--rate-writes", "0", "--rate-cancels", "0"])
            // Snapshots are so frequent that kills hit their writing and starts begin with them.
            .args(["--snapshot-every", "50", "--archive"])
            .arg(ground.archive())
            .env("OPENOUTCRY_OPERATOR_KEY", KEY)
            .stdout(Stdio::piped())
            .stderr(File::create(ground.log_path()).unwrap())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Server { child, stdout, address: String::new() }
    }

    /// Waits until it listens; the error is its log, if it exited instead.
    pub fn listening(mut self, ground: &Ground) -> Result<Server, String> {
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).unwrap() == 0 {
                return Err(format!("the server did not start: {}", ground.log()));
            }
            if let Some(address) = line.trim_end().strip_prefix("listening on http://") {
                address.clone_into(&mut self.address);
                return Ok(self);
            }
        }
    }

    /// Sends `SIGKILL` and waits for the exit.
    pub fn kill(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Sends `SIGTERM` and waits; returns the exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

/// The digest logged at an orderly stop.
pub fn logged_digest(log: &str) -> Option<&str> {
    log.split("state_digest=").nth(1)?.split_whitespace().next()
}

/// Whether the folder holds a journal or a part of one.
pub fn begun(venue: &Path) -> bool {
    venue.join("journal/log/00000000000000000001.blocks").exists()
}
