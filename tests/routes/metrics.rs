//! `/metrics`: the server's figures for monitoring.

use serde_json::json;

use super::client::{Answer, FIGURES, bare};
use super::shapes;
use super::venue::{Trader, Venue, order, with};

fn scrape(venue: &Venue) -> String {
    let key = [("x-api-key", venue.operator.key.as_str()), ("accept", "text/plain")];
    let answer = bare(venue.operator.address, "GET", "/metrics", &key, None);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.written()
}

/// The value of a figure, by its name and labels as printed.
fn figure(page: &str, name: &str) -> Option<i64> {
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map(|value| value.parse().unwrap())
}

#[track_caller]
fn shows(page: &str, name: &str, value: i64) {
    assert_eq!(figure(page, &format!("openoutcry_{name}")), Some(value), "{name} in\n{page}");
}

fn ask(venue: &Venue, key: &str) -> Answer {
    bare(venue.operator.address, "GET", "/metrics", &[("x-api-key", key)], None)
}

#[test]
fn metrics_are_for_operators_only() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    bare(venue.operator.address, "GET", "/metrics", &[], None).refused(401, "MISSING_API_KEY");
    ask(&venue, "nobody's").refused(401, "INVALID_API_KEY");
    ask(&venue, &ann.client.key).refused(403, "FORBIDDEN");
    // Prometheus sends keys as bearers.
    let bearing = |path, header: &str| {
        bare(venue.operator.address, "GET", path, &[("authorization", header)], None)
    };
    let bearer = format!("bearer {}", venue.operator.key);
    assert_eq!(bearing("/metrics", &bearer).status, 200);
    bearing("/metrics", &format!("Bearer {}", ann.client.key)).refused(403, "FORBIDDEN");
    bearing("/metrics", "Bearer nobody's").refused(401, "INVALID_API_KEY");
    bearing("/metrics", "Basic bm9ib2R5").refused(401, "MISSING_API_KEY");
    bearing("/api/v1/account", &bearer).refused(401, "MISSING_API_KEY");
    let answer = ask(&venue, &venue.operator.key);
    assert_eq!((answer.status, answer.header("content-type")), (200, FIGURES));
    assert_eq!(answer.sequence(), 6);
}

#[test]
fn names_are_counted_with_their_bound() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    shows(&scrape(&venue), "names", 0);
    for name in ["a", "b"] {
        let body = order(&market, "BUY", "yes", "0.10", "1");
        ann.order(&with(body, &json!({"clientOrderId": name}))).ok(&shapes::placed());
    }
    let page = scrape(&venue);
    shows(&page, "names", 2);
    shows(&page, "names_max", 10_000_000);
}

