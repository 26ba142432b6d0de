//! Bounds on long lists: rows that wait in memory until their reader takes them, and turns for
//! lists that take long to read. Without them, one user with slow connections could fill the
//! memory, and one with fast ones could monopolise a worker.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::yield_now;

use super::auth::Caller;
use super::problem::{Kind, Problem};
use exchange::ids::UserNo;

/// Rows read before other tasks of the worker get a turn: each row may be on a page of its own.
pub const ROWS_A_TURN: usize = 32;
/// Long lists read at the same time: one, so that other requests of a worker wait for one turn at
/// most.
const READING_MAX: usize = 1;

/// Limits on waiting rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadLimits {
    /// Rows of all users together; operators may have as many more as one user, so that slow
    /// readers never keep them out.
    pub rows_max: usize,
    /// Rows of one user.
    pub rows_of_user_max: usize,
    /// Longest time in which an answer must be read; after it the connection ends. A client that
    /// reads a few bytes now and then would otherwise keep its rows for ever.
    pub wait: Duration,
}

impl UnreadLimits {
    /// Four of the longest lists for a user, and sixteen such users; a row takes about 250 bytes.
    /// In five minutes the longest list, 5 MB, takes 16 KB a second.
    pub const STANDARD: UnreadLimits =
        UnreadLimits { rows_max: 640_000, rows_of_user_max: 40_000, wait: Duration::from_mins(5) };
}

/// Counts the rows of answers that are not fully sent, and hands out turns for long reads.
#[derive(Debug)]
pub struct UnreadRows {
    limits: UnreadLimits,
    waiting: Mutex<Waiting>,
    reading: Semaphore,
}

#[derive(Debug, Default)]
struct Waiting {
    rows: usize,
    /// Rows by user; only users with waiting rows.
    users: BTreeMap<UserNo, usize>,
}

/// A reservation: its rows count as waiting until it is dropped.
#[derive(Debug)]
pub struct RowReservation {
    unread: Arc<UnreadRows>,
    user: UserNo,
    rows: usize,
    /// When the answer must have been read.
    until: Instant,
}

impl UnreadRows {
    /// No waiting rows.
    pub fn new(limits: UnreadLimits) -> UnreadRows {
        let (waiting, reading) = (Mutex::default(), Semaphore::new(READING_MAX));
        UnreadRows { limits, waiting, reading }
    }

    /// Reserves `rows` rows of an answer to `caller`.
    ///
    /// # Errors
    /// [`Kind::Overloaded`] if a limit would be exceeded.
    pub fn reserve(
        this: &Arc<UnreadRows>,
        caller: &Caller,
        rows: usize,
    ) -> Result<RowReservation, Problem> {
        let (limits, user) = (this.limits, caller.user);
        let extra = if caller.is_operator() { limits.rows_of_user_max } else { 0 };
        let rows_max = limits.rows_max.saturating_add(extra);
        let mut waiting = this.waiting.lock();
        let all = waiting.rows.saturating_add(rows);
        let own = waiting.users.get(&user).map_or(0, |rows| *rows).saturating_add(rows);
        if all > rows_max || own > limits.rows_of_user_max {
            return Err(Problem::new(
                Kind::Overloaded,
                "too many long lists wait to be read; read them, or ask for shorter ones",
            ));
        }
        waiting.rows = all;
        waiting.users.insert(user, own);
        let until = Instant::now() + limits.wait;
        Ok(RowReservation { unread: Arc::clone(this), user, rows, until })
    }

    /// Waits for a turn to read a long list, in order of arrival. It takes a reservation, so few
    /// can wait.
    pub async fn turn(&self, _reserved: &RowReservation) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.reading.acquire().await.ok()
    }
}

impl RowReservation {
    /// Whether the time in which the answer must be read is over.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

impl Drop for RowReservation {
    fn drop(&mut self) {
        let mut waiting = self.unread.waiting.lock();
        waiting.rows = waiting.rows.saturating_sub(self.rows);
        let left = waiting.users.get(&self.user).map_or(0, |rows| rows.saturating_sub(self.rows));
        if left == 0 {
            waiting.users.remove(&self.user);
        } else {
            waiting.users.insert(self.user, left);
        }
    }
}

/// Reads at most `most` rows of a list and yields to other tasks in between.
///
/// # Errors
/// The first error of the list.
pub async fn read_in_turns<T, E>(
    list: impl Iterator<Item = Result<T, E>>,
    most: usize,
) -> Result<Vec<T>, E> {
    let (mut list, mut rows) = (list.take(most), Vec::new());
    loop {
        let before = rows.len();
        for row in list.by_ref().take(ROWS_A_TURN) {
            rows.push(row?);
        }
        if rows.len().saturating_sub(before) < ROWS_A_TURN || rows.len() == most {
            return Ok(rows);
        }
        yield_now().await;
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/unread_rows.rs"]
mod tests;
