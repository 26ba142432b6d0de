//! Health checks of the process: `/healthz`, `/readyz`.

use exchange::units::Sequence;
use journal::memory::MemoryStore;
use journal::store::{Step, StoredJournal};
use serde_json::json;

use super::client::{Answer, bare};
use super::faults::{Fault, Faulty};
use super::shape::{Shape, object};
use super::venue::{NOBODY, Opening, Venue, order};

fn ask(venue: &Venue, path: &str) -> Answer {
    bare(venue.operator.address, "GET", path, &[], None)
}

#[test]
fn health_and_readiness_need_no_key_and_say_one_word() {
    let venue = Venue::open();
    for (path, word) in [("/healthz", "ok"), ("/readyz", "ready")] {
        let answer = ask(&venue, path);
        assert_eq!((answer.status, &answer.json), (200, &json!({"status": word})));
        let head = bare(venue.operator.address, "HEAD", path, &[], None);
        assert_eq!(
            (head.status, head.header("content-length")),
            (200, answer.header("content-length"))
        );
        // Other methods on these paths need a key.
        bare(venue.operator.address, "POST", path, &[], None).refused(401, "MISSING_API_KEY");
        let key = [("x-api-key", venue.operator.key.as_str())];
        let post = bare(venue.operator.address, "POST", path, &key, None);
        post.refused(405, "METHOD_NOT_ALLOWED");
        assert_eq!(post.header("allow"), "GET, HEAD");
        venue.operator.get(path).refused(404, "NOT_FOUND");
    }
    // A wrong key is ignored.
    let wrong = [("x-api-key", "nobody's")];
    assert_eq!(bare(venue.operator.address, "GET", "/healthz", &wrong, None).status, 200);
}

#[test]
fn the_time_is_that_of_records_and_needs_a_key() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let answer = ann.get("/time");
    let time = answer.ok(&object([("time", Shape::Moment), ("unixMilliseconds", Shape::Integer)]));
    let written = time["time"].as_str().unwrap();
    let written = chrono::DateTime::parse_from_rfc3339(written).unwrap();
    assert_eq!(time["unixMilliseconds"], written.timestamp_millis());
    // What is stamped next is not earlier.
    let order = order(&venue.market(), "BUY", "yes", "0.10", "1");
    let id = ann.order(&order).text("orderId");
    let placed = ann.get(&format!("/trading/orders/{id}")).text("createdAt");
    assert!(placed.as_str() >= time["time"].as_str().unwrap(), "{placed} {time}");
    ann.get("/time?zone=UTC").bad_as("zone", "UNKNOWN_FIELD");
    ask(&venue, "/api/v1/time").refused(401, "MISSING_API_KEY");
}

#[test]
fn only_holders_of_keys_are_told_the_sequence() {
    let venue = Venue::open();
    let known = venue.operator.get("/time");
    assert_eq!(known.sequence(), 3);
    assert_eq!(venue.operator.get("/none").sequence(), 3);
    let wrong = [("x-api-key", NOBODY)];
    for (path, headers) in [
        ("/healthz", &[][..]),
        ("/readyz", &[]),
        ("/docs", &[]),
        ("/api/v1/openapi.json", &[]),
        ("/api/v1/asyncapi.json", &[]),
        ("/api/v1/time", &[]),
        ("/api/v1/time", &wrong),
        ("/none", &wrong),
        ("/metrics", &[]),
    ] {
        let answer = bare(venue.operator.address, "GET", path, headers, None);
        assert_eq!(answer.header("sequence"), "", "{path}");
    }
}

#[test]
fn pages_may_not_be_framed_and_load_their_own_files_only() {
    let venue = Venue::open();
    let page = ask(&venue, "/docs");
    let policy = page.header("content-security-policy");
    for rule in ["default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert_eq!(ask(&venue, "/healthz").header("content-security-policy"), "");
}

#[test]
fn an_opening_venue_is_alive_and_not_ready() {
    let opening = Opening::serve();
    let ask = |method: &str, path: &str| bare(opening.address, method, path, &[], None);
    assert_eq!(ask("GET", "/healthz").status, 200);
    let readiness = ask("GET", "/readyz");
    readiness.refused(503, "STARTING");
    assert_eq!(readiness.json["replay"], json!({"applied": 0, "head": 0}));
    opening.meter.sequencer.post_replay_head(Sequence::new(9));
    opening.meter.matcher.post_applied(Sequence::new(4));
    let readiness = ask("GET", "/readyz");
    readiness.refused(503, "STARTING");
    assert_eq!(readiness.json["replay"], json!({"applied": 4, "head": 9}));
    assert_eq!((readiness.header("sequence"), readiness.header("retry-after")), ("", "1"));
    assert_eq!(ask("GET", "/healthz").status, 200);
    // While starting, answers reveal neither keys nor paths.
    for (method, path) in [
        ("GET", "/api/v1/markets/public/list"),
        ("POST", "/api/v1/trading/orders"),
        ("GET", "/nowhere"),
        ("GET", "/trading/orders"),
    ] {
        ask(method, path).refused(503, "STARTING");
        let key = [("x-api-key", NOBODY)];
        let refused = bare(opening.address, method, path, &key, None);
        refused.refused(503, "STARTING");
        assert_eq!(refused.header("retry-after"), "1");
    }
    let running = opening.open();
    assert_eq!((ask("GET", "/readyz").status, ask("GET", "/healthz").status), (200, 200));
    ask("GET", "/api/v1/markets/public/list").refused(401, "MISSING_API_KEY");
    running.stop().unwrap();
}

#[test]
fn a_venue_that_has_halted_is_alive_and_not_ready() {
    let (store, faults) = Faulty::new(MemoryStore::new());
    let (journal, _) = StoredJournal::over(store).unwrap();
    let mut venue = Venue::over(journal);
    assert_eq!(ask(&venue, "/readyz").status, 200);
    faults.lock().unwrap().push(Fault { step: Step::Sync, arrives: false });
    let category = json!({"name": "a", "slug": "a"});
    venue.operator.post("/admin/categories", &category).refused(503, "JOURNAL_UNAVAILABLE");
    let readiness = ask(&venue, "/readyz");
    readiness.refused(503, "HALTED");
    assert!(readiness.text("detail").contains("JOURNAL_FAILED"), "{readiness:?}");
    assert_eq!(readiness.header("retry-after"), "", "waiting does not help");
    assert_eq!(ask(&venue, "/healthz").status, 200);
    assert!(venue.close());
}
