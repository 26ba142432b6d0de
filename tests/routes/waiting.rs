//! Reads that wait: `waitAfter=` and `timeoutSeconds=`.

use std::thread;

use serde_json::Value;

use super::client::Answer;
use super::venue::{Trader, Venue};

/// The reads that can wait, by what changes each of them.
fn paths(market: &str) -> Vec<String> {
    vec![
        format!("/trading/books/{market}/depth?outcome=yes"),
        "/trading/orders?".to_owned(),
        format!("/trading/orders?active=true&marketId={market}"),
        "/trading/fills?afterSequence=0".to_owned(),
        "/trading/positions?".to_owned(),
        "/trading/balance?".to_owned(),
        "/account/ledger?".to_owned(),
    ]
}

fn wait(by: &Trader, path: &str, after: u64, seconds: u64) -> Answer {
    by.get(&format!("{path}&waitAfter={after}&timeoutSeconds={seconds}"))
}

/// What a read shows, without the time of a book.
fn shown(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut json = answer.json.clone();
    if json.get("bids").is_some() {
        json.as_object_mut().unwrap().remove("timestamp");
    }
    json
}

#[test]
fn a_read_waits_until_what_it_shows_has_changed() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let market = venue.market();
    ann.place(&market, "BUY", "yes", "0.40", "9");
    for path in paths(&market) {
        let before = ann.get(&path);
        let after = before.sequence();
        // The client gives up long before a minute is over.
        let waiting = thread::scope(|threads| {
            let waiting = threads.spawn(|| wait(&ann, &path, after, 60));
            // The first may come before the wait begins: then it is answered at once.
            ben.place(&market, "SELL", "yes", "0.40", "1");
            waiting.join().unwrap()
        });
        assert!(waiting.sequence() > after, "{path}");
        assert_ne!(shown(&waiting), shown(&before), "{path}");
        assert_eq!(shown(&waiting), shown(&ann.get(&path)), "{path}");
        // What changed after the record is there already.
        assert_eq!(shown(&wait(&ann, &path, after, 60)), shown(&waiting), "{path}");
        assert_eq!(shown(&wait(&ann, &path, 0, 60)), shown(&waiting), "{path}");
    }
}

#[test]
fn at_the_end_of_its_time_a_read_is_answered_as_it_is() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let (market, other) = (venue.market(), venue.market());
    venue.trade(&market, &ben, &ann, "0.40", "2");
    thread::scope(|threads| {
        let waits = paths(&market).into_iter().map(|path| {
            let (ann, ben, other) = (&ann, &ben, &other);
            threads.spawn(move || {
                let before = ann.get(&path);
                let after = before.sequence();
                // What happens elsewhere is nothing to wait for.
                ben.place(other, "BUY", "yes", "0.10", "1");
                assert_eq!(shown(&wait(ann, &path, after, 1)), shown(&before), "{path}");
                let Some((_, tag)) = before.headers.iter().find(|(name, _)| name == "etag") else {
                    assert!(path.starts_with("/trading/positions"));
                    return;
                };
                let path = format!("{path}&waitAfter={after}&timeoutSeconds=1");
                let known = ann.client.send("GET", &path, &[("if-none-match", tag)], None);
                assert_eq!((known.status, known.body.len()), (304, 0), "{path}");
            })
        });
        for wait in waits.collect::<Vec<_>>() {
            wait.join().unwrap();
        }
    });
}

#[test]
fn only_so_many_reads_of_a_user_wait() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let after = ann.get("/trading/balance").sequence();
    let answers: Vec<Answer> = thread::scope(|threads| {
        let ask = || wait(&ann, "/trading/balance?", after, 3);
        let waits: Vec<_> = (0..17).map(|_| threads.spawn(ask)).collect();
        // Another user's reads wait beside them.
        assert_eq!(wait(&ben, "/trading/balance?", after, 1).status, 200);
        waits.into_iter().map(|wait| wait.join().unwrap()).collect()
    });
    let refused = answers.iter().filter(|answer| answer.status == 503);
    assert_eq!(refused.count(), 1);
    // Once they are answered, there is room again.
    assert_eq!(wait(&ann, "/trading/balance?", after, 1).status, 200);
}

#[test]
fn a_wait_must_be_meant() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    for path in paths(&market) {
        let head = ann.get("/time").sequence();
        let ask = |query: &str| ann.get(&format!("{path}&{query}"));
        ask(&format!("waitAfter={}", head + 1)).bad_as("waitAfter", "OUT_OF_BOUNDS");
        ask("waitAfter=x").bad_as("waitAfter", "INVALID_VALUE");
        ask("timeoutSeconds=1").bad_as("timeoutSeconds", "UNKNOWN_FIELD");
        for seconds in [0, 61] {
            ask(&format!("waitAfter=0&timeoutSeconds={seconds}"))
                .bad_as("timeoutSeconds", "OUT_OF_BOUNDS");
        }
    }
    let past = format!("/trading/books/{market}/depth?outcome=yes&asOf=1&waitAfter=0");
    ann.get(&past).bad_as("waitAfter", "INVALID_VALUE");
}
