//! Slugs of markets and events, in paths and queries and in the operator's hands.

use serde_json::{Value, json};

use super::client::Answer;
use super::shapes;
use super::venue::{NOBODY, Venue, event_body, market_body, order, texts, with};

fn asked(question: &str) -> Value {
    let mut texts = texts("x");
    texts["en"] = json!(question);
    texts
}

#[test]
fn a_new_market_or_event_gets_a_slug_of_its_english_words() {
    let venue = Venue::open();
    let made = |question: &str, more: &Value| {
        let body = with(market_body(), &json!({"questions": asked(question)}));
        let made = venue.operator.post("/admin/markets", &with(body, more));
        made.created(&shapes::market_detail())["slug"].clone()
    };
    assert_eq!(made("Will it rain?", &json!({})), "will-it-rain");
    assert_eq!(made("Will it rain?", &json!({})), "will-it-rain-2");
    assert_eq!(made("Search", &json!({})), "search-2");
    assert_eq!(made("Will it snow?", &json!({"slug": "snow"})), "snow");
    let event = with(event_body(), &json!({"titles": asked("Will it rain?")}));
    let event = venue.operator.post("/admin/events", &event).created(&shapes::event_detail());
    assert_eq!(event["slug"], "will-it-rain", "an event's is apart");
    for bad in ["", "Rain", "a_b", "a--b", "search", NOBODY, &"x".repeat(81)] {
        let body = with(market_body(), &json!({"slug": bad}));
        venue.operator.post("/admin/markets", &body).bad_as("slug", "INVALID_VALUE");
    }
    let body = with(market_body(), &json!({"slug": "snow"}));
    venue.operator.post("/admin/markets", &body).refused(409, "SLUG_TAKEN");
}

/// The slug that is drawn is no part of what is asked for.
#[test]
fn a_repeated_creation_is_answered_with_the_first_slug() {
    let venue = Venue::open();
    let post = |key: &str, path: &str, body: &Value| {
        let key = [("idempotency-key", key)];
        venue.operator.send("POST", path, &key, Some(body.to_string().as_bytes()))
    };
    for (path, body) in [("/admin/markets", market_body()), ("/admin/events", event_body())] {
        let [first, again] = [(); 2].map(|()| post(path, path, &body));
        assert_eq!((again.status, &again.json), (201, &first.json));
        let other = post(path, path, &with(body.clone(), &json!({"slug": "other"})));
        other.refused(409, "IDEMPOTENCY_KEY_REUSED");
        assert_ne!(post(&format!("{path}2"), path, &body).json["slug"], first.json["slug"]);
    }
}

#[test]
fn what_is_neither_an_id_nor_a_slug_is_told_that_it_could_be_either() {
    let venue = Venue::open();
    for (path, what) in [
        ("/markets/no-such-thing", "must be a UUID or the slug of a market"),
        ("/events/no-such-thing", "must be a UUID or the slug of an event"),
        ("/trading/orders?marketId=no-such-thing", "must be a UUID or the slug of a market"),
        ("/profiles/no-such-thing", "must be a UUID"),
    ] {
        let told = venue.operator.get(path);
        assert_eq!((told.status, &told.json["errors"][0]["detail"]), (400, &json!(what)), "{path}");
    }
}

