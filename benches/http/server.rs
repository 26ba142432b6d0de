//! A server process: its address and its resource use.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// Clock ticks per second of processor times in `/proc`: fixed for user space.
const TICKS_PER_SECOND: f64 = 100.0;

/// A server process; killed on drop.
pub struct Server {
    child: Child,
    address: SocketAddr,
}

/// Resources used by a process since its start.
#[derive(Debug, Clone, Copy, Default)]
pub struct Used {
    /// Processor time of all its threads, in seconds.
    pub processor_seconds: f64,
    /// Number of context switches of its threads.
    pub switches: u64,
}

impl Used {
    /// What was used since `before`.
    pub fn since(self, before: Used) -> Used {
        Used {
            processor_seconds: self.processor_seconds - before.processor_seconds,
            switches: self.switches.saturating_sub(before.switches),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    /// Starts a server and waits until it prints its address.
    pub fn start(mut command: Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a server");
        let stdout = child.stdout.take().expect("its stdout");
        let mut lines = BufReader::new(stdout).lines();
        let address = loop {
            let line = lines.next().expect("a line that says where").expect("its stdout");
            if let Some(address) = line.strip_prefix("listening on http://") {
                break address.parse().expect("an address");
            }
        };
        Server { child, address }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its resident memory.
    pub fn resident_kib(&self) -> u64 {
        let status = self.read("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
    }

    /// What it has used so far.
    pub fn used(&self) -> Used {
        let stat = self.read("stat");
        // The second field is the command in parentheses; times are fields 14 and 15.
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        let ticks: u64 =
            after.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<u64>().ok()).sum();
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let switches = tasks.into_iter().flatten().flatten().map(|task| {
            let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let lines = status.lines().filter(|line| line.contains("ctxt_switches:"));
            lines
                .filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok())
                .sum::<u64>()
        });
        Used { processor_seconds: ticks as f64 / TICKS_PER_SECOND, switches: switches.sum() }
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap_or_default()
    }
}
