//! `GET /trading/books/{marketId}/depth?asOf=` (semantics 4 and 8): the book as it was shown at
//! that moment.

use std::collections::BTreeMap;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use exchange::catalogue::{MarketDraft, Outcome};
use exchange::command::{Command, PlaceOrder, Record, Role, Side, Wording};
use exchange::ids::{MarketId, MarketNo, UserNo};
use exchange::results::Results;
use exchange::rules::Rules;
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};
use http::keys::ApiKey;
use http::past::{Past, QuerySlot};
use journal::Journal;
use journal::block::BlockBuilder;
use journal::memory::MemoryJournal;
use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::shapes;
use super::venue::{FAR, NOBODY, PICTURE, Trader, Venue, without};

/// The book of an outcome at a moment, or now.
fn ask(client: &Client, market: &str, outcome: &str, as_of: &str) -> Answer {
    let path = format!("/trading/books/{market}/depth?outcome={outcome}&levels=3");
    client.get(&if as_of.is_empty() { path } else { format!("{path}&asOf={as_of}") })
}

/// An answer without its timestamp: the record it reflects, and the book. Only of a present book
/// the record is told that last changed it.
fn book_of(answer: &Answer) -> (u64, Value) {
    if answer.json.get("sequence").is_none() {
        return (answer.sequence(), without(answer.ok(&shapes::past_depth()), "timestamp"));
    }
    let book = without(answer.ok(&shapes::depth()), "timestamp");
    (answer.sequence(), without(book, "sequence"))
}

/// Records the live book after each of several commands.
struct BookRecorder<'a> {
    venue: &'a Venue,
    market: &'a str,
    seen: BTreeMap<u64, Vec<Value>>,
}

impl BookRecorder<'_> {
    fn note(&mut self, done: &Answer) {
        assert!(done.status < 300 || done.status == 422, "{done:?}");
        let live = ["yes", "no"].map(|o| book_of(&ask(&self.venue.operator, self.market, o, "")));
        assert_eq!(live[0].0, live[1].0);
        let books = live.iter().map(|(_, book)| book.clone()).collect();
        self.seen.insert(live[0].0, books);
    }
}

/// Orders that rest, trade, are amended, cancelled and refused, and status changes of the market.
fn a_busy_day(venue: &Venue, market: &str) -> BTreeMap<u64, Vec<Value>> {
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let mut recorder = BookRecorder { venue, market, seen: BTreeMap::new() };
    let mut orders = Vec::new();
    for round in 0..4 {
        for (trader, side, outcome, tick, quantity) in [
            (&ann, "BUY", "yes", 40 + round, "2.5"),
            (&ann, "BUY", "no", 45, "1"),
            (&bob, "SELL", "yes", 60 - round, "3"),
            (&bob, "SELL", "no", 58, "0.000001"),
            (&ann, "BUY", "yes", 57, "2"),
            (&bob, "SELL", "yes", 41, "4"),
            (&bob, "BUY", "yes", 30, "99999"),
        ] {
            let price = format!("0.{tick}");
            let placed = trader.place(market, side, outcome, &price, quantity);
            recorder.note(&placed);
            if placed.json["status"] == "OPEN" {
                orders.push((trader, placed.text("orderId")));
            }
        }
        let (trader, id) = &orders[round];
        let path = format!("/trading/orders/{id}");
        let amended = trader.client.patch(&path, &json!({"quantity": "0.5"}));
        if amended.status == 200 {
            recorder.note(&amended);
        }
        recorder.note(&venue.act(market, "suspend", &json!({})));
        recorder.note(&venue.act(market, "reopen", &json!({})));
    }
    recorder.note(&bob.client.delete("/trading/orders"));
    recorder.note(&venue.act(market, "close", &json!({})));
    recorder.note(&venue.act(market, "resolve", &json!({"winningOutcomeId": "yes"})));
    recorder.seen
}

