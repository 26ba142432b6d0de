//! The backlog of pages: those put on the shelf a moment ago, on their way to the store. Whoever
//! puts one holds everybody up, and the store is slow; a page put again meanwhile is stored once.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::thread::Builder;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

use crate::projection::history::PageKey;

/// How long pages gather before they are stored.
const GATHER: Duration = Duration::from_millis(100);
/// Bytes that may wait; whoever puts more stores them himself.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// Bytes that are kept here because the store failed. What does not fit is as it was stored before,
/// if at all, until a restart makes it anew.
const UNSTORED_BYTES_MAX: usize = 64 << 20;

/// Where pages go in the end.
pub trait Store: Send + Sync + 'static {
    /// Stores pages; false if it could not, which it says somewhere.
    fn store(&self, pages: &Pages) -> bool;

    /// Does what the store has put off, on the thread that nobody waits for.
    fn tidy(&self);
}

/// Pages by their keys.
pub type Pages = BTreeMap<PageKey, Box<[u8]>>;

/// Pages that wait, and those being stored.
#[derive(Debug, Default)]
struct Waiting {
    new: Pages,
    new_bytes: usize,
    /// Read by whoever stores them, without anybody waiting.
    taken: Arc<Pages>,
    /// Those that could not be stored. A disk that is full stops the venue, and readers go on: they
    /// find here what it did not take, as far as there is room.
    unstored: Pages,
    unstored_bytes: usize,
}

impl Waiting {
    /// Notes what became of the pages that were taken.
    fn stored(&mut self, stored: bool) {
        for (key, page) in std::mem::take(&mut self.taken).iter() {
            // Whatever stood there is older.
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
    /// Held by whoever is storing.
    turn: Mutex<()>,
    /// Says that there is something.
    some: Sender<()>,
}

impl<S: Store> Backlog<S> {
    /// Nothing yet, on its way to this store, with a thread that stores what comes. Where the
    /// system gives none, whoever puts too much stores it, and whoever drains.
    pub fn start(store: S) -> Arc<Backlog<S>> {
        let (some, told) = bounded(1);
        let (waiting, turn) = (Mutex::default(), Mutex::new(()));
        let backlog = Arc::new(Backlog { store, waiting, turn, some });
        let behind = Arc::downgrade(&backlog);
        let thread = Builder::new().name("history".to_owned());
        if let Err(error) = thread.spawn(move || run(&told, &behind)) {
            tracing::warn!(%error, "history is stored without a thread of its own");
        }
        backlog
    }

    /// The store.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Puts a page there, whatever stood under its key.
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
            // It may be said already, or nobody listen.
            self.some.try_send(()).unwrap_or_default();
        }
    }

    /// A page that is not stored yet, or could not be.
    pub fn get(&self, key: PageKey) -> Option<Vec<u8>> {
        let waiting = self.waiting.lock();
        let page = waiting.new.get(&key).or_else(|| waiting.taken.get(&key));
        let page = page.or_else(|| waiting.unstored.get(&key));
        page.map(|page| page.to_vec())
    }

    /// Stores all that was put before.
    pub fn drain(&self) {
        let turn = self.turn.lock();
        let taken = {
            let mut waiting = self.waiting.lock();
            waiting.new_bytes = 0;
            waiting.taken = Arc::new(std::mem::take(&mut waiting.new));
            Arc::clone(&waiting.taken)
        };
        let stored = self.store.store(&taken);
        drop(taken);
        self.waiting.lock().stored(stored);
        drop(turn);
    }
}

/// Stores what gathers, until the backlog is gone.
fn run<S: Store>(told: &Receiver<()>, backlog: &Weak<Backlog<S>>) {
    while told.recv().is_ok() {
        std::thread::sleep(GATHER);
        let Some(backlog) = backlog.upgrade() else { return };
        backlog.drain();
        backlog.store.tidy();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::projection::history::Kind;

    #[derive(Default)]
    struct Kept(Mutex<Vec<(PageKey, Vec<u8>)>>, AtomicBool);

    impl Store for Kept {
        fn store(&self, pages: &Pages) -> bool {
            let fails = self.1.load(Ordering::Acquire);
            if !fails {
                self.0.lock().extend(pages.iter().map(|(key, page)| (*key, page.to_vec())));
            }
            !fails
        }

        fn tidy(&self) {}
    }

    const fn key(page: u64) -> PageKey {
        PageKey { kind: Kind::Orders, owner: 1, page }
    }

    #[test]
    fn a_page_is_found_on_its_way_and_stored_as_it_was_last() {
        let backlog = Backlog::start(Kept::default());
        for (page, bytes) in [(1, "a"), (2, "b"), (1, "c")] {
            backlog.put(key(page), bytes.into());
            let found = backlog.get(key(page)).or_else(|| {
                let stored = backlog.store().0.lock();
                stored.iter().rev().find(|(other, _)| *other == key(page)).map(|(_, b)| b.clone())
            });
            assert_eq!(found.as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(backlog.get(key(3)), None);
        backlog.drain();
        assert_eq!((backlog.get(key(1)), backlog.get(key(2))), (None, None));
        let stored = backlog.store().0.lock();
        let last = |page| stored.iter().rev().find(|(other, _)| *other == key(page));
        assert_eq!(last(1).map(|(_, bytes)| &bytes[..]), Some(&b"c"[..]));
        assert_eq!(last(2).map(|(_, bytes)| &bytes[..]), Some(&b"b"[..]));
    }

    #[test]
    fn what_could_not_be_stored_is_found_until_it_is_stored_anew() {
        let backlog = Backlog::start(Kept::default());
        let fails = |fails| backlog.store().1.store(fails, Ordering::Release);
        let put = |number, bytes: &str| {
            backlog.put(key(number), bytes.into());
            backlog.drain();
        };
        fails(true);
        put(1, "a");
        put(2, "b");
        put(1, "c");
        assert_eq!(backlog.get(key(1)).as_deref(), Some(b"c".as_slice()));
        assert_eq!(backlog.get(key(2)).as_deref(), Some(b"b".as_slice()));
        // The newer page is in the store; the older one must not hide it.
        fails(false);
        put(1, "d");
        assert_eq!((backlog.get(key(1)), backlog.get(key(2))), (None, Some(b"b".to_vec())));
        assert_eq!(backlog.store().0.lock().as_slice(), [(key(1), b"d".to_vec())]);
        assert_eq!(backlog.waiting.lock().unstored_bytes, 1);
    }

    #[test]
    fn what_could_not_be_stored_is_bounded() {
        let backlog = Backlog::start(Kept::default());
        backlog.store().1.store(true, Ordering::Release);
        let page = vec![0; 1 << 20];
        for number in 0..2 * (UNSTORED_BYTES_MAX >> 20) as u64 {
            backlog.put(key(number), page.clone());
        }
        backlog.drain();
        let waiting = backlog.waiting.lock();
        assert_eq!(waiting.unstored_bytes, UNSTORED_BYTES_MAX);
        assert_eq!(waiting.unstored.len(), UNSTORED_BYTES_MAX >> 20);
    }

    #[test]
    fn what_waits_is_bounded() {
        let backlog = Backlog::start(Kept::default());
        let page = vec![0; 1 << 20];
        for number in 0..64 {
            backlog.put(key(number), page.clone());
            assert!(backlog.waiting.lock().new_bytes <= WAITING_BYTES_MAX);
        }
        backlog.drain();
        assert_eq!(backlog.store().0.lock().len(), 64);
    }
}
