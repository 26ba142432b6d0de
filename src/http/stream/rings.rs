//! The rings of all topics, and how far they are filled: what the matcher's thread, the hub's and
//! those that serve connections share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;
use rustc_hash::FxHashMap;

use super::bell::Bell;
use super::channel::Topic;
use super::ring::{Cursor, Evicted, Ring};
use super::topics::Watched;
use exchange::units::Sequence;

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