#[test]
fn every_past_book_equals_the_live_book_of_that_moment() {
    let venue = Venue::open();
    let eve = venue.trader("eve");
    let market = venue.market();
    let seen = a_busy_day(&venue, &market);
    assert!(seen.len() > 30, "{}", seen.len());
    let bids = seen.values().filter(|books| books[0]["bids"].as_array().unwrap().len() == 3);
    assert!(bids.count() > 3);
    for (sequence, books) in seen.iter().chain(seen.iter().rev()) {
        for (outcome, book) in ["yes", "no"].into_iter().zip(books) {
            let then = book_of(&ask(&eve.client, &market, outcome, &sequence.to_string()));
            assert_eq!(then, (*sequence, book.clone()), "{outcome} at {sequence}");
        }
    }
}

#[test]
fn a_time_shows_the_book_after_the_last_record_until_then() {
    let venue = Venue::open();
    let market = venue.market();
    let seen = a_busy_day(&venue, &market);
    let records = venue.operator.get("/admin/journal?limit=1000").json["records"].clone();
    let records = records.as_array().unwrap();
    let times: Vec<(u64, &str)> = records
        .iter()
        .map(|r| (r["sequence"].as_u64().unwrap(), r["time"].as_str().unwrap()))
        .collect();
    for (sequence, time) in times.iter().filter(|(sequence, _)| seen.contains_key(sequence)) {
        let (last, _) = times.iter().rev().find(|(_, t)| t <= time).unwrap();
        let answer = ask(&venue.operator, &market, "yes", time);
        // The book's timestamp is that of its record.
        assert_eq!(answer.text("timestamp"), *time, "{sequence}");
        assert_eq!(book_of(&answer), (*last, seen[last][0].clone()), "{sequence}");
    }
    // The same moment in another time zone.
    let (_, time) = times[times.len() - 1];
    let there = chrono::DateTime::parse_from_rfc3339(time).unwrap();
    let there = there.with_timezone(&chrono::FixedOffset::east_opt(5 * 3600).unwrap()).to_rfc3339();
    let answer = ask(&venue.operator, &market, "yes", &there.replace('+', "%2B"));
    assert_eq!(answer.text("timestamp"), time);
}

#[test]
fn a_market_not_yet_public_then_is_not_found() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let draft = venue.draft(&json!({}));
    let published = venue.act(&draft, "publish", &json!({})).sequence();
    for client in [&ann.client, &venue.operator] {
        for sequence in 0..published {
            let then = ask(client, &draft, "yes", &sequence.to_string());
            then.refused(404, "MARKET_NOT_FOUND");
            assert_eq!(then.sequence(), sequence, "{then:?}");
        }
        assert_eq!(book_of(&ask(client, &draft, "yes", &published.to_string())).0, published);
        ask(client, &draft, "yes", "1970-01-01T00:00:00Z").refused(404, "MARKET_NOT_FOUND");
        ask(client, NOBODY, "yes", "1").refused(404, "MARKET_NOT_FOUND");
        let other = venue.draft(&json!({}));
        ask(client, &other, "yes", &published.to_string()).refused(404, "MARKET_NOT_FOUND");
    }
}

#[test]
fn an_invalid_or_future_moment_is_a_bad_field() {
    let venue = Venue::open();
    let market = venue.market();
    let ask = |as_of: &str| ask(&venue.operator, &market, "yes", as_of);
    let head = venue.operator.get("/trading/balance").sequence();
    assert_eq!(book_of(&ask(&head.to_string())).0, head);
    for beyond in [&(head + 1).to_string(), "99999999999999999999999999", FAR] {
        ask(beyond).bad_as("asOf", "OUT_OF_BOUNDS");
    }
    for text in ["-1", "1.0", "yesterday", "2026-08-10", "2026-08-10T18:00:00", "%00", "+1"] {
        ask(text).bad_as("asOf", "INVALID_VALUE");
    }
    ask("1969-12-31T23:59:59Z").bad_as("asOf", "OUT_OF_BOUNDS");
    let path = format!("/trading/books/{market}/depth");
    let get = |query: &str| venue.operator.get(&format!("{path}?{query}"));
    get("outcome=yes&asOf=").bad_as("asOf", "INVALID_VALUE");
    get("outcome=yes&asOf=1&asOf=1").bad_as("asOf", "REPEATED");
    get("asOf=x&levels=0&as_of=1").bad(&["asOf", "levels", "outcome", "as_of"]);
    venue.operator.get("/markets/public/list?asOf=1").bad_as("asOf", "UNKNOWN_FIELD");
}

