//! Long lists are sent in pieces, from one snapshot of the read model, without holding up writers.

use std::io::ErrorKind;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Method;
use hyper::body::Body;
use serde_json::{Value, json};

use http::Limits;
use http::listed::PIECE_BYTES_MAX;
use http::unread_rows::UnreadLimits;

use super::{Venue, order, request};

/// An answer as it was sent.
struct Sent {
    sequence: u64,
    known_length: bool,
    pieces: Vec<Bytes>,
}

impl Sent {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.pieces.concat()).unwrap()
    }

    /// Asserts that it came in several pieces, none of them large.
    #[track_caller]
    fn in_pieces(&self) {
        assert!(!self.known_length && self.pieces.len() > 1, "{}", self.pieces.len());
        let largest = self.pieces.iter().map(Bytes::len).max();
        assert!(largest.is_some_and(|bytes| bytes <= PIECE_BYTES_MAX), "{largest:?}");
    }
}

impl Venue {
    /// Sends a request, and runs `meanwhile` after the first piece has arrived.
    async fn sent(
        &self,
        key: &str,
        method: Method,
        path: &str,
        meanwhile: impl AsyncFnOnce(),
    ) -> Sent {
        let (parts, mut body) =
            self.door.answer(request(key, method, path, None)).await.into_parts();
        assert_eq!(parts.status, 200, "{path}");
        let sequence = parts.headers["sequence"].to_str().unwrap().parse().unwrap();
        let known_length = body.size_hint().exact().is_some();
        let mut pieces = Vec::new();
        let mut meanwhile = Some(meanwhile);
        while let Some(frame) = body.frame().await {
            pieces.push(frame.unwrap().into_data().unwrap());
            if let Some(meanwhile) = meanwhile.take() {
                meanwhile().await;
            }
        }
        Sent { sequence, known_length, pieces }
    }

    /// Creates two events with a public market each, with descriptions of the largest size.
    async fn large_texts(&self) {
        let (short, long) = ("x".to_owned(), "x".repeat(5000));
        let [short, long] = [short, long].map(|text| json!({"pt": text, "en": text, "es": text}));
        for _ in 0..2 {
            let event = json!({"titles": short, "subTitles": short, "descriptions": long,
                "images": [], "highlighted": false});
            let event = self.post("/admin/events", event).await.text("id");
            let market = json!({
                "questions": short, "descriptions": long, "logo": "https://h/l.png",
                "outcomes": [{"id": "yes", "text": short}, {"id": "no", "text": short}],
                "deadline": "2999-01-01T00:00:00Z", "eventId": event,
            });
            let market = self.post("/admin/markets", market).await.text("id");
            let published = self.post(&format!("/admin/markets/{market}/publish"), json!({})).await;
            assert_eq!(published.status, 200);
        }
    }

    async fn read(&self, key: &str, path: &str) -> Sent {
        self.sent(key, Method::GET, path, async || {}).await
    }
}

#[tokio::test]
async fn a_half_read_list_keeps_its_snapshot_and_blocks_no_writer() {
    let venue = Venue::open().await;
    let (_, ann) = venue.trader("ann").await;
    let market = venue.market().await;
    let one = || order(&market, "BUY", "yes", "0.01", "1");
    for _ in 0..120 {
        assert_eq!(venue.place(&ann, one()).await.status, 200);
    }
    let before = venue.get(&ann, "/trading/orders").await;
    let sent = venue
        .sent(&ann, Method::GET, "/trading/orders", async || {
            assert_eq!(venue.place(&ann, one()).await.status, 200);
            let gone = venue.call(&ann, Method::DELETE, "/trading/orders", None).await;
            assert_eq!(gone.json["cancelled"].as_array().unwrap().len(), 121);
        })
        .await;
    sent.in_pieces();
    assert_eq!(sent.sequence.to_string(), before.header("sequence"));
    assert_eq!(sent.json(), before.json);
    assert_eq!(venue.get(&ann, "/trading/orders").await.json["orders"][0]["status"], "CANCELLED");
    venue.running.stop().unwrap();
}

