//! A core for each lane. A system may gather threads that often wait for each other on few cores,
//! to let the others rest, and leave one idle while a lane waits for another; a lane that is held
//! on a core of its own has it woken instead. All other threads go where the system puts them.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Cores on which nothing can be held.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Clone, Copy)]
pub enum Cores {}

#[cfg(not(target_os = "linux"))]
impl Cores {
    /// None.
    pub const fn for_lanes(_lanes: usize) -> Option<Cores> {
        None
    }

    /// Nothing.
    pub const fn hold(self, _lane: usize) {
        match self {}
    }

    /// Nothing.
    pub const fn free(self) {
        match self {}
    }
}

/// The cores that this process may use, as many as there are lanes.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
pub struct Cores(CpuSet);

#[cfg(target_os = "linux")]
impl Cores {
    /// A core for each of so many lanes. `None` where the process may use more cores than that:
    /// another that also has only a share of the machine would hold its lanes on the same ones.
    pub fn for_lanes(lanes: usize) -> Option<Cores> {
        let allowed = sched_getaffinity(None).ok()?;
        (usize::try_from(allowed.count()) == Ok(lanes)).then_some(Cores(allowed))
    }

    /// Holds this thread on the core of a lane, counted from 0.
    pub fn hold(self, lane: usize) {
        let core = (0..CpuSet::MAX_CPU).filter(|core| self.0.is_set(*core)).nth(lane);
        if let Some(core) = core {
            let mut own = CpuSet::new();
            own.set(core);
            put_on(&own);
        }
    }

    /// Lets this thread go where the system puts it: one that a lane begins is held as the lane is.
    pub fn free(self) {
        put_on(&self.0);
    }
}

/// A thread that is not held does all the same that it would do held.
#[cfg(target_os = "linux")]
fn put_on(cores: &CpuSet) {
    if let Err(error) = sched_setaffinity(None, cores) {
        tracing::debug!(%error, "a thread stays on the cores that it had");
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// The cores of a new thread that does this first.
    fn cores_after(first: impl FnOnce() + Send) -> Vec<usize> {
        let cores = move || {
            first();
            let own = sched_getaffinity(None).unwrap();
            (0..CpuSet::MAX_CPU).filter(|core| own.is_set(*core)).collect()
        };
        std::thread::scope(|scope| scope.spawn(cores).join().unwrap())
    }

    #[test]
    fn each_lane_has_a_core_of_its_own_and_what_it_begins_has_all() {
        let all = cores_after(|| {});
        let cores = Cores::for_lanes(all.len()).unwrap();
        let held: Vec<_> = (0..all.len()).map(|lane| cores_after(|| cores.hold(lane))).collect();
        assert_eq!(held, all.iter().map(|core| vec![*core]).collect::<Vec<_>>());
        let freed = cores_after(|| {
            cores.hold(0);
            cores.free();
        });
        assert_eq!(freed, all);
        // A lane too many goes where it likes.
        assert_eq!(cores_after(|| cores.hold(all.len())), all);
    }

    #[test]
    fn lanes_that_have_but_a_share_of_the_cores_are_not_held() {
        let all = cores_after(|| {}).len();
        assert!(Cores::for_lanes(all + 1).is_none());
        assert!(Cores::for_lanes(all - 1).is_none());
    }
}
