//! History on disk: the page store of a running venue's read model, which is written behind, and
//! up to which record all pages are there, so that a snapshot can be started from.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::Builder;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

use exchange::units::Sequence;
use journal::block::{ChainHash, Head};
use journal::disk::simulated;
use journal::pages::{NAME_BYTES, PageStore};
use journal::reader::JournalReader;
use journal::snapshot::Point;
use journal::store::{Step, StoreError};
use views::IMAGE_VERSION;
use views::history::{History, HistoryError, KEY_BYTES, PageKey, PageStorage, ROWS_PER_PAGE};

/// Bytes put after which the pages and their index are synced.
const SYNC_EVERY_BYTES: u64 = 8 << 20;
/// Bytes put after which the page file alone is written out. A journal on the same disk waits
/// behind pending writes, so there must never be many.
const WRITE_OUT_EVERY_BYTES: u64 = 256 << 10;
/// How long pages collect before they are stored.
const COLLECT_FOR: Duration = Duration::from_millis(100);
/// Bytes that may wait; a caller that exceeds them stores them itself (backpressure).
const WAITING_BYTES_MAX: usize = 4 << 20;
/// Bytes kept in memory after the store failed: a full disk halts the intake but not the readers.
/// Pages beyond that are missing until a restart makes them anew.
const UNSTORED_BYTES_MAX: usize = 64 << 20;

// A key ends with the number of the page.
const _: () = assert!(KEY_BYTES == NAME_BYTES);

/// Why the pages up to a record cannot be attested to be complete.
#[derive(Debug, thiserror::Error)]
pub enum NotVouched {
    /// A page could not be stored or read since the start.
    #[error("HISTORY_FAILED: a page could not be written or read; the next start writes it again")]
    Failed,
    /// The page store fails.
    #[error("HISTORY_STORE: {0}")]
    Store(#[from] StoreError),
}

/// A data directory's history. Clones share it.
#[derive(Debug, Clone)]
pub struct HistoryStore {
    stored: Arc<Stored>,
    rows: NonZeroU32,
}

/// The store, and the pages on their way to it. The projector holds the read model's lock while it
/// puts a page, so a put must not wait for the store.
#[derive(Debug)]
struct Stored {
    pages: PageStore,
    waiting: Mutex<Waiting>,
    /// Held while storing.
    store_lock: Mutex<()>,
    /// Wakes the thread that stores.
    wake: Sender<()>,
    /// The last record whose pages were put.
    folded: AtomicU64,
    /// The record up to which all pages are durably here.
    complete: AtomicU64,
    /// Bytes put since the last sync.
    unsynced: AtomicU64,
    /// Bytes put that are not written out either.
    unwritten: AtomicU64,
    failed: AtomicBool,
    /// True during a start's replay.
    replaying: AtomicBool,
}

/// Pages by their keys.
type Pages = BTreeMap<PageKey, Box<[u8]>>;

/// Pages that wait, and those being stored; readers find both.
#[derive(Debug, Default)]
struct Waiting {
    new: Pages,
    new_bytes: usize,
    storing: Arc<Pages>,
}

impl HistoryStore {
    /// The history of a data directory whose journal is open. A store of another format, or one
    /// that was found damaged, is removed and rebuilt: the journal holds everything.
    ///
    /// # Errors
    /// The system does not let the files be created, read or written: what is there may be sound,
    /// so it is kept.
    pub fn open(data: &Path) -> Result<HistoryStore, StoreError> {
        HistoryStore::open_paged(data, ROWS_PER_PAGE)
    }

    /// The same with another number of rows per page.
    pub fn open_paged(data: &Path, rows: NonZeroU32) -> Result<HistoryStore, StoreError> {
        if PageStore::is_damaged(data) {
            tracing::warn!("history was found damaged; it is made anew from the whole journal");
            let removing = |error| StoreError::new(Step::Remove, error);
            PageStore::remove(data).map_err(removing)?;
        }
        let pages = PageStore::open(data).or_else(|error| {
            if error.by_system {
                let (folder, StoreError { step, what, .. }) = (PageStore::folder(data), error);
                let folder = folder.display();
                let advice = "history may be removed, and is made anew from the journal then";
                return Err(StoreError::new(step, format_args!("{folder}: {what}; {advice}")));
            }
            tracing::error!(
                %error, "history cannot be opened; it is made anew from the whole journal"
            );
            PageStore::remove(data).map_err(|cause| {
                let (folder, what) = (PageStore::folder(data), error.what);
                let folder = folder.display();
                let what = format_args!("{folder}: {what}; it cannot be removed: {cause}");
                StoreError::new(Step::Remove, what)
            })?;
            PageStore::open(data)
        })?;
        let (wake, wakes) = bounded(1);
        let [folded, complete, unsynced, unwritten] = [const { AtomicU64::new(0) }; 4];
        let (failed, replaying) = (AtomicBool::new(false), AtomicBool::new(true));
        let (waiting, store_lock) = (Mutex::default(), Mutex::new(()));
        let stored = Arc::new(Stored {
            pages,
            waiting,
            store_lock,
            wake,
            folded,
            complete,
            unsynced,
            unwritten,
            failed,
            replaying,
        });
        let weak = Arc::downgrade(&stored);
        let thread = Builder::new().name("history".to_owned());
        if !simulated()
            && let Err(error) = thread.spawn(move || run(&wakes, &weak))
        {
            tracing::warn!(%error, "history is stored without a thread of its own");
        }
        Ok(HistoryStore { stored, rows })
    }