#[tokio::test]
async fn every_long_list_is_sent_in_pieces_and_every_short_one_whole() {
    let venue = Venue::open().await;
    let ((_, ann), (_, bob)) = (venue.trader("ann").await, venue.trader("bob").await);
    let short = venue.read(&ann, "/trading/orders").await;
    assert!(short.known_length && short.pieces.len() == 1);
    let market = venue.market().await;
    for _ in 0..150 {
        venue.place(&ann, order(&market, "BUY", "yes", "0.01", "1")).await;
        venue.place(&bob, order(&market, "SELL", "yes", "0.01", "1")).await;
    }
    venue.large_texts().await;
    for n in 0..300 {
        let category = json!({"name": "n".repeat(30), "slug": format!("slug-{n}")});
        assert_eq!(venue.post("/admin/categories", category).await.status, 201);
    }
    let day = "interval=1m&from=2026-01-01T00:00:00Z&to=2026-01-01T16:00:00Z";
    for (path, member) in [
        ("/trading/orders".to_owned(), "orders"),
        ("/trading/orders?cursor=&limit=100".to_owned(), "orders"),
        ("/trading/fills?limit=100".to_owned(), "fills"),
        ("/account/ledger?limit=1000".to_owned(), "lines"),
        (format!("/markets/{market}/trades?limit=1000"), "trades"),
        (format!("/markets/{market}/activity?limit=1000"), "activities"),
        (format!("/markets/{market}/candles?{day}"), "candles"),
        ("/markets/public/list".to_owned(), "markets"),
        ("/events/public/list".to_owned(), "events"),
        ("/categories/public/list".to_owned(), "categories"),
    ] {
        let sent = venue.read(&ann, &path).await;
        sent.in_pieces();
        assert!(!sent.json()[member].as_array().unwrap().is_empty(), "{path}");
    }
    for (path, member) in [("/admin/markets", "markets"), ("/admin/journal?limit=1000", "records")]
    {
        let sent = venue.read(&venue.operator, path).await;
        sent.in_pieces();
        assert!(!sent.json()[member].as_array().unwrap().is_empty(), "{path}");
    }
    venue.running.stop().unwrap();
}

#[tokio::test]
async fn the_ids_of_a_mass_cancel_are_sent_in_pieces() {
    let venue = Venue::open().await;
    let (_, ann) = venue.trader("ann").await;
    let market = venue.market().await;
    for _ in 0..500 {
        venue.place(&ann, order(&market, "BUY", "yes", "0.01", "1")).await;
    }
    let sent = venue.sent(&ann, Method::DELETE, "/trading/orders", async || {}).await;
    sent.in_pieces();
    assert_eq!(sent.json()["cancelled"].as_array().unwrap().len(), 500);
    venue.running.stop().unwrap();
}

/// A reader that takes a long answer too slowly loses its connection; here no time is left at once.
#[tokio::test]
async fn a_long_list_must_be_read_in_time() {
    let unread = UnreadLimits { wait: Duration::ZERO, ..UnreadLimits::STANDARD };
    let venue = Venue::limited(Limits { unread, ..Limits::STANDARD }).await;
    let (_, ann) = venue.trader("ann").await;
    let market = venue.market().await;
    for _ in 0..150 {
        venue.place(&ann, order(&market, "BUY", "yes", "0.01", "1")).await;
    }
    let paths =
        ["/trading/orders", "/trading/orders?active=true", "/trading/orders?cursor=&limit=999"];
    for path in paths {
        let answer = venue.door.answer(request(&ann, Method::GET, path, None)).await;
        let error = answer.into_body().frame().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
    assert_eq!(venue.get(&ann, "/trading/orders?cursor=&limit=9").await.status, 200);
    venue.running.stop().unwrap();
}

/// Slow readers must not exhaust memory: the bytes that wait for them are bounded per user and in
/// total, whether a list is read in one go or page by page.
#[tokio::test]
async fn unread_lists_are_bounded_in_memory() {
    let (all, open) = ("/trading/orders", "/trading/orders?active=true");
    let (short, long) = ((150, 300, 430), (1100, 2300, 3400));
    for (path, (orders, own, both)) in [(all, short), (all, long), (open, short), (open, long)] {
        let unread =
            UnreadLimits { rows_of_user_max: own, rows_max: both, ..UnreadLimits::STANDARD };
        let venue = Venue::limited(Limits { unread, ..Limits::STANDARD }).await;
        let market = venue.market().await;
        let mut keys = Vec::new();
        for name in ["ann", "bob", "cid"] {
            let (_, key) = venue.trader(name).await;
            for _ in 0..orders {
                venue.place(&key, order(&market, "BUY", "yes", "0.01", "1")).await;
            }
            keys.push(key);
        }
        let ask = async |key: &str| venue.door.answer(request(key, Method::GET, path, None)).await;
        let (ann, bob, cid) = (&keys[0], &keys[1], &keys[2]);
        let waits = [ask(ann).await, ask(ann).await];
        assert!(waits.iter().all(|answer| answer.status() == 200));
        assert_eq!(venue.get(ann, path).await.code(), "OVERLOADED");
        assert_eq!(venue.get(ann, "/trading/orders?cursor=").await.status, 200);
        let of_bob = ask(bob).await;
        assert_eq!(of_bob.status(), 200);
        assert_eq!(venue.get(cid, path).await.code(), "OVERLOADED");
        let [first, second] = waits;
        let read = first.into_body().collect().await.unwrap().to_bytes();
        let read: Value = serde_json::from_slice(&read).unwrap();
        assert_eq!(read["orders"].as_array().unwrap().len(), orders);
        assert_eq!(venue.get(cid, path).await.status, 200);
        drop((second, of_bob));
        assert_eq!(venue.get(ann, path).await.status, 200);
        venue.running.stop().unwrap();
    }
}
