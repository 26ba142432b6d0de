//! The methods of each path, and who may use them (semantics 7 and 8).

use serde_json::json;

use super::client::{Answer, Ending, bare, exchange};
use super::venue::{NOBODY, Venue};

/// Every path, and its methods besides `HEAD`.
const PATHS: [(&str, &[&str]); 58] = [
    ("/markets/public/list", &["GET"]),
    ("/markets/{id}", &["GET"]),
    ("/markets/{id}/activity", &["GET"]),
    ("/events/public/list", &["GET"]),
    ("/events/{id}", &["GET"]),
    ("/categories/public/list", &["GET"]),
    ("/trading/books/{id}/depth", &["GET"]),
    ("/trading/orders", &["GET", "POST", "DELETE"]),
    ("/trading/orders/{id}", &["GET", "PATCH", "DELETE"]),
    ("/trading/orders/by-client-id/{id}", &["GET", "DELETE"]),
    ("/trading/orders/batch", &["POST"]),
    ("/trading/events/{id}/convert", &["POST"]),
    ("/trading/positions", &["GET"]),
    ("/trading/fills", &["GET"]),
    ("/trading/balance", &["GET"]),
    ("/account/ledger", &["GET"]),
    ("/account/settlements", &["GET"]),
    ("/account/pnl", &["GET"]),
    ("/markets/search", &["GET"]),
    ("/markets/{id}/trades", &["GET"]),
    ("/markets/{id}/stats", &["GET"]),
    ("/markets/{id}/candles", &["GET"]),
    ("/leaderboard", &["GET"]),
    ("/account/limits", &["GET"]),
    ("/account/keys", &["GET", "POST"]),
    ("/account/keys/{id}", &["GET", "DELETE"]),
    ("/account/keys/{id}/rotate", &["POST"]),
    ("/trading/heartbeat", &["GET", "POST"]),
    ("/admin/venue/mode", &["GET", "POST"]),
    ("/admin/users/{id}/mode", &["POST"]),
    ("/admin/users/{id}/exposure-limit", &["POST", "DELETE"]),
    ("/admin/catalogue/check", &["POST"]),
    ("/admin/categories", &["POST"]),
    ("/admin/events", &["POST"]),
    ("/admin/events/{id}", &["PATCH"]),
    ("/admin/markets", &["GET", "POST"]),
    ("/admin/markets/{id}", &["PATCH"]),
    ("/admin/markets/{id}/publish", &["POST"]),
    ("/admin/markets/{id}/suspend", &["POST"]),
    ("/admin/markets/{id}/reopen", &["POST"]),
    ("/admin/markets/{id}/close", &["POST"]),
    ("/admin/markets/{id}/resolve", &["POST"]),
    ("/admin/markets/{id}/dispute", &["POST"]),
    ("/admin/markets/{id}/void", &["POST"]),
    ("/admin/users", &["GET", "POST"]),
    ("/admin/users/{id}", &["GET", "PATCH"]),
    ("/admin/users/{id}/orders", &["GET", "DELETE"]),
    ("/admin/users/{id}/positions", &["GET"]),
    ("/admin/users/{id}/fills", &["GET"]),
    ("/admin/users/{id}/ledger", &["GET"]),
    ("/admin/users/{id}/keys", &["GET", "POST"]),
    ("/admin/users/{id}/keys/{id}", &["GET", "DELETE"]),
    ("/admin/users/{id}/deposits", &["POST"]),
    ("/admin/users/{id}/withdrawals", &["POST"]),
    ("/admin/fees", &["GET"]),
    ("/admin/fees/withdrawals", &["POST"]),
    ("/admin/audit/head", &["GET"]),
    ("/admin/journal", &["GET"]),
];

const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];

fn has(methods: &[&str], method: &str) -> bool {
    methods.contains(&method) || (method == "HEAD" && methods.contains(&"GET"))
}

/// Asserts a refusal, of which `HEAD` shows only the status.
#[track_caller]
fn refused(answer: &Answer, method: &str, status: u16, code: &str) {
    if method == "HEAD" {
        assert_eq!(answer.status, status, "{answer:?}");
    } else {
        answer.refused(status, code);
    }
}

#[test]
fn every_other_method_is_refused_with_an_allow_header() {
    let venue = Venue::open();
    for (path, methods) in PATHS {
        let path = path.replace("{id}", NOBODY);
        for method in METHODS.iter().filter(|method| !has(methods, method)) {
            let answer = venue.operator.send(method, &path, &[], None);
            refused(&answer, method, 405, "METHOD_NOT_ALLOWED");
            let mut allow: Vec<&str> = answer.header("allow").split(", ").collect();
            allow.sort_unstable();
            let mut expected: Vec<&str> =
                METHODS.into_iter().filter(|method| has(methods, method)).collect();
            expected.sort_unstable();
            assert_eq!(allow, expected, "{method} {path}");
        }
    }
}