#[test]
fn questions_beyond_the_slots_get_retry_after() {
    let venue = Venue::open();
    let market = venue.market();
    let past = venue.past();
    let slots: Vec<_> = std::iter::from_fn(|| entered(&past)).collect();
    assert_eq!(slots.len(), 2);
    let refused = ask(&venue.operator, &market, "yes", "1");
    refused.refused(503, "OVERLOADED");
    assert_eq!(refused.header("retry-after"), "1");
    for path in ["/admin/audit/head", "/admin/journal"] {
        venue.operator.get(path).refused(503, "OVERLOADED");
    }
    // A bad field is still reported, and the live book needs no slot.
    ask(&venue.operator, &market, "yes", "x").bad(&["asOf"]);
    book_of(&ask(&venue.operator, &market, "yes", ""));
    drop(slots);
    let head = venue.operator.get("/trading/balance").sequence();
    book_of(&ask(&venue.operator, &market, "yes", &head.to_string()));
}

#[test]
fn a_time_of_a_query_may_have_any_form_of_utc() {
    let venue = Venue::open();
    let (ann, market) = (venue.trader("ann"), venue.market());
    ann.place(&market, "BUY", "yes", "0.10", "1").ok(&shapes::placed());
    let time = ann.get("/trading/orders").json["orders"][0]["createdAt"].clone();
    let plain = time.as_str().unwrap().trim_end_matches('Z');
    std::thread::sleep(std::time::Duration::from_millis(2));
    let expected = book_of(&ask(&ann.client, &market, "yes", &format!("{plain}Z")));
    for offset in ["%2B00:00", "%2b0000", "+00:00", "+0000", "%2B00%3A00", "%20000", "-0000"] {
        let offset = offset.replace("%20000", "%200000");
        let answer = ask(&ann.client, &market, "yes", &format!("{plain}{offset}"));
        assert_eq!(book_of(&answer), expected, "{offset}");
        let candles = format!("/markets/{market}/candles?interval=1m&from={plain}{offset}");
        ann.get(&candles).ok(&shapes::candles());
    }
    for bad in ["%2B", "%2B00", "%2B00:0", "%2B25:00", "++00:00", "%20%2000:00"] {
        ask(&ann.client, &market, "yes", &format!("{plain}{bad}")).bad_as("asOf", "INVALID_VALUE");
    }
}

/// A slot, if one is free.
fn entered(past: &Past) -> Option<QuerySlot> {
    match pin!(past.enter()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(entered) => entered.ok(),
        Poll::Pending => None,
    }
}

#[test]
fn a_trader_asks_one_question_about_the_past_at_a_time_and_leaves_a_slot_for_the_audit() {
    let venue = Venue::open();
    let (ann, market) = (venue.trader("ann"), venue.market());
    // The slot that her question holds while it is answered; the operator is the first user.
    let asking = entered(&venue.past().for_trader(UserNo(1))).unwrap();
    ask(&ann.client, &market, "yes", "1").refused(503, "OVERLOADED");
    assert_eq!(venue.operator.get("/admin/audit/head").status, 200);
    drop(asking);
    let head = ann.get("/trading/balance").sequence();
    book_of(&ask(&ann.client, &market, "yes", &head.to_string()));
}

/// A bid in the market of [`one_block`].
pub fn bids(user: u32, outcome: Outcome, tick: u8, quantity: u64) -> Command {
    Command::PlaceOrder(PlaceOrder::plain(
        UserNo(user),
        MarketNo(0),
        Wording { outcome, side: Side::Buy },
        Tick::new(tick).unwrap(),
        Lots::contracts(quantity),
    ))
}

