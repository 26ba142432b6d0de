//! Unit tests of `src/http/cores.rs`.

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
    let pinned: Vec<_> = (0..all.len()).map(|worker| cores_after(|| cores.pin(worker))).collect();
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