#[test]
#[allow(clippy::too_many_lines, reason = "one page from its beginning to its end")]
fn events_are_counted_and_no_user_is_named() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader_with("bob", "1"));
    let market = venue.market();
    let place = |trader: &Trader, price| trader.place(&market, "BUY", "yes", price, "5");
    for price in ["0.10", "0.20"] {
        place(&ann, price).ok(&shapes::placed());
    }
    place(&bob, "0.90").refused(422, "INSUFFICIENT_FUNDS");
    place(&bob, "1").bad(&["price"]);
    ann.client.delete("/trading/orders").ok(&shapes::cancelled());
    place(&ann, "0.30").ok(&shapes::placed());
    venue.operator.get("/nowhere").refused(404, "NOT_FOUND");
    let head = i64::try_from(venue.operator.get("/trading/balance").sequence()).unwrap();
    // A block is counted just after its answers are sent.
    let counted = |page: &String| figure(page, "openoutcry_apply_seconds_count") == Some(head);
    let page = (0..10_000).map(|_| scrape(&venue)).find(counted).unwrap();
    assert!(figure(&page, "openoutcry_connections").is_some_and(|open| open >= 1));
    let placed = |result| format!("commands_total{{kind=\"place_order\",result=\"{result}\"}}");
    shows(&page, &placed("accepted"), 3);
    shows(&page, &placed("INSUFFICIENT_FUNDS"), 1);
    shows(&page, "commands_total{kind=\"create_user\",result=\"accepted\"}", 3);
    shows(&page, "commands_total{kind=\"void_market\",result=\"accepted\"}", 0);
    for (name, value) in [("open_orders", 1), ("users", 3), ("markets", 1)] {
        shows(&page, name, value);
    }
    for sequence in ["journal_head_sequence", "applied_sequence", "folded_sequence"] {
        shows(&page, sequence, head);
    }
    for (name, value) in [("read_lag_records", 0), ("blocks_waiting", 0), ("intake_waiting", 0)] {
        shows(&page, name, value);
    }
    for (name, value) in [("snapshot_sequence", 0), ("snapshots_total", 0)] {
        shows(&page, name, value);
    }
    shows(&page, "halted{reason=\"NONE\"}", 0);
    let orders = |method, status| {
        let labels = format!("method=\"{method}\",route=\"/trading/orders\",status=\"{status}\"");
        format!("http_answers_total{{{labels}}}")
    };
    shows(&page, &orders("POST", 200), 3);
    shows(&page, &orders("POST", 422), 1);
    shows(&page, &orders("POST", 400), 1);
    shows(&page, &orders("DELETE", 200), 1);
    shows(&page, "http_answers_total{method=\"\",route=\"none\",status=\"404\"}", 1);
    let cancels = "class=\"cancels\",method=\"DELETE\",route=\"/trading/orders\"";
    shows(&page, &format!("http_request_seconds_count{{{cancels}}}"), 1);
    shows(
        &page,
        &format!("build_info{{version=\"{}\",revision=\"unknown\"}}", env!("CARGO_PKG_VERSION")),
        1,
    );
    shows(&page, "streams", 0);
    for name in ["resident_memory_bytes", "virtual_memory_bytes", "open_fds", "max_fds"] {
        assert!(figure(&page, &format!("process_{name}")).is_some_and(|value| value > 0), "{page}");
    }
    // Later than this file, earlier than the next century.
    let began = figure(&page, "process_start_time_seconds");
    assert!(began.is_some_and(|began| (1_790_000_000..4_102_444_800).contains(&began)), "{page}");
    assert!(page.contains("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total "));
    // Nobody else sends commands, so every record is in a block of its own.
    for histogram in ["journal_append_seconds", "apply_seconds", "block_records"] {
        shows(&page, &format!("{histogram}_count"), head);
        shows(&page, &format!("{histogram}_bucket{{le=\"+Inf\"}}"), head);
    }
    shows(&page, "intake_wait_seconds_count", head);
    shows(&page, "block_records_bucket{le=\"1.0\"}", head);
    // Only those with most records are told by their ids.
    let records = |id: &str| format!("user_records_total{{user=\"{id}\"}}");
    shows(&page, &records(&ann.id), 4);
    shows(&page, &records(&bob.id), 1);
    let others = page.lines().filter(|line| !line.starts_with("openoutcry_user_records_total"));
    assert!(!others.collect::<String>().contains(&ann.id), "{page}");
    let secrets = [&ann.client.key, &venue.operator.key, &market];
    assert!(secrets.into_iter().all(|secret| !page.contains(secret)), "{page}");
    assert!(page.contains("# TYPE openoutcry_commands_total counter\n"), "{page}");
}

#[test]
fn registered_gauges_are_shown_and_scrapes_are_counted() {
    let venue = Venue::open();
    venue.gauges(|gauges| gauges.add("archive_lag_records", "Records not archived yet", || 7));
    let page = scrape(&venue);
    shows(&page, "archive_lag_records", 7);
    assert!(page.contains("# HELP openoutcry_archive_lag_records Records not archived yet"));
    let scraped = "http_answers_total{method=\"GET\",route=\"/metrics\",status=\"200\"}";
    assert_eq!(figure(&page, &format!("openoutcry_{scraped}")), None);
    shows(&scrape(&venue), scraped, 1);
    let user = json!({"profileName": "x", "profilePic": "https://h/p"});
    venue.operator.post("/admin/users", &user).created(&shapes::user());
    shows(&scrape(&venue), "users", 2);
}