/// A journal of one block in 2023, with a market, an operator and these commands: every moment but
/// the last lies within the block.
pub fn one_block(key: &ApiKey, more: Vec<Command>) -> (MemoryJournal, MarketId) {
    let draft = MarketDraft { logo: PICTURE.to_owned(), ..MarketDraft::plain(TimeMs::MAX) };
    let (role, label, hash) = (Role::Operator, "first".to_owned(), key.hash());
    let (profile_name, profile_pic) = ("op".to_owned(), PICTURE.to_owned());
    let commands = [
        Command::OpenVenue(Rules::current()),
        Command::CreateUser { profile_name, profile_pic },
        Command::AddKey { user: UserNo(0), role, label, hash, ends: None },
        Command::Deposit { user: UserNo(0), amount: Money::new(10_000_000_000) },
        Command::CreateMarket(Box::new(draft)),
        Command::PublishMarket { market: MarketNo(0) },
    ];
    let mut journal = MemoryJournal::new();
    let mut builder = BlockBuilder::new(journal.head());
    let time = |n: i64| TimeMs::new(1_700_000_000_000 + n).unwrap();
    for (index, command) in (1_u32..).zip(commands.into_iter().chain(more)) {
        let (sequence, time) = (Sequence::new(index.into()), time(index.into()));
        builder.push(Record { sequence, time, once: None, act: None, command }).unwrap();
    }
    journal.append(builder.build(Results::NONE).unwrap()).unwrap();
    (journal, MarketId::derive(time(5), Sequence::new(5), 0))
}

#[test]
fn a_moment_within_a_block_can_be_asked_for() {
    let key = ApiKey::draw().unwrap();
    let orders = [(40, 1), (41, 2), (41, 3)];
    let orders = orders.map(|(tick, quantity)| bids(0, Outcome::Yes, tick, quantity));
    let (journal, market) = one_block(&key, orders.into());
    let venue = Venue::resumed(journal, key.reveal());
    let market = market.to_string();
    let levels = |as_of: &str| {
        let answer = ask(&venue.operator, &market, "yes", as_of);
        let bids = answer.ok(&shapes::past_depth())["bids"].as_array().unwrap().clone();
        let level = |l: &Value| format!("{} {} {}", l["price"], l["quantity"], l["orders"]);
        (answer.sequence(), bids.iter().map(level).collect::<Vec<_>>().join(", "))
    };
    let expected = [
        (6, String::new()),
        (7, r#""0.40" "1" 1"#.to_owned()),
        (8, r#""0.41" "2" 1, "0.40" "1" 1"#.to_owned()),
        (9, r#""0.41" "5" 2, "0.40" "1" 1"#.to_owned()),
    ];
    for expected in expected.into_iter().rev() {
        assert_eq!(levels(&expected.0.to_string()), expected);
        let time = format!("2023-11-14T22:13:20.00{}Z", expected.0);
        assert_eq!(levels(&time), expected);
    }
    ask(&venue.operator, &market, "yes", "5").refused(404, "MARKET_NOT_FOUND");
}

/// The past needs the same key as the present.
#[test]
fn the_past_needs_a_key() {
    let venue = Venue::open();
    let Trader { client, .. } = venue.trader("ann");
    let market = venue.market();
    let head = client.get("/trading/balance").sequence().to_string();
    book_of(&ask(&client, &market, "no", &head));
    let stranger = venue.client("not a key");
    ask(&stranger, &market, "no", &head).refused(401, "INVALID_API_KEY");
}

/// A draft answers as a market that does not exist: neither the answer nor a record differs.
#[test]
fn a_draft_looks_like_a_missing_market() {
    let venue = Venue::open();
    let (ann, draft) = (venue.trader("ann"), venue.draft(&json!({})));
    venue.trader("bob");
    let before = ann.get("/trading/balance").sequence();
    for market in [&draft, NOBODY] {
        let tried = ann.place(market, "BUY", "yes", "0.50", "1");
        for answer in [tried, ask(&ann.client, market, "yes", "2")] {
            answer.refused(404, "MARKET_NOT_FOUND");
            assert_eq!(answer.sequence(), before, "{answer:?}");
        }
    }
}
