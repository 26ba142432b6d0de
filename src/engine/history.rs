//! History on disk: the page store of a running venue's read model, and which snapshots may be
//! started from because all pages that they refer to are durable.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::backlog::{self, Backlog, Store};
use exchange::units::Sequence;
use journal::block::{ChainHash, Head};
use journal::pages::{NAME_BYTES, PageStore};
use journal::reader::JournalReader;
use journal::snapshot::Point;
use journal::store::{Step, StoreError};
use views::history::page_storage::PageStorage;
use views::history::{History, HistoryError, KEY_BYTES, PageKey, ROWS_PER_PAGE};
use views::image::IMAGE_VERSION;

/// Bytes put after which the pages and their index are synced.
const SYNC_EVERY_BYTES: u64 = 8 << 20;
/// Bytes put after which the page file alone is written out. A journal on the same disk waits
/// behind pending writes, so there must never be many.
const WRITE_OUT_EVERY_BYTES: u64 = 256 << 10;

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
    backlog: Arc<Backlog<StoredState>>,
    rows: NonZeroU32,
}

#[derive(Debug)]
struct StoredState {
    pages: PageStore,
    /// The last record whose pages were put.
    folded: AtomicU64,
    /// The record up to which all pages, or later versions of them, were here before the replay.
    complete: AtomicU64,
    /// Bytes put since the last sync.
    unsynced: AtomicU64,
    /// Bytes put that are not written out either.
    unwritten: AtomicU64,
    failed: AtomicBool,
    /// True during a start's replay: pages put then may be stored already.
    replaying: AtomicBool,
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
            PageStore::remove(data).map_err(|_| error)?;
            PageStore::open(data)
        })?;
        let [folded, complete, unsynced, unwritten] = [const { AtomicU64::new(0) }; 4];
        let (failed, replaying) = (AtomicBool::new(false), AtomicBool::new(true));
        let state = StoredState { pages, folded, complete, unsynced, unwritten, failed, replaying };
        Ok(HistoryStore { backlog: Backlog::start(state), rows })
    }

    fn state(&self) -> &StoredState {
        self.backlog.store()
    }

    /// Where the venue's read model puts its pages.
    pub fn history(&self) -> History {
        History::on(Arc::clone(&self.backlog) as Arc<dyn PageStorage>).paged(self.rows)
    }

    /// For a read model whose pages are stored here already: it discards them.
    pub fn rebuild_target(&self) -> History {
        History::discarding().paged(self.rows)
    }

    /// Notes that all pages up to a record were put.
    pub fn folded(&self, through: Sequence) {
        self.state().folded.store(through.get(), Ordering::Release);
    }

    /// The last record whose pages were put.
    pub fn through(&self) -> Sequence {
        Sequence::new(self.state().folded.load(Ordering::Acquire))
    }

    /// Before the replay of a journal: pages of records up to which its pages are here already are
    /// not put again, so that a start writes only what is new.
    pub fn resume(&self, journal: &JournalReader) {
        let known = self.state().pages.completed().ok().flatten();
        let known = known.and_then(|known| {
            let known = known.strip_prefix(&IMAGE_VERSION.to_be_bytes())?;
            let (sequence, chain) = known.split_first_chunk()?;
            let sequence = Sequence::new(u64::from_be_bytes(*sequence));
            let block = journal.read(sequence).next()?.ok()?;
            (block.last() == sequence && block.hash().0 == chain).then_some(sequence)
        });
        self.state().complete.store(known.unwrap_or_default().get(), Ordering::Release);
    }

    /// Before a replay from record 1 after one that went wrong: all pages are put again.
    pub fn doubt(&self) {
        self.state().complete.store(0, Ordering::Release);
    }

    /// Ends the replay, at this head: pages put from now on are new.
    pub fn caught_up(&self, head: &Head) {
        self.state().replaying.store(false, Ordering::Release);
        if self.state().complete.load(Ordering::Acquire) >= head.sequence.get() {
            return;
        }
        self.backlog.drain();
        // A failure is logged and noted where it happens; the next start puts the pages again.
        if !self.has_failed() && self.state().sync().is_ok() {
            let complete = self.state().pages.complete(&point_of(head.sequence, &head.hash));
            drop(complete.and_then(|()| self.state().sync()));
        }
    }

    /// Makes all pages up to a snapshot's record durable and records that they are those of its
    /// journal. They must have been put before.
    ///
    /// # Errors
    /// A page failed since the start, or the pages cannot be made durable.
    pub fn vouch(&self, point: &Point) -> Result<(), NotVouched> {
        self.backlog.drain();
        if self.state().failed.load(Ordering::Acquire) {
            return Err(NotVouched::Failed);
        }
        self.state().sync()?;
        self.state().pages.vouch(&vouched_key(point.sequence), &point.chain.0)?;
        self.state().pages.complete(&point_of(point.sequence, &point.chain))?;
        self.state().sync()?;
        Ok(())
    }

    /// Whether the pages up to a snapshot's record are here, durable and of its journal.
    pub fn vouches(&self, point: &Point) -> bool {
        let found = self.state().pages.vouched(&vouched_key(point.sequence));
        found.is_ok_and(|chain| chain.is_some_and(|chain| chain == point.chain.0))
    }

    /// Looks whether the pages are still in their file. If not, they are made anew by the next
    /// start, and no snapshot that needs them is vouched for until then.
    pub fn watch(&self) {
        let state = self.state();
        if state.failed.load(Ordering::Acquire) {
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
        self.state().failed.load(Ordering::Acquire)
    }

    /// Closes the store; reads find nothing after that.
    pub fn close(&self) {
        self.backlog.drain();
        self.state().pages.close();
    }
}