#[test]
fn a_slug_stands_for_the_id_in_paths_and_queries() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let event = venue.event(&json!({"slug": "storms"}));
    let market = venue.market_with(&json!({"slug": "will-it-rain", "eventId": event}));
    let other = venue.market();
    venue.trade(&market, &bob, &ann, "0.40", "1");
    ann.place(&market, "BUY", "yes", "0.10", "1").ok(&shapes::placed());
    ann.place(&other, "BUY", "yes", "0.10", "1").ok(&shapes::placed());
    for path in [
        "/markets/{}",
        "/markets/{}/stats",
        "/markets/{}/trades",
        "/markets/{}/activity",
        "/markets/{}/candles?interval=1h",
        "/trading/orders?marketId={}",
        "/trading/fills?marketId={}&limit=5",
        "/account/pnl?marketId={}",
    ] {
        let read = |name: &str| ann.get(&path.replace("{}", name));
        let (by_id, by_slug) = (read(&market), read("will-it-rain"));
        let untimed = |mut answer: Answer| {
            answer.json.as_object_mut().unwrap().remove("timestamp");
            answer.json
        };
        assert_eq!(by_slug.status, 200, "{path}");
        assert_eq!(untimed(by_slug), untimed(by_id), "{path}");
    }
    let depth = ann.get("/trading/books/will-it-rain/depth?outcome=yes").ok(&shapes::depth());
    assert_eq!(depth["marketId"], json!(market));
    let books = ann.get(&format!(
        "/trading/books?marketIds=will-it-rain,{other},no-such,{NOBODY}&outcome=yes"
    ));
    let books = books.ok(&shapes::books());
    assert_eq!(books["books"][0]["marketId"], json!(market));
    assert_eq!(books["unknownMarketIds"], json!(["no-such", NOBODY]));
    let twice = format!("/trading/books?marketIds=will-it-rain,{market}&outcome=yes");
    ann.get(&twice).bad_as("marketIds", "REPEATED");
    assert_eq!(ann.get("/events/storms").ok(&shapes::event_detail())["id"], json!(event));
    ann.client.delete("/trading/orders?marketId=will-it-rain").ok(&shapes::cancelled());
    let left = ann.get("/trading/orders?active=true").json;
    assert_eq!(left["orders"][0]["marketId"], json!(other));
    venue.act("will-it-rain", "suspend", &json!({})).ok(&shapes::market_detail());
    // Bodies take ids.
    let body = order("will-it-rain", "BUY", "yes", "0.10", "1");
    ann.order(&body).bad_as("marketId", "INVALID_VALUE");
}

#[test]
fn a_slug_of_nothing_that_may_be_seen_is_no_id() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let event = venue.event(&json!({"slug": "storms"}));
    let draft = venue.draft(&json!({"slug": "secret", "eventId": event}));
    ann.get(&format!("/markets/{draft}")).refused(404, "MARKET_NOT_FOUND");
    for name in ["no-such", "secret"] {
        ann.get(&format!("/markets/{name}")).bad_as("marketId", "INVALID_VALUE");
        let orders = ann.get(&format!("/trading/orders?marketId={name}"));
        orders.bad_as("marketId", "INVALID_VALUE");
    }
    ann.get("/events/storms").bad_as("eventId", "INVALID_VALUE");
    for bad in ["x_y", "A", "-"] {
        ann.get(&format!("/markets/{bad}")).bad_as("marketId", "INVALID_VALUE");
    }
    let books = ann.get("/trading/books?marketIds=secret&outcome=yes").ok(&shapes::books());
    assert_eq!(books["unknownMarketIds"], json!(["secret"]), "the draft's id stays unknown");
    assert_eq!(venue.operator.get("/markets/secret").json["id"], json!(draft));
    assert_eq!(venue.operator.get("/events/storms").json["id"], json!(event));
}

#[test]
fn a_former_slug_leads_on_and_stays_its_markets() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let (market, other) = (venue.market_with(&json!({"slug": "old"})), venue.market());
    let rename = |name: &str, slug: &str| {
        venue.operator.patch(&format!("/admin/markets/{name}"), &json!({"slug": slug}))
    };
    let renamed = rename("old", "new").ok(&shapes::market_detail());
    assert_eq!((&renamed["id"], &renamed["slug"]), (&json!(market), &json!("new")));
    for name in ["old", "new", &market] {
        assert_eq!(ann.get(&format!("/markets/{name}")).json["slug"], "new", "{name}");
    }
    rename(&other, "old").refused(409, "SLUG_TAKEN");
    assert_eq!(rename("new", "old").json["slug"], "old");
    // Other words leave it as it is.
    let words = json!({"questions": texts("again")});
    assert_eq!(venue.operator.patch("/admin/markets/old", &words).json["slug"], "old");
    let event = venue.event(&json!({}));
    let renamed = venue.operator.patch(&format!("/admin/events/{event}"), &json!({"slug": "e"}));
    assert_eq!(renamed.json["slug"], "e");
    assert_eq!(venue.operator.get("/events/e").json["id"], json!(event));
}
