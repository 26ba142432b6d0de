//! Figures of the process, under the names that Prometheus' own clients give them.

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::print::{Family, Value};

/// Unit of times in `/proc`: Linux tells user space 100 a second, whatever its own clock does.
const TICKS_PER_SECOND: u64 = 100;

/// What the system reports, and nothing in place of what it does not.
pub fn figures() -> Vec<Family> {
    let cpu = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default();
    let descriptors = fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
    let levels = [
        ("process_resident_memory_bytes", "Memory that is resident", memory("VmRSS:")),
        ("process_virtual_memory_bytes", "Memory that is mapped", memory("VmSize:")),
        ("process_open_fds", "File descriptors", descriptors.and_then(|open| open.try_into().ok())),
        ("process_max_fds", "The most there may be", getrlimit(Resource::Nofile).current),
        ("process_start_time_seconds", "When it began, since 1970", began()),
    ];
    let levels = levels.into_iter().filter_map(|(name, help, value)| {
        let value = i64::try_from(value?).unwrap_or(i64::MAX);
        Some(Family::single(name, help, Value::Level(value)))
    });
    let cpu = Family::single("process_cpu_seconds", "Time on all processors", Value::Time(cpu));
    [cpu].into_iter().chain(levels).collect()
}

/// Bytes in a line of the process' status.
fn memory(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix(name))?;
    kib.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// When the process began, in seconds since 1970.
fn began() -> Option<u64> {
    let system = fs::read_to_string("/proc/stat").ok()?;
    let boot = system.lines().find_map(|line| line.strip_prefix("btime "))?.parse::<u64>().ok()?;
    let process = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name, which may hold anything; the 22nd is the start in ticks.
    let (_, fields) = process.rsplit_once(')')?;
    let ticks = fields.split_whitespace().nth(19)?.parse::<u64>().ok()?;
    boot.checked_add(ticks / TICKS_PER_SECOND)
}
