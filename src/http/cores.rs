//! Pins each worker to a core of its own. A scheduler may gather threads that often wait for each
//! other on few cores, to let the others rest, and leave one idle while a worker waits; a pinned
//! worker wakes its own core instead. All other threads run where the scheduler puts them.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Stub for systems where threads cannot be pinned.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Clone, Copy)]
pub enum Cores {}

#[cfg(not(target_os = "linux"))]
impl Cores {
    /// Always `None`.
    pub const fn for_workers(_workers: usize) -> Option<Cores> {
        None
    }

    /// Nothing.
    pub const fn pin(self, _worker: usize) {
        match self {}
    }

    /// Nothing.
    pub const fn unpin(self) {
        match self {}
    }
}

/// The cores that this process may use, one per worker.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
pub struct Cores(CpuSet);

#[cfg(target_os = "linux")]
impl Cores {
    /// A core for each worker. `None` unless the process may use exactly that many cores: with more
    /// cores than workers, another process with only a share of the machine would pin its workers
    /// to the same ones.
    pub fn for_workers(workers: usize) -> Option<Cores> {
        let allowed = sched_getaffinity(None).ok()?;
        (usize::try_from(allowed.count()) == Ok(workers)).then_some(Cores(allowed))
    }

    /// Pins this thread to the core of a worker, counted from 0.
    pub fn pin(self, worker: usize) {
        let core = (0..CpuSet::MAX_CPU).filter(|core| self.0.is_set(*core)).nth(worker);
        if let Some(core) = core {
            let mut own = CpuSet::new();
            own.set(core);
            set_affinity(&own);
        }
    }

    /// Unpins this thread; a thread inherits the affinity of the worker that spawned it.
    pub fn unpin(self) {
        set_affinity(&self.0);
    }
}

/// A failure is only logged: pinning affects speed, not results.
#[cfg(target_os = "linux")]
fn set_affinity(cores: &CpuSet) {
    if let Err(error) = sched_setaffinity(None, cores) {
        tracing::debug!(%error, "a thread stays on the cores that it had");
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/cores.rs"]
#[cfg(target_os = "linux")]
mod tests;
