//! The hub: keeps the rings from which connections read, and starts the thread that fills them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::Builder;

use crossbeam_channel::{Sender, bounded};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use super::announcing::{Announcing, Task};
use super::bell::Bell;
use super::channel::Topic;
use super::listening::Listening;
use super::resume::Resumers;
use super::ring::{Cursor, Evicted, Ring};
use super::topics::Watched;
use super::turn::Turns;
use crate::problem::Problem;
use engine::Engine;
use exchange::units::Sequence;

/// Tasks that may wait for the hub, beside the bound of their facts.
const TASKS_MAX: usize = 1 << 12;

/// What all connections listen to. Its thread runs once anybody listens.
#[derive(Debug, Default)]
pub struct Hub {
    pub(super) shared: Arc<Shared>,
    /// Those who come back after long.
    pub(super) resumers: Resumers,
    tasks: Mutex<Option<Sender<Task>>>,
}

/// What the hub's thread shares with the matcher's and with those that serve connections.
#[derive(Debug, Default)]
pub struct Shared {
    pub(super) watched: Watched,
    rings: RwLock<FxHashMap<Topic, Arc<Ring>>>,
    /// Everything up to this record is in the rings.
    complete: AtomicU64,
    /// Of what is told by its state, everything up to this record is in the rings, too: a state is
    /// told some time after it changed.
    stated: AtomicU64,
    /// The last record of which facts were sent.
    pub(super) sent: AtomicU64,
    /// The last record whose facts were lost.
    pub(super) lost: AtomicU64,
    /// Facts that wait.
    pub(super) waiting: AtomicUsize,
    /// Whether anybody has begun to listen since the hub last looked.
    pub(super) begun: AtomicBool,
    /// Whether the thread has ended.
    pub(super) ended: AtomicBool,
}

impl Hub {
    /// Begins to listen, to nothing at first.
    ///
    /// # Errors
    /// The hub cannot run.
    pub fn listen(self: &Arc<Self>, engine: &Engine) -> Result<Listening, Problem> {
        let tasks = self.start(engine)?;
        Ok(Listening::new(Arc::clone(self), tasks, engine.clone()))
    }

    /// Bytes of messages kept for readers.
    pub fn held_bytes(&self) -> u64 {
        self.shared.with_rings(|rings| {
            let held = rings.values().map(|ring| ring.lock().held());
            held.fold(0, u64::saturating_add)
        })
    }

    pub(super) fn start(&self, engine: &Engine) -> Result<Sender<Task>, Problem> {
        let mut running = self.tasks.lock();
        if self.shared.ended.load(Ordering::SeqCst) {
            return Err(Problem::internal("the hub of the stream has ended"));
        }
        if let Some(tasks) = &*running {
            return Ok(tasks.clone());
        }
        let (tasks, received) = bounded(TASKS_MAX);
        let announcing = Announcing {
            shared: Arc::clone(&self.shared),
            tasks: tasks.clone(),
            facts: Mutex::default(),
        };
        if !engine.announce(Arc::new(announcing)) {
            return Err(Problem::internal("the engine announces to somebody else"));
        }
        let turns = Turns::new(Arc::clone(&self.shared), received, engine.clone());
        let spawned = Builder::new().name("hub".to_owned()).spawn(move || turns.run());
        spawned.map_err(|_| Problem::internal("no thread for the hub of the stream"))?;
        *running = Some(tasks.clone());
        Ok(tasks)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(tasks) = self.tasks.lock().take() {
            // Only a thread that has ended does not take it.
            tasks.send(Task::End).unwrap_or_default();
        }
    }
}

impl Shared {
    /// Registers a reader of a topic, and the topic if it has none, as of `now`: the caller holds
    /// the read model's lock, so that everything after that record will be in the ring. Reads on
    /// from `from`, or from `now`.
    /// Where not everything after `from` is in the ring, the reader is registered all the same.
    pub fn register(
        &self,
        topic: Topic,
        bell: &Arc<Bell>,
        now: Sequence,
        from: Option<Sequence>,
    ) -> (Arc<Ring>, Result<Cursor, Evicted>) {
        self.begun.store(true, Ordering::SeqCst);
        let mut rings = self.rings.write();
        let ring = rings.entry(topic).or_insert_with(|| {
            self.watched.set(topic, true);
            Arc::new(Ring::begin(now))
        });
        let ring = Arc::clone(ring);
        let mut state = ring.lock();
        state.readers.push(Arc::clone(bell));
        state.idle_since = None;
        let cursor = match from {
            Some(from) => state.cursor_after(from),
            None => Ok(Cursor { next: state.end(), after: now }),
        };
        drop(state);
        (ring, cursor)
    }

    /// The rings of these topics.
    pub fn with_rings<T>(&self, read: impl FnOnce(&FxHashMap<Topic, Arc<Ring>>) -> T) -> T {
        read(&self.rings.read())
    }

    /// Takes out the rings that nobody has read for long.
    pub fn sweep(&self, is_old: impl Fn(&Ring) -> bool) {
        let mut rings = self.rings.write();
        rings.retain(|topic, ring| {
            let old = is_old(ring);
            if old {
                self.watched.set(*topic, false);
            }
            !old
        });
    }

    /// Everything up to this record is in the rings.
    pub fn complete(&self) -> Sequence {
        Sequence::new(self.complete.load(Ordering::SeqCst))
    }

    /// Of states, too, everything up to this record is in the rings. To be asked before
    /// [`complete`](Shared::complete), which is not less then.
    pub fn stated(&self) -> Sequence {
        Sequence::new(self.stated.load(Ordering::SeqCst))
    }

    /// Notes how far states are told.
    pub fn set_stated(&self, through: Sequence) {
        self.stated.store(through.get(), Ordering::SeqCst);
    }

    /// Notes that everything up to this record is in the rings.
    pub fn set_complete(&self, through: Sequence) {
        self.complete.fetch_max(through.get(), Ordering::SeqCst);
    }

    /// Whether all facts that were ever sent are in the rings; then everything up to a record that
    /// was published before this is asked is in them, too.
    pub fn has_all_sent(&self) -> bool {
        self.complete().get() >= self.sent.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/hub.rs"]
mod tests;