    /// Stores what has collected, where no thread of its own does.
    pub fn tidy(&self) {
        self.stored.drain();
        self.stored.tidy();
    }

    /// Where the venue's read model puts its pages.
    pub fn history(&self) -> History {
        History::on(Arc::clone(&self.stored) as Arc<dyn PageStorage>).paged(self.rows)
    }

    /// For a read model whose pages are stored here already: it discards them.
    pub fn rebuild_target(&self) -> History {
        History::discarding().paged(self.rows)
    }

    /// Notes that all pages up to a record were put.
    pub fn folded(&self, through: Sequence) {
        self.stored.folded.store(through.get(), Ordering::Release);
    }

    /// The last record whose pages were put.
    pub fn through(&self) -> Sequence {
        Sequence::new(self.stored.folded.load(Ordering::Acquire))
    }

    /// Before the replay of a journal: pages of records up to which its pages are here already are
    /// not put again, so that a start writes only what is new. If it is not known that these are
    /// pages of this journal as this software makes them, all are made anew.
    pub fn resume(&self, journal: &JournalReader) {
        let known = self.stored.pages.completed().ok().flatten();
        let known = known.and_then(|known| {
            let known = known.strip_prefix(&IMAGE_VERSION.to_be_bytes())?;
            let (sequence, chain) = known.split_first_chunk()?;
            let sequence = Sequence::new(u64::from_be_bytes(*sequence));
            if sequence == Sequence::ZERO {
                return Some(sequence);
            }
            let block = journal.read(sequence).next()?.ok()?;
            (block.last() == sequence && block.hash().0 == chain).then_some(sequence)
        });
        match known {
            Some(known) => self.stored.complete.store(known.get(), Ordering::Release),
            None => self.doubt(),
        }
    }

    /// Before a replay from record 1 whose pages may be others: all are made anew.
    pub fn doubt(&self) {
        self.stored.complete.store(0, Ordering::Release);
        self.stored.drain();
        let renewed = self.stored.pages.renew();
        let begun = renewed.and_then(|()| self.stored.attest(Sequence::ZERO, &Head::START.hash));
        if let Err(error) = begun {
            self.stored.fail(&error);
        }
    }

    /// Ends the replay, at this head.
    pub fn caught_up(&self, head: &Head) {
        self.stored.replaying.store(false, Ordering::Release);
        // A failure is logged and noted where it happens; the next start puts the pages again.
        self.stored.completed(head.sequence, &head.hash).unwrap_or_default();
    }

    /// Makes all pages up to a snapshot's record durable and records that they are those of its
    /// journal. They must have been put before.
    ///
    /// # Errors
    /// A page failed since the start, or the pages cannot be made durable.
    pub fn vouch(&self, point: &Point) -> Result<(), NotVouched> {
        self.stored.completed(point.sequence, &point.chain)
    }

    /// Whether the pages up to a snapshot's record are here and durable.
    pub fn vouches(&self, point: &Point) -> bool {
        !self.has_failed() && self.stored.complete.load(Ordering::Acquire) >= point.sequence.get()
    }

    /// Looks whether the pages are still in their file. If not, they are made anew by the next
    /// start, and no snapshot that needs them is vouched for until then.
    pub fn watch(&self) {
        let state = &self.stored;
        if state.has_failed() {
            return;
        }
        if let Some(fate) = state.pages.fate() {
            state.fail(&format_args!("a file of the pages was {fate} while the server runs"));
            // Where there is no folder any more, it is made anew in any case.
            if let Err(error) = state.pages.damaged() {
                tracing::warn!(%error, "history could not be marked as damaged");
            }
        }
    }

    /// Whether pages were found lost or damaged since the start.
    pub fn has_failed(&self) -> bool {
        self.stored.has_failed()
    }

    /// Closes the store; reads find nothing after that.
    pub fn close(&self) {
        self.stored.drain();
        self.stored.pages.close();
    }
}

impl Stored {
    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Makes all pages up to a record durable, and notes it.
    fn completed(&self, sequence: Sequence, chain: &ChainHash) -> Result<(), NotVouched> {
        self.drain();
        if self.has_failed() {
            return Err(NotVouched::Failed);
        }
        if self.complete.load(Ordering::Acquire) >= sequence.get() {
            return Ok(());
        }
        self.sync()?;
        self.attest(sequence, chain)?;
        self.sync()?;
        self.complete.store(sequence.get(), Ordering::Release);
        Ok(())
    }

