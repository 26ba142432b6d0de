//! What is held for the readers of long lists: rows that wait to be printed, for as long as their
//! reader takes; and turns, for lists that take long to read. Without bounds one user with slow
//! connections would fill the memory, and one with fast ones would keep a lane for himself.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::yield_now;

use super::problem::{Kind, Problem};
use crate::exchange::ids::UserNo;

/// Rows read before others of the lane have a turn: each may be on a page of its own.
pub const ROWS_A_TURN: usize = 128;
/// Lists read at length at once: one, so that whoever shares a lane with it waits for one turn.
const READING_MAX: usize = 1;

/// How many rows may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadLimits {
    /// Of all users.
    pub rows_max: usize,
    /// Of one.
    pub rows_of_user_max: usize,
}

impl UnreadLimits {
    /// Four of the longest lists a user, and sixteen such users: a row takes some 250 bytes.
    pub const STANDARD: UnreadLimits = UnreadLimits { rows_max: 640_000, rows_of_user_max: 40_000 };
}

/// The rows that wait in answers not taken yet, and who reads at length.
#[derive(Debug)]
pub struct UnreadRows {
    limits: UnreadLimits,
    waiting: Mutex<Waiting>,
    reading: Semaphore,
}

#[derive(Debug, Default)]
struct Waiting {
    rows: usize,
    /// Users of whom some wait.
    users: BTreeMap<UserNo, usize>,
}

/// Rows that count as waiting until this is dropped.
#[derive(Debug)]
pub struct RowReservation {
    of: Arc<UnreadRows>,
    user: UserNo,
    rows: usize,
}

impl UnreadRows {
    /// Nothing waits yet.
    pub fn new(limits: UnreadLimits) -> UnreadRows {
        let (waiting, reading) = (Mutex::default(), Semaphore::new(READING_MAX));
        UnreadRows { limits, waiting, reading }
    }

    /// Holds room for so many rows of a user's answer.
    ///
    /// # Errors
    /// As many wait as may.
    pub fn hold(
        this: &Arc<UnreadRows>,
        user: UserNo,
        rows: usize,
    ) -> Result<RowReservation, Problem> {
        let mut waiting = this.waiting.lock();
        let all = waiting.rows.saturating_add(rows);
        let own = waiting.users.get(&user).map_or(0, |rows| *rows).saturating_add(rows);
        if all > this.limits.rows_max || own > this.limits.rows_of_user_max {
            return Err(Problem::new(
                Kind::Overloaded,
                "too many long lists wait to be read; read them, or ask for shorter ones",
            ));
        }
        waiting.rows = all;
        waiting.users.insert(user, own);
        Ok(RowReservation { of: Arc::clone(this), user, rows })
    }

    /// A turn among those who read at length, in the order in which they come. Only who holds room
    /// may wait for one, so those who wait are few.
    pub async fn turn(&self, _held: &RowReservation) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.reading.acquire().await.ok()
    }
}

impl Drop for RowReservation {
    fn drop(&mut self) {
        let mut waiting = self.of.waiting.lock();
        waiting.rows = waiting.rows.saturating_sub(self.rows);
        let left = waiting.users.get(&self.user).map_or(0, |rows| rows.saturating_sub(self.rows));
        if left == 0 {
            waiting.users.remove(&self.user);
        } else {
            waiting.users.insert(self.user, left);
        }
    }
}

/// Reads so many rows of a list, and lets others have their turns meanwhile.
///
/// # Errors
/// The list's first.
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
        if rows.len().saturating_sub(before) < ROWS_A_TURN {
            return Ok(rows);
        }
        yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const LIMITS: UnreadLimits = UnreadLimits { rows_max: 10, rows_of_user_max: 6 };

    #[test]
    fn no_more_rows_wait_than_may_of_one_user_and_of_all() {
        let untaken = Arc::new(UnreadRows::new(LIMITS));
        let hold = |user, rows| UnreadRows::hold(&untaken, UserNo(user), rows);
        let first = hold(1, 4).unwrap();
        assert!(hold(1, 3).is_err());
        let second = hold(1, 2).unwrap();
        let third = hold(2, 4).unwrap();
        assert!(hold(3, 1).is_err());
        drop(first);
        assert!(hold(1, 5).is_err());
        drop(hold(1, 4).unwrap());
        drop((second, third));
        assert_eq!(untaken.waiting.lock().rows, 0);
        assert!(untaken.waiting.lock().users.is_empty());
    }

    /// How often others have a turn while a list is read.
    fn turns(rows: usize, most: usize) -> (usize, usize) {
        let mut reading = pin!(read_in_turns((0..rows).map(Ok::<_, ()>), most));
        let mut turns = 0;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _inside = runtime.enter();
        loop {
            match reading.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(read) => return (read.unwrap().len(), turns),
                Poll::Pending => turns += 1,
            }
        }
    }

    #[test]
    fn a_long_list_lets_others_have_their_turns() {
        assert_eq!(turns(ROWS_A_TURN - 1, 1000), (ROWS_A_TURN - 1, 0));
        assert_eq!(turns(10 * ROWS_A_TURN, 9 * ROWS_A_TURN + 1), (9 * ROWS_A_TURN + 1, 9));
        let failed = (0..).map(|row| if row < 200 { Ok(row) } else { Err("page") });
        let mut reading = pin!(read_in_turns(failed, 1000));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(reading.as_mut().poll(&mut cx).is_pending());
        assert_eq!(reading.as_mut().poll(&mut cx), Poll::Ready(Err("page")));
    }
}
