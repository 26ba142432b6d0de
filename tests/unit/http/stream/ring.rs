//! Unit tests of `src/http/stream/ring.rs`.

use bytes::Bytes;

use super::*;

/// A message of a record, of so many bytes.
fn message(sequence: u64, bytes: usize) -> Arc<Message> {
    let text = Bytes::from(vec![b' '; bytes]);
    Arc::new(Message { sequence: Sequence::new(sequence), order: sequence, market: None, text })
}

fn records(state: &RingState, cursor: Cursor, through: u64) -> Result<Vec<u64>, Evicted> {
    let read = state.read(cursor, Sequence::new(through))?;
    Ok(read.map(|(_, message)| message.sequence.get()).collect())
}

fn after(next: u64, record: u64) -> Cursor {
    Cursor { next, after: Sequence::new(record) }
}

#[test]
fn a_ring_holds_no_more_than_its_bound_and_says_what_it_lacks() {
    let ring = Ring::begin(Sequence::new(10));
    let quarter = usize::try_from(RING_BYTES_MAX / 4).unwrap();
    let evicted: u64 = (11..=16).map(|record| ring.append(message(record, quarter))).sum();
    let state = ring.lock();
    assert_eq!((state.held(), evicted), (RING_BYTES_MAX, RING_BYTES_MAX / 2));
    assert_eq!(state.covers_after, Sequence::new(12));
    // Whoever was at the beginning missed two records, unless they knew them already.
    assert_eq!(records(&state, after(0, 10), 16), Err(Evicted));
    assert_eq!(state.behind(after(0, 10)), Err(Evicted));
    assert_eq!(records(&state, after(0, 12), 15), Ok(vec![13, 14, 15]));
    assert_eq!(state.behind(after(4, 10)), Ok(RING_BYTES_MAX / 4), "without the newest");
    assert_eq!(state.behind(after(6, 10)), Ok(0));
    assert_eq!(state.cursor_after(Sequence::new(11)), Err(Evicted));
    assert_eq!(state.cursor_after(Sequence::new(12)), Ok(after(2, 12)));
    assert_eq!(state.cursor_after(Sequence::new(14)), Ok(after(4, 14)));
    assert_eq!(state.cursor_after(Sequence::new(99)), Ok(after(6, 99)));
}

#[test]
fn a_message_larger_than_the_bound_is_kept_until_the_next() {
    let ring = Ring::begin(Sequence::ZERO);
    let large = usize::try_from(2 * RING_BYTES_MAX).unwrap();
    assert_eq!(ring.append(message(1, large)), 0);
    assert_eq!(records(&ring.lock(), after(0, 0), 1), Ok(vec![1]));
    assert_eq!(ring.append(message(2, 1)), 2 * RING_BYTES_MAX);
    assert_eq!(ring.lock().held(), 1);
}

#[test]
fn a_record_larger_than_the_bound_is_kept_whole_and_makes_nobody_slow() {
    let ring = Ring::begin(Sequence::ZERO);
    let half = usize::try_from(RING_BYTES_MAX / 2).unwrap();
    ring.append(message(1, half));
    let evicted: u64 = (0..4).map(|_| ring.append(message(2, half))).sum();
    assert_eq!((evicted, ring.lock().held()), (RING_BYTES_MAX / 2, 2 * RING_BYTES_MAX));
    assert_eq!(ring.lock().behind(after(1, 1)), Ok(0), "it has only just come");
    ring.append(message(3, 1));
    assert_eq!(ring.lock().held(), RING_BYTES_MAX / 2 + 1);
    assert_eq!(ring.lock().behind(after(1, 1)), Err(Evicted));
}

#[test]
fn who_has_read_all_still_sees_that_something_was_lost_after_it() {
    let ring = Ring::begin(Sequence::ZERO);
    ring.append(message(1, 5));
    let read = after(ring.end(), 0);
    assert_eq!(ring.lock().behind(read), Ok(0));
    assert_eq!(ring.break_off(Sequence::new(7)), 5);
    assert_ne!(ring.end(), read.next);
    assert_eq!(ring.lock().behind(read), Err(Evicted));
    ring.append(message(8, 5));
    assert_eq!(records(&ring.lock(), read, 9), Err(Evicted));
    // Whoever began after the loss lacks nothing.
    assert_eq!(records(&ring.lock(), after(1, 7), 9), Ok(vec![8]));
    assert_eq!(ring.lock().cursor_after(Sequence::new(6)), Err(Evicted));
}
