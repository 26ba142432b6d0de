//! `GET /admin/audit/head` (semantics 8): the journal's head with the hashes that prove everything
//! up to it.

use exchange::units::Sequence;
use journal::Journal;
use journal::memory::MemoryJournal;
use journal::replay::{Replayer, replay};
use serde_json::json;

use super::shapes;
use super::venue::Venue;

const HEAD: &str = "/admin/audit/head";

#[test]
fn the_audit_head_equals_a_replay_of_the_journal() {
    let journal = MemoryJournal::new();
    let reader = journal.reader();
    let venue = Venue::over(journal);
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let mut before = String::new();
    for round in 1..=5 {
        venue.trade(&market, &ann, &bob, "0.60", "2");
        ann.place(&market, "BUY", "yes", "0.20", &round.to_string()).ok(&shapes::placed());
        let answer = venue.operator.get(HEAD);
        let head = answer.ok(&shapes::audit_head());

        let mut replayer = Replayer::new();
        let end = replay(reader.read(Sequence::new(1)), &mut replayer, |_, _| {}).unwrap();
        assert_eq!(end, reader.head());
        assert_eq!(
            (answer.sequence(), &head["sequence"]),
            (end.sequence.get(), &json!(answer.sequence()))
        );
        assert_eq!(head["chainHash"], end.hash.to_string());
        assert_eq!(head["resultsHash"], replayer.results().hash.to_string());
        assert_eq!(head["stateDigest"], replayer.exchange().digest().unwrap().to_string());
        let records = venue.operator.get(&format!("/admin/journal?from={}", end.sequence));
        assert_eq!(records.json["records"][0]["time"], head["time"]);
        // Asked again with nothing in between it is the same; after a new record it is not.
        assert_eq!(venue.operator.get(HEAD).written(), answer.written());
        assert_ne!(before, answer.written());
        before = answer.written();
        // A question about an earlier moment in between changes nothing.
        let past = format!("/trading/books/{market}/depth?outcome=yes&asOf=11");
        ann.get(&past).ok(&shapes::past_depth());
        assert_eq!(venue.operator.get(HEAD).written(), before);
    }
}

#[test]
fn only_operators_may_ask_and_without_parameters() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    ann.get(HEAD).refused(403, "FORBIDDEN");
    venue.client("not a key").get(HEAD).refused(401, "INVALID_API_KEY");
    venue.operator.get(&format!("{HEAD}?at=1")).bad_as("at", "UNKNOWN_FIELD");
    assert_eq!(venue.operator.send("HEAD", HEAD, &[], None).status, 200);
}
