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
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// The affinity of a new thread after it has run `first`.
    fn cores_after(first: impl FnOnce() + Send) -> Vec<usize> {
        let cores = move || {
            first();
            let own = sched_getaffinity(None).unwrap();
            (0..CpuSet::MAX_CPU).filter(|core| own.is_set(*core)).collect()
        };
        std::thread::scope(|scope| scope.spawn(cores).join().unwrap())
    }

    #[test]
    fn each_worker_has_a_core_of_its_own_and_unpinned_threads_have_all() {
        let all = cores_after(|| {});
        let cores = Cores::for_workers(all.len()).unwrap();
        let pinned: Vec<_> =
            (0..all.len()).map(|worker| cores_after(|| cores.pin(worker))).collect();
        assert_eq!(pinned, all.iter().map(|core| vec![*core]).collect::<Vec<_>>());
        let freed = cores_after(|| {
            cores.pin(0);
            cores.unpin();
        });
        assert_eq!(freed, all);
        // A worker without a core of its own is not pinned.
        assert_eq!(cores_after(|| cores.pin(all.len())), all);
    }

    #[test]
    fn workers_are_not_pinned_if_the_cores_are_not_one_each() {
        let all = cores_after(|| {}).len();
        assert!(Cores::for_workers(all + 1).is_none());
        assert!(Cores::for_workers(all - 1).is_none());
    }
}
