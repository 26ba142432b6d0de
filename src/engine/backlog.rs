//! Write-behind buffer for pages of history, between the projector and the slow page store. The
//! projector holds the read model's lock while it puts a page, so a put must not wait for the
//! store. A page that is put again before it is stored is stored once.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::thread::Builder;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

use views::history::PageKey;

/// How long pages collect before they are stored.
const COLLECT_FOR: Duration = Duration::from_millis(100);
/// Bytes that may wait; a caller that exceeds them stores them itself (backpressure).
const WAITING_BYTES_MAX: usize = 4 << 20;
/// Bytes kept in memory after the store failed. Of a page beyond that, readers find the older
/// stored version, if any, until a restart rebuilds it.
const UNSTORED_BYTES_MAX: usize = 64 << 20;

/// Where pages are stored in the end.
pub trait Store: Send + Sync + 'static {
    /// Stores pages; false if it failed, which the store itself reports.
    fn store(&self, pages: &Pages) -> bool;

    /// Does the store's deferred work (syncs), on the background thread.
    fn tidy(&self);
}

/// Pages by their keys.
pub type Pages = BTreeMap<PageKey, Box<[u8]>>;

/// Pages that wait, pages being stored, and pages that could not be stored.
#[derive(Debug, Default)]
struct Waiting {
    new: Pages,
    new_bytes: usize,
    /// Pages being stored; readers can still find them here.
    storing: Arc<Pages>,
    /// Pages that could not be stored, within [`UNSTORED_BYTES_MAX`]: a full disk halts the intake
    /// but not the readers.
    unstored: Pages,
    unstored_bytes: usize,
}

impl Waiting {
    /// Records the result of storing the pages that were taken.
    fn finish(&mut self, stored: bool) {
        for (key, page) in std::mem::take(&mut self.storing).iter() {
            // An older version of the same page.
            let before = self.unstored.remove(key).map_or(0, |page| page.len());
            self.unstored_bytes = self.unstored_bytes.saturating_sub(before);
            let bytes = self.unstored_bytes.saturating_add(page.len());
            if !stored && bytes <= UNSTORED_BYTES_MAX {
                self.unstored.insert(*key, page.clone());
                self.unstored_bytes = bytes;
            }
        }
    }
}

/// Pages on their way to a store.
#[derive(Debug)]
pub struct Backlog<S> {
    store: S,
    waiting: Mutex<Waiting>,
    /// Held while storing, so that an older version cannot overwrite a newer one.
    store_lock: Mutex<()>,
    /// Wakes the background thread.
    wake: Sender<()>,
}

impl<S: Store> Backlog<S> {
    /// An empty backlog before this store, with a background thread that stores pages. Without that
    /// thread, pages are stored by whoever exceeds the bound or drains.
    pub fn start(store: S) -> Arc<Backlog<S>> {
        let (wake, wakes) = bounded(1);
        let (waiting, store_lock) = (Mutex::default(), Mutex::new(()));
        let backlog = Arc::new(Backlog { store, waiting, store_lock, wake });
        let weak = Arc::downgrade(&backlog);
        let thread = Builder::new().name("history".to_owned());
        if let Err(error) = thread.spawn(move || run(&wakes, &weak)) {
            tracing::warn!(%error, "history is stored without a thread of its own");
        }
        backlog
    }

    /// The store.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Puts a page, replacing any version under its key.
    pub fn put(&self, key: PageKey, page: Vec<u8>) {
        let length = page.len();
        let full = {
            let mut waiting = self.waiting.lock();
            let before = waiting.new.insert(key, page.into());
            let before = before.map_or(0, |page| page.len());
            waiting.new_bytes = waiting.new_bytes.saturating_add(length).saturating_sub(before);
            waiting.new_bytes > WAITING_BYTES_MAX
        };
        if full {
            self.drain();
        } else {
            // A wake-up may be pending already, or there is no thread.
            self.wake.try_send(()).unwrap_or_default();
        }
    }

    /// A page that is not stored yet or could not be stored.
    pub fn get(&self, key: PageKey) -> Option<Vec<u8>> {
        let waiting = self.waiting.lock();
        let page = waiting.new.get(&key).or_else(|| waiting.storing.get(&key));
        let page = page.or_else(|| waiting.unstored.get(&key));
        page.map(|page| page.to_vec())
    }

    /// Stores all pages put before.
    pub fn drain(&self) {
        let store_lock = self.store_lock.lock();
        let storing = {
            let mut waiting = self.waiting.lock();
            waiting.new_bytes = 0;
            waiting.storing = Arc::new(std::mem::take(&mut waiting.new));
            Arc::clone(&waiting.storing)
        };
        let stored = self.store.store(&storing);
        drop(storing);
        self.waiting.lock().finish(stored);
        drop(store_lock);
    }
}

/// The background thread: stores what has collected, until the backlog is dropped.
fn run<S: Store>(wakes: &Receiver<()>, backlog: &Weak<Backlog<S>>) {
    while wakes.recv().is_ok() {
        std::thread::sleep(COLLECT_FOR);
        let Some(backlog) = backlog.upgrade() else { return };
        backlog.drain();
        backlog.store.tidy();
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/backlog.rs"]
mod tests;
