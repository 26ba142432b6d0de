//! Threads beside the path of a command: each steps what it was given, rests in between, and ends
//! when it is asked to.

use std::convert::Infallible;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded};

/// Work that is done step by step, on a thread of its own or in between other things.
pub trait Stepped: Send + 'static {
    /// Does what there is to do; returns how long to rest before the next step.
    fn step(&mut self) -> Duration;

    /// The last step, once it is asked to end.
    fn finish(&mut self) {}
}

/// Whether to end: the other end is dropped then.
#[derive(Debug, Clone)]
pub struct Ending(Receiver<Infallible>);

impl Ending {
    /// Whether it has come.
    pub fn has_come(&self) -> bool {
        self.0.try_recv() == Err(TryRecvError::Disconnected)
    }

    /// Waits that long, or until it comes; whether it has come.
    pub fn wait(&self, time: Duration) -> bool {
        self.0.recv_timeout(time) == Err(RecvTimeoutError::Disconnected)
    }
}

/// The word to end, given when this is dropped.
#[derive(Debug)]
pub struct End(#[allow(dead_code, reason = "it says it when it is dropped")] Sender<Infallible>);

/// The word to end, and who waits for it.
pub fn ending() -> (End, Ending) {
    let (end, ending) = bounded(0);
    (End(end), Ending(ending))
}

/// How much less a thread that gives way is preferred: it still gets a tenth of a busy core.
#[cfg(target_os = "linux")]
const GIVING_WAY: i32 = 10;

/// Has the system prefer other threads to the one that calls this, for good. On Linux alone:
/// elsewhere it would be said of the whole process.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, GIVING_WAY) {
        tracing::debug!(%error, "orders may wait for work that is done beside them");
    }
}

/// A running thread.
#[derive(Debug)]
pub struct Background {
    end: End,
    thread: JoinHandle<()>,
}

impl Background {
    /// Starts a thread; `died` is called if it panics.
    ///
    /// # Errors
    /// The system could not start a thread.
    pub fn start<S: Stepped>(
        name: &str,
        (end, ending): (End, Ending),
        mut work: S,
        died: impl FnOnce() + Send + 'static,
    ) -> io::Result<Background> {
        let run = move || {
            let stepping = AssertUnwindSafe(|| {
                while !ending.wait(work.step()) {}
                work.finish();
            });
            if catch_unwind(stepping).is_err() {
                died();
            }
        };
        let thread = Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Background { end, thread })
    }

    /// Asks the thread to end, and waits for it in [`Ended::join`].
    pub fn end(self) -> Ended {
        drop(self.end);
        Ended(self.thread)
    }
}

/// A thread that was asked to end.
#[derive(Debug)]
pub struct Ended(JoinHandle<()>);

impl Ended {
    /// Waits until it has ended. It cannot have panicked.
    pub fn join(self) {
        drop(self.0.join());
    }
}
