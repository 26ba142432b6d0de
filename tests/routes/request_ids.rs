//! `X-Request-Id`: every answer has one; the client's own is kept if it is safe to log.

use super::client::bare;
use super::venue::Venue;

#[test]
fn a_clients_id_comes_back_and_any_other_gets_a_new_one() {
    let venue = Venue::open();
    let ask = |id: &str| {
        let headers = [("x-api-key", venue.operator.key.as_str()), ("x-request-id", id)];
        bare(venue.operator.address, "GET", "/api/v1/trading/balance", &headers, None)
    };
    let long = "i".repeat(64);
    for id in ["a", "0192f0c1-2b3c-7d4e-8f50-617283940516", "trace:1.2_3", &long] {
        assert_eq!(ask(id).header("x-request-id"), id);
    }
    let longer = "i".repeat(65);
    for id in ["", "a b", "\u{e9}", "a\"b", "<a>", "a,b", &longer] {
        let given = ask(id).header("x-request-id").to_owned();
        assert!(!given.is_empty() && !id.starts_with(&given), "{given} for {id}");
    }
    // A problem carries the same id; `bare` compares it with the header.
    let headers = [("x-request-id", "mine")];
    let refused = bare(venue.operator.address, "GET", "/api/v1/x", &headers, None);
    refused.refused(401, "MISSING_API_KEY");
    assert_eq!(refused.text("requestId"), "mine");
    let (one, other) = (ask("?").header("x-request-id").to_owned(), ask("?"));
    assert_ne!(one, other.header("x-request-id"), "new ones differ");
}