    fn attest(&self, sequence: Sequence, chain: &ChainHash) -> Result<(), StoreError> {
        let (version, number) = (IMAGE_VERSION.to_be_bytes(), sequence.get().to_be_bytes());
        self.pages.complete(&[version.as_slice(), &number, &chain.0].concat())
    }

    /// Stores all pages put before. After a failure they are kept for readers.
    fn drain(&self) {
        let store_lock = self.store_lock.lock();
        if self.has_failed() {
            return;
        }
        let storing = {
            let mut waiting = self.waiting.lock();
            waiting.new_bytes = 0;
            waiting.storing = Arc::new(std::mem::take(&mut waiting.new));
            Arc::clone(&waiting.storing)
        };
        let put = self.pages.put(storing.iter().map(|(key, page)| (key.bytes(), &**page)));
        match put {
            Ok(bytes) => {
                self.unsynced.fetch_add(bytes, Ordering::AcqRel);
                self.unwritten.fetch_add(bytes, Ordering::AcqRel);
                self.waiting.lock().storing = Arc::default();
            }
            Err(error) => {
                self.fail(&error);
                let mut waiting = self.waiting.lock();
                waiting.storing = Arc::default();
                for (key, page) in storing.iter() {
                    waiting.keep(*key, page.clone());
                }
            }
        }
        drop(store_lock);
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.unsynced.store(0, Ordering::Release);
        self.unwritten.store(0, Ordering::Release);
        // After a failed sync nothing can be attested; the store is marked, so the next start
        // rebuilds it.
        self.pages.sync().inspect_err(|error| self.fail(error))
    }

    /// Syncs so much at a time that nobody waits long.
    fn tidy(&self) {
        if self.has_failed() {
            return;
        }
        let done = if self.unsynced.load(Ordering::Acquire) >= SYNC_EVERY_BYTES {
            self.sync()
        } else if self.unwritten.load(Ordering::Acquire) >= WRITE_OUT_EVERY_BYTES {
            self.unwritten.store(0, Ordering::Release);
            self.pages.write_out().inspect_err(|error| self.fail(error))
        } else {
            Ok(())
        };
        if let Err(error) = done
            && !self.pages.is_closed()
        {
            tracing::warn!(%error, "history could not be synced");
        }
    }

    fn fail(&self, error: &dyn std::fmt::Display) {
        // The thread that stores may run after the close; nothing is lost then.
        if !self.pages.is_closed() && !self.failed.swap(true, Ordering::AcqRel) {
            tracing::error!(
                %error,
                "a page of history could not be written or read: parts of it cannot be read until \
                 a restart makes them anew"
            );
        }
    }
}

impl Waiting {
    /// Keeps a page that cannot be stored, within a bound.
    fn keep(&mut self, key: PageKey, page: Box<[u8]>) {
        let bytes = self.new_bytes.saturating_add(page.len());
        if bytes <= UNSTORED_BYTES_MAX {
            self.new_bytes = bytes;
            self.new.insert(key, page);
        }
    }
}

impl PageStorage for Stored {
    fn put(&self, key: PageKey, bytes: Vec<u8>) {
        if !self.keeps() {
            return;
        }
        let full = {
            let mut waiting = self.waiting.lock();
            if self.has_failed() {
                waiting.keep(key, bytes.into());
                return;
            }
            waiting.new_bytes = waiting.new_bytes.saturating_add(bytes.len());
            waiting.new.insert(key, bytes.into());
            waiting.new_bytes > WAITING_BYTES_MAX
        };
        if full {
            self.drain();
        } else {
            // A wake-up may be pending already, or there is no thread.
            self.wake.try_send(()).unwrap_or_default();
        }
    }

    fn keeps(&self) -> bool {
        let folded = self.folded.load(Ordering::Acquire);
        folded >= self.complete.load(Ordering::Acquire) || !self.replaying.load(Ordering::Acquire)
    }

    fn get(&self, key: PageKey) -> Result<Option<Vec<u8>>, String> {
        {
            let waiting = self.waiting.lock();
            let page = waiting.new.get(&key).or_else(|| waiting.storing.get(&key));
            if let Some(page) = page {
                return Ok(Some(page.to_vec()));
            }
        }
        self.pages.get(&key.bytes()).map_err(|error| error.to_string())
    }

    fn failed(&self, error: &HistoryError) {
        // A failed put was reported already, and a closed store has lost nothing.
        if !self.has_failed() && self.pages.damaged().is_ok() {
            self.fail(error);
        }
    }
}

/// The thread that stores what has collected, until the store is dropped.
fn run(wakes: &Receiver<()>, stored: &Weak<Stored>) {
    while wakes.recv().is_ok() {
        std::thread::sleep(COLLECT_FOR);
        let Some(stored) = stored.upgrade() else { return };
        stored.drain();
        stored.tidy();
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/history.rs"]
mod tests;