/// The point up to which all pages are here, as this software makes them.
fn point_of(sequence: Sequence, chain: &ChainHash) -> Vec<u8> {
    let (version, sequence) = (IMAGE_VERSION.to_be_bytes(), sequence.get().to_be_bytes());
    [version.as_slice(), &sequence, &chain.0].concat()
}

const fn vouched_key(sequence: Sequence) -> [u8; 8] {
    sequence.get().to_be_bytes()
}

impl StoredState {
    fn sync(&self) -> Result<(), StoreError> {
        self.unsynced.store(0, Ordering::Release);
        self.unwritten.store(0, Ordering::Release);
        // After a failed sync nothing can be attested; the store is marked, so the next start
        // rebuilds it.
        self.pages.sync().inspect_err(|error| self.fail(error))
    }

    fn write_out(&self) -> Result<(), StoreError> {
        self.unwritten.store(0, Ordering::Release);
        self.pages.write_out().inspect_err(|error| self.fail(error))
    }

    fn fail(&self, error: &dyn std::fmt::Display) {
        // The background thread may run after the close; nothing is lost then.
        if !self.pages.is_closed() && !self.failed.swap(true, Ordering::AcqRel) {
            tracing::error!(
                %error,
                "a page of history could not be written or read: parts of it cannot be read until \
                 a restart makes them anew"
            );
        }
    }
}

impl Store for StoredState {
    fn store(&self, pages: &backlog::Pages) -> bool {
        let pages = pages.iter().map(|(key, page)| (key.bytes(), &**page));
        let put = if self.replaying.load(Ordering::Acquire) {
            self.pages.put_again(pages)
        } else {
            self.pages.put(pages)
        };
        match put {
            Ok(bytes) => {
                self.unsynced.fetch_add(bytes, Ordering::AcqRel);
                self.unwritten.fetch_add(bytes, Ordering::AcqRel);
                true
            }
            Err(error) => {
                self.fail(&error);
                false
            }
        }
    }

    fn tidy(&self) {
        if self.failed.load(Ordering::Acquire) {
            return;
        }
        let done = if self.unsynced.load(Ordering::Acquire) >= SYNC_EVERY_BYTES {
            self.sync()
        } else if self.unwritten.load(Ordering::Acquire) >= WRITE_OUT_EVERY_BYTES {
            self.write_out()
        } else {
            Ok(())
        };
        if let Err(error) = done
            && !self.pages.is_closed()
        {
            tracing::warn!(%error, "history could not be synced");
        }
    }
}

impl PageStorage for Backlog<StoredState> {
    fn put(&self, key: PageKey, bytes: Vec<u8>) {
        if self.keeps() {
            Backlog::put(self, key, bytes);
        }
    }

    fn keeps(&self) -> bool {
        let state = self.store();
        let folded = state.folded.load(Ordering::Acquire);
        folded >= state.complete.load(Ordering::Acquire) || !state.replaying.load(Ordering::Acquire)
    }

    fn get(&self, key: PageKey) -> Result<Option<Vec<u8>>, String> {
        if let Some(page) = Backlog::get(self, key) {
            return Ok(Some(page));
        }
        self.store().pages.get(&key.bytes()).map_err(|error| error.to_string())
    }

    fn failed(&self, error: &HistoryError) {
        // A failed put was reported already, and a closed store has lost nothing.
        let state = self.store();
        let known = state.failed.load(Ordering::Acquire);
        if !known && state.pages.damaged().is_ok() {
            state.fail(error);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/history.rs"]
mod tests;
