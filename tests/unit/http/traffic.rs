//! Unit tests of `src/http/traffic.rs`.

use super::*;

#[test]
fn every_answer_is_counted_under_its_status() {
    assert!(STATUSES.is_sorted());
    let get = (Method::GET, "/a", RequestClass::Reads);
    let traffic = Traffic::new(vec![get, (Method::PUT, "/b", RequestClass::Writes)]);
    let now = Instant::now();
    for status in [404, 404, 200, 599] {
        traffic.count(None, status, now);
    }
    traffic.count(Some(1), 200, now);
    let answers: Vec<_> = traffic.answers().collect();
    let put = (Some(("PUT", "/b")), Some(200), 1);
    assert_eq!(answers, [put, (None, Some(200), 1), (None, Some(404), 2), (None, None, 1)]);
    // A route that nobody asked has no times.
    let took: Vec<_> = traffic.took().map(|((_, route, _), took)| (*route, took.count())).collect();
    assert_eq!(took, [("/b", 1)]);
}

#[test]
fn a_connection_counts_until_it_ends() {
    let traffic = Traffic::new(Vec::new());
    let (first, second) = (traffic.connect(), traffic.connect());
    assert_eq!(traffic.connections(), 2);
    drop(first);
    assert_eq!(traffic.connections(), 1);
    drop(second);
    assert_eq!(traffic.connections(), 0);
}