#[test]
fn paths_need_a_key_and_admin_paths_an_operators() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let key = json!({"scope": "read", "label": "screen"});
    let reader = venue.client(&ann.client.post("/account/keys", &key).text("key"));
    for (path, methods) in PATHS {
        let path = path.replace("{id}", NOBODY);
        for method in METHODS {
            let target = format!("/api/v1{path}");
            let stranger = bare(venue.operator.address, method, &target, &[], None);
            refused(&stranger, method, 401, "MISSING_API_KEY");
            if !has(methods, method) {
                continue;
            }
            let answer = ann.client.send(method, &path, &[], None);
            if path.starts_with("/admin/") {
                refused(&answer, method, 403, "FORBIDDEN");
            } else {
                assert_ne!(answer.status, 403, "{answer:?}");
            }
            let answer = reader.send(method, &path, &[], None);
            if matches!(method, "GET" | "HEAD") && !path.starts_with("/admin/") {
                assert_ne!(answer.status, 403, "{answer:?}");
            } else {
                refused(&answer, method, 403, "FORBIDDEN");
            }
        }
    }
}

#[test]
fn a_head_is_a_get_without_the_body() {
    let venue = Venue::open();
    for (path, _) in PATHS.iter().filter(|(_, methods)| methods.contains(&"GET")) {
        let path = path.replace("{id}", NOBODY);
        let get = venue.operator.get(&path);
        let head = venue.operator.send("HEAD", &path, &[], None);
        assert_eq!(head.status, get.status, "{path}");
        for name in ["content-type", "content-length", "sequence", "cache-control"] {
            // The request id is part of a problem, and may be a digit longer.
            if name != "content-length" || get.status == 200 {
                assert_eq!(head.header(name), get.header(name), "{name} of {path}");
            }
        }
    }
}

/// RFC 3986, 6.2.2.2: these paths are equal.
#[test]
fn escapes_of_plain_letters_in_a_path_mean_nothing() {
    let venue = Venue::open();
    let market = venue.market();
    let of_market = format!("/markets/{}", market.replace('-', "%2D"));
    for (path, status) in [
        (of_market.as_str(), 200),
        ("/trading/%6Frders", 200),
        ("/%74rading/orders", 200),
        ("/trading%2forders", 404),
        ("/trading/%2E/orders", 404),
    ] {
        let key = &venue.operator.key;
        let request = format!(
            "GET /api/v1{path} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\nconnection: close\r\n\r\n"
        );
        let came = exchange(venue.operator.address, request.as_bytes(), Ending::Open).unwrap();
        let answer = Answer::read(&came, request, false).unwrap();
        assert_eq!(answer.status, status, "{path}");
        assert!(path != of_market || answer.text("id") == market);
    }
    let path = format!("/trading/orders/by-client-id/{}", "%41%2525");
    venue.operator.get(&path).refused(404, "ORDER_NOT_FOUND");
}

#[test]
fn a_method_longer_than_any_is_refused() {
    let venue = Venue::open();
    let send = |method: &str| venue.operator.send(method, "/trading/orders", &[], None);
    send(&"A".repeat(32)).refused(405, "METHOD_NOT_ALLOWED");
    send(&"A".repeat(33)).bad_as("method", "OUT_OF_BOUNDS");
}

#[test]
fn an_unknown_path_is_not_found() {
    let venue = Venue::open();
    for path in [
        "",
        "/",
        "//",
        "/trading",
        "/trading/",
        "/trading/orders/",
        "//trading/orders",
        "/Trading/orders",
        "/trading/orders/a/b",
        "/trading%2Forders",
        "/trading/./orders",
        "/trading/../admin/users",
        "/admin",
        "/admin/",
        "/%00",
        "/%FF",
        "/;",
        "/*",
        "/markets/public/list/x",
        "/trading/orders%20",
        "/tr%61ding/orders/",
    ] {
        venue.operator.get(path).refused(404, "NOT_FOUND");
    }
    let key = [("x-api-key", venue.operator.key.as_str())];
    for target in ["/nowhere", "/api", "/api/v1", "/api/v2/trading/orders", "/trading/orders", "*"]
    {
        bare(venue.operator.address, "GET", target, &key, None).refused(404, "NOT_FOUND");
    }
}
