//! Unit tests of `src/http/unread_rows.rs`.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::auth::Via;
use exchange::command::Role;
use exchange::ids::KeyNo;
use exchange::units::Sequence;

const LIMITS: UnreadLimits =
    UnreadLimits { rows_max: 10, rows_of_user_max: 6, wait: Duration::ZERO };

fn caller(user: u32, role: Role) -> Caller {
    let (as_of, keys_as_of) = (Sequence::ZERO, Sequence::ZERO);
    Caller { user: UserNo(user), via: Via::Key(KeyNo(user)), role, as_of, keys_as_of }
}

#[test]
fn no_more_rows_wait_than_may_of_one_user_and_of_all() {
    let unread = Arc::new(UnreadRows::new(LIMITS));
    let of = |user, role, rows| UnreadRows::reserve(&unread, &caller(user, role), rows);
    let reserve = |user, rows| of(user, Role::Trader, rows);
    let first = reserve(1, 4).unwrap();
    assert!(reserve(1, 3).is_err());
    let second = reserve(1, 2).unwrap();
    let third = reserve(2, 4).unwrap();
    assert!(reserve(3, 1).is_err());
    assert!(of(3, Role::Operator, 7).is_err());
    drop(of(3, Role::Operator, 6).unwrap());
    drop(first);
    assert!(reserve(1, 5).is_err());
    drop(reserve(1, 4).unwrap());
    drop((second, third));
    assert_eq!(unread.waiting.lock().rows, 0);
    assert!(unread.waiting.lock().users.is_empty());
}

/// How often a read yields.
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
    assert_eq!(turns(10 * ROWS_A_TURN, 2 * ROWS_A_TURN), (2 * ROWS_A_TURN, 1));
    let failed = (0..).map(|row| if row < ROWS_A_TURN * 3 / 2 { Ok(row) } else { Err("page") });
    let mut reading = pin!(read_in_turns(failed, 1000));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(reading.as_mut().poll(&mut cx).is_pending());
    assert_eq!(reading.as_mut().poll(&mut cx), Poll::Ready(Err("page")));
}
