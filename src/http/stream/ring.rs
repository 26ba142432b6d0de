//! Rings: the latest messages of a topic, kept for all who read it. A reader has an index into the
//! ring and reads at its own pace; what is evicted before it was read shows when it comes for it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use super::bell::Bell;
use super::message::Message;
use exchange::units::Sequence;

/// Most bytes of messages that a ring keeps, but for one message that is larger.
pub const RING_BYTES_MAX: u64 = 1 << 20;

/// A topic's ring.
#[derive(Debug)]
pub struct Ring {
    state: Mutex<RingState>,
    end: AtomicU64,
}

/// What is in a ring.
#[derive(Debug)]
pub struct RingState {
    /// Each with the bytes of all that came before it.
    kept: VecDeque<(Arc<Message>, u64)>,
    /// Index of the first that is kept.
    first: u64,
    /// Bytes of all that ever came.
    bytes: u64,
    /// Everything after this record is here.
    pub covers_after: Sequence,
    /// Who is woken.
    pub readers: Vec<Arc<Bell>>,
    /// Since when there is no reader.
    pub idle_since: Option<Instant>,
}

/// A place in a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Index of the next message.
    pub next: u64,
    /// Messages up to this record are passed over.
    pub after: Sequence,
}

/// The reader's next message was evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted;

impl Ring {
    /// Empty; everything after this record will be in it.
    pub fn begin(after: Sequence) -> Ring {
        let state = RingState {
            kept: VecDeque::new(),
            first: 0,
            bytes: 0,
            covers_after: after,
            readers: Vec::new(),
            idle_since: None,
        };
        Ring { state: Mutex::new(state), end: AtomicU64::new(0) }
    }

    /// Locks it.
    pub fn lock(&self) -> MutexGuard<'_, RingState> {
        self.state.lock()
    }

    /// The index after the last message. Takes no lock.
    pub fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// Appends a message, and evicts the oldest ones beyond the bound, but none of the same record:
    /// no reader could be fast enough for that. Returns the bytes evicted.
    pub fn append(&self, message: Arc<Message>) -> u64 {
        let mut state = self.lock();
        let newest = message.sequence;
        let begins = state.bytes;
        state.bytes = begins.saturating_add(message.text.len() as u64);
        state.kept.push_back((message, begins));
        let mut evicted = 0_u64;
        while state.held() > RING_BYTES_MAX && state.oldest_record().is_some_and(|it| it < newest) {
            evicted = evicted.saturating_add(state.evict());
        }
        self.end.store(state.end(), Ordering::Release);
        evicted
    }

    /// Evicts everything: what came up to this record was lost. Returns the bytes evicted.
    pub fn break_off(&self, through: Sequence) -> u64 {
        let mut state = self.lock();
        let held = state.held();
        // An index that no reader has passed shows them that something is missing.
        state.first = state.end().saturating_add(1);
        state.kept.clear();
        state.covers_after = through;
        self.end.store(state.end(), Ordering::Release);
        held
    }
}

impl RingState {
    /// The index after the last message.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.kept.len() as u64)
    }

    /// The place of the oldest message among all messages; `None` in an empty ring.
    pub fn oldest(&self) -> Option<u64> {
        self.kept.front().map(|(message, _)| message.order)
    }

    /// The record of the oldest message.
    fn oldest_record(&self) -> Option<Sequence> {
        self.kept.front().map(|(message, _)| message.sequence)
    }

    /// Evicts the oldest message; returns its bytes.
    pub fn evict(&mut self) -> u64 {
        let Some((message, _)) = self.kept.pop_front() else { return 0 };
        self.first = self.first.saturating_add(1);
        self.covers_after = self.covers_after.max(message.sequence);
        message.text.len() as u64
    }

    /// Bytes of what is kept.
    pub fn held(&self) -> u64 {
        self.kept.front().map_or(0, |(_, begins)| self.bytes.saturating_sub(*begins))
    }

    /// The place after this record.
    ///
    /// # Errors
    /// Not everything after it is here.
    pub fn cursor_after(&self, record: Sequence) -> Result<Cursor, Evicted> {
        if record < self.covers_after {
            return Err(Evicted);
        }
        let passed = self.kept.partition_point(|(message, _)| message.sequence <= record);
        Ok(Cursor { next: self.first.saturating_add(passed as u64), after: record })
    }

    /// Bytes from a place to the newest record: that has only just come.
    ///
    /// # Errors
    /// What is at the place was evicted.
    pub fn behind(&self, cursor: Cursor) -> Result<u64, Evicted> {
        let index = self.index(cursor)?;
        let newest = self.kept.back().map(|(message, _)| message.sequence);
        let end = self.kept.partition_point(|(message, _)| Some(message.sequence) < newest);
        let begins = |index: usize| self.kept.get(index).map_or(self.bytes, |(_, begins)| *begins);
        Ok(begins(end).saturating_sub(begins(index)))
    }

    /// The messages from a place on, up to this record, each with its index.
    ///
    /// # Errors
    /// What is at the place was evicted.
    pub fn read(
        &self,
        cursor: Cursor,
        through: Sequence,
    ) -> Result<impl Iterator<Item = (u64, &Arc<Message>)>, Evicted> {
        let index = self.index(cursor)?;
        let rest = (self.first.saturating_add(index as u64)..).zip(self.kept.range(index..));
        let rest = rest.map(|(index, (message, _))| (index, message));
        Ok(rest.take_while(move |(_, message)| message.sequence <= through))
    }

    fn index(&self, cursor: Cursor) -> Result<usize, Evicted> {
        if cursor.next < self.first && cursor.after < self.covers_after {
            return Err(Evicted);
        }
        let index = cursor.next.saturating_sub(self.first);
        Ok(usize::try_from(index).unwrap_or(usize::MAX).min(self.kept.len()))
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/ring.rs"]
mod tests;
