//! A venue whose journal cannot be written (semantics 7).

use journal::memory::MemoryStore;
use journal::store::{Step, StoredJournal};
use serde_json::json;

use super::faults::{Fault, Faulty};
use super::shapes;
use super::venue::Venue;

#[test]
fn commands_are_refused_and_reads_go_on() {
    let (store, faults) = Faulty::new(MemoryStore::new());
    let (journal, _) = StoredJournal::over(store).unwrap();
    let mut venue = Venue::over(journal);
    let ann = venue.trader("ann");
    let market = venue.market();
    ann.place(&market, "BUY", "yes", "0.50", "1").ok(&shapes::placed());
    let before = ann.get("/trading/orders").ok(&shapes::orders());
    faults.lock().unwrap().push(Fault { step: Step::Sync, arrives: false });
    for _ in 0..3 {
        let refused = ann.place(&market, "BUY", "yes", "0.40", "1");
        refused.refused(503, "JOURNAL_UNAVAILABLE");
        venue.act(&market, "close", &json!({})).refused(503, "JOURNAL_UNAVAILABLE");
        ann.client.delete("/trading/orders").refused(503, "JOURNAL_UNAVAILABLE");
    }
    // A bad field is still reported as such.
    ann.place(&market, "BUY", "yes", "1", "1").bad(&["price"]);
    assert_eq!(ann.get("/trading/orders").ok(&shapes::orders()), before);
    assert_eq!(ann.get("/markets/public/list").json["total"], 1);
    assert!(venue.close());
}
