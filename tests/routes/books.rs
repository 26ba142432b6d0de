//! `GET /trading/books`, the sequence of a book, tags of books and lists, and places in queues.

use serde_json::{Value, json};

use super::client::Answer;
use super::shapes;
use super::venue::{NOBODY, Trader, Venue, order, with, without};

fn asked(by: &Trader, path: &str, tag: &str) -> Answer {
    by.client.send("GET", path, &[("if-none-match", tag)], None)
}

#[test]
fn several_books_are_those_of_one_moment_and_unknown_ids_are_named() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let (first, second) = (venue.market(), venue.market());
    let draft = venue.draft(&json!({}));
    ann.place(&first, "BUY", "yes", "0.40", "2");
    ann.place(&first, "BUY", "yes", "0.30", "1");
    ben.place(&second, "SELL", "yes", "0.70", "3");
    for outcome in ["yes", "no"] {
        let path = format!(
            "/trading/books?marketIds={second},{NOBODY},{first},{draft}&outcome={outcome}&levels=1"
        );
        let books = ann.get(&path);
        let json = books.ok(&shapes::books());
        assert_eq!(json["unknownMarketIds"], json!([NOBODY, draft]));
        let shown = json["books"].as_array().unwrap();
        assert_eq!(shown.len(), 2);
        assert_eq!(shown[0]["timestamp"], shown[1]["timestamp"]);
        for (market, shown) in [&second, &first].into_iter().zip(shown) {
            let path = format!("/trading/books/{market}/depth?outcome={outcome}&levels=1");
            let alone = ann.get(&path).ok(&shapes::depth());
            assert_eq!(without(shown.clone(), "timestamp"), without(alone, "timestamp"));
        }
    }
    let ask = |query: &str| ann.get(&format!("/trading/books?{query}"));
    ask("outcome=yes").bad_as("marketIds", "REQUIRED");
    ask(&format!("marketIds={first}")).bad_as("outcome", "REQUIRED");
    ask("outcome=yes&marketIds=").bad_as("marketIds", "INVALID_VALUE");
    ask(&format!("outcome=yes&marketIds={first},x_")).bad_as("marketIds", "INVALID_VALUE");
    ask(&format!("outcome=yes&marketIds={first},{first}")).bad_as("marketIds", "REPEATED");
    let ids: Vec<String> = (0..101).map(|n| format!("{}{n:03}", &NOBODY[..33])).collect();
    let many = |count: usize| ask(&format!("outcome=yes&marketIds={}", ids[..count].join(",")));
    assert_eq!(many(100).json["unknownMarketIds"].as_array().unwrap().len(), 100);
    many(101).bad_as("marketIds", "OUT_OF_BOUNDS");
    ask(&format!("outcome=yes&levels=51&marketIds={first}")).bad_as("levels", "OUT_OF_BOUNDS");
}

#[test]
fn a_book_tells_the_record_that_changed_it_last() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let (market, other) = (venue.market(), venue.market());
    let told =
        || ann.get(&format!("/trading/books/{market}/depth?outcome=no")).json["sequence"].clone();
    let rests = ann.place(&market, "BUY", "yes", "0.40", "2");
    assert_eq!(told(), rests.sequence());
    // Neither another market nor an order that never stood in the book changes it.
    ben.place(&other, "BUY", "yes", "0.40", "2");
    ben.order(&with(order(&market, "BUY", "yes", "0.20", "1"), &json!({"timeInForce": "IOC"})));
    assert_eq!(told(), rests.sequence());
    let trades = ben.place(&market, "SELL", "yes", "0.40", "1");
    assert_eq!(told(), trades.sequence());
    let gone = ann.client.delete(&format!("/trading/orders/{}", rests.text("orderId")));
    assert_eq!(told(), gone.sequence());
}

#[test]
fn what_has_not_changed_is_not_sent_again() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let market = venue.market();
    let paths = [
        format!("/trading/books/{market}/depth?outcome=yes"),
        format!("/trading/books?marketIds={market}&outcome=yes"),
        format!("/markets/{market}/trades"),
        format!("/markets/{market}/activity"),
        "/trading/orders".to_owned(),
        "/trading/orders?active=true".to_owned(),
        "/trading/orders?afterSequence=0".to_owned(),
        "/trading/fills".to_owned(),
        "/account/ledger".to_owned(),
        "/trading/balance".to_owned(),
    ];
    venue.trade(&market, &ben, &ann, "0.40", "2");
    let mut tags: Vec<String> = Vec::new();
    for path in &paths {
        let answer = ann.get(path);
        assert_eq!(answer.status, 200, "{answer:?}");
        tags.push(answer.header("etag").to_owned());
    }
    // What others do elsewhere changes none of them.
    ben.place(&venue.market(), "BUY", "yes", "0.10", "1");
    for (path, tag) in paths.iter().zip(&tags) {
        assert!(tag.starts_with("W/\""), "{tag}");
        for sent in [tag.as_str(), "*", &format!("\"x\", {tag}")] {
            let answer = asked(&ann, path, sent);
            assert_eq!((answer.status, answer.body.len()), (304, 0), "{path} {sent}");
            assert_eq!(answer.header("etag"), tag);
        }
        assert_eq!(asked(&ann, path, "W/\"0\"").status, 200);
    }
    ann.place(&market, "BUY", "yes", "0.30", "2");
    ben.place(&market, "SELL", "yes", "0.30", "1");
    for (path, tag) in paths.iter().zip(&tags) {
        assert_eq!(asked(&ann, path, tag).status, 200, "{path}");
        assert_ne!(ann.get(path).header("etag"), tag);
    }
}

#[test]
fn an_open_orders_place_is_what_stands_before_it() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let market = venue.market();
    let place = |by: &Trader, quantity: &str| {
        by.place(&market, "BUY", "yes", "0.40", quantity).text("orderId")
    };
    let (first, second, third) = (place(&ben, "1.5"), place(&ben, "2"), place(&ann, "3"));
    let queue = |order: &str| {
        let path = format!("/trading/orders/{order}");
        let plain = ann.get(&path);
        let answer = ann.get(&format!("{path}?queue=true"));
        let shown = answer.ok(&shapes::queued_order());
        assert_eq!(without(shown.clone(), "queue"), plain.ok(&shapes::order()));
        // An amend is compared with the order alone.
        assert!(!answer.headers.iter().any(|(name, _)| name == "etag"));
        shown["queue"].clone()
    };
    assert_eq!(queue(&third), json!({"quantityAhead": "3.5", "ordersAhead": 2}));
    ann.place(&market, "SELL", "no", "0.60", "1");
    assert_eq!(queue(&third), json!({"quantityAhead": "3.5", "ordersAhead": 2}));
    ben.client.delete(&format!("/trading/orders/{first}"));
    let dan = venue.trader("dan");
    dan.place(&market, "SELL", "yes", "0.40", "0.5");
    assert_eq!(queue(&third), json!({"quantityAhead": "1.5", "ordersAhead": 1}));
    dan.place(&market, "SELL", "yes", "0.40", "1.5");
    assert_eq!(queue(&third), json!({"quantityAhead": "0", "ordersAhead": 0}));
    ann.client.delete(&format!("/trading/orders/{third}"));
    assert_eq!(queue(&third), Value::Null);
    for order in [second.as_str(), NOBODY] {
        ann.get(&format!("/trading/orders/{order}?queue=true")).refused(404, "ORDER_NOT_FOUND");
    }
    ann.get(&format!("/trading/orders/{third}?queue=1")).bad_as("queue", "INVALID_VALUE");
}
