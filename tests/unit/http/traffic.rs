//! Unit tests of `src/http/traffic.rs`.

use super::*;

#[test]
fn every_answer_is_counted_under_its_status() {
    assert!(STATUSES.is_sorted());
    let traffic = Traffic::new(3);
    let now = Instant::now();
    for status in [404, 404, 200, 599] {
        traffic.count(None, status, now);
    }
    let answers: Vec<_> = traffic.answers().collect();
    assert_eq!(answers, [(None, Some(200), 1), (None, Some(404), 2), (None, None, 1)]);
}

#[test]
fn a_connection_counts_until_it_ends() {
    let traffic = Traffic::new(0);
    let (first, second) = (traffic.connect(), traffic.connect());
    assert_eq!(traffic.connections(), 2);
    drop(first);
    assert_eq!(traffic.connections(), 1);
    drop(second);
    assert_eq!(traffic.connections(), 0);
}
