//! `GET /trading/books/{marketId}/depth?asOf=` (semantics 4 and 8): what the book showed then.

use std::collections::BTreeMap;

use openoutcry::api::keys::ApiKey;
use openoutcry::exchange::catalogue::{MarketDraft, Outcome};
use openoutcry::exchange::command::{Command, PlaceOrder, Record, Role, Side, Wording};
use openoutcry::exchange::ids::{MarketId, MarketNo, UserNo};
use openoutcry::exchange::results::Results;
use openoutcry::exchange::rules::Rules;
use openoutcry::exchange::units::{Lots, Money, Sequence, Tick, TimeMs};
use openoutcry::journal::Journal;
use openoutcry::journal::block::BlockBuilder;
use openoutcry::journal::memory::MemoryJournal;
use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::shapes;
use super::venue::{FAR, NOBODY, PICTURE, Trader, Venue, without};

/// The book of an outcome at a moment, or now.
fn ask(client: &Client, market: &str, outcome: &str, as_of: &str) -> Answer {
    let path = format!("/trading/books/{market}/depth?outcome={outcome}&levels=3");
    client.get(&if as_of.is_empty() { path } else { format!("{path}&asOf={as_of}") })
}

/// An answer but for when it was given: the record it reflects, and what it says.
fn told(answer: &Answer) -> (u64, Value) {
    (answer.sequence(), without(answer.ok(&shapes::depth()), "timestamp"))
}

/// Does one thing after the other, and writes down what the live book shows after each.
struct Diary<'a> {
    venue: &'a Venue,
    market: &'a str,
    seen: BTreeMap<u64, Vec<Value>>,
}

impl Diary<'_> {
    fn note(&mut self, done: &Answer) {
        assert!(done.status < 300 || done.status == 422, "{done:?}");
        let live = ["yes", "no"].map(|o| told(&ask(&self.venue.operator, self.market, o, "")));
        assert_eq!(live[0].0, live[1].0);
        let books = live.iter().map(|(_, book)| book.clone()).collect();
        self.seen.insert(live[0].0, books);
    }
}

/// Orders that rest, trade, are amended, cancelled and refused, and moves of the market.
fn a_busy_day(venue: &Venue, market: &str) -> BTreeMap<u64, Vec<Value>> {
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let mut diary = Diary { venue, market, seen: BTreeMap::new() };
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
            diary.note(&placed);
            if placed.json["status"] == "OPEN" {
                orders.push((trader, placed.text("orderId")));
            }
        }
        let (trader, id) = &orders[round];
        let path = format!("/trading/orders/{id}");
        let amended = trader.client.patch(&path, &json!({"quantity": "0.5"}));
        if amended.status == 200 {
            diary.note(&amended);
        }
        diary.note(&venue.act(market, "suspend", &json!({})));
        diary.note(&venue.act(market, "reopen", &json!({})));
    }
    diary.note(&bob.client.delete("/trading/orders"));
    diary.note(&venue.act(market, "close", &json!({})));
    diary.note(&venue.act(market, "resolve", &json!({"winningOutcomeId": "yes"})));
    diary.seen
}

#[test]
fn every_moment_shows_what_the_live_book_showed() {
    let venue = Venue::open();
    let eve = venue.trader("eve");
    let market = venue.market();
    let seen = a_busy_day(&venue, &market);
    assert!(seen.len() > 30, "{}", seen.len());
    let bids = seen.values().filter(|books| books[0]["bids"].as_array().unwrap().len() == 3);
    assert!(bids.count() > 3);
    for (sequence, books) in seen.iter().chain(seen.iter().rev()) {
        for (outcome, book) in ["yes", "no"].into_iter().zip(books) {
            let then = told(&ask(&eve.client, &market, outcome, &sequence.to_string()));
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
        // The moment of the book is that of its record.
        assert_eq!(answer.text("timestamp"), *time, "{sequence}");
        assert_eq!(told(&answer), (*last, seen[last][0].clone()), "{sequence}");
    }
    // The same moment in the words of another place.
    let (_, time) = times[times.len() - 1];
    let there = chrono::DateTime::parse_from_rfc3339(time).unwrap();
    let there = there.with_timezone(&chrono::FixedOffset::east_opt(5 * 3600).unwrap()).to_rfc3339();
    let answer = ask(&venue.operator, &market, "yes", &there.replace('+', "%2B"));
    assert_eq!(answer.text("timestamp"), time);
}

#[test]
fn a_market_that_nobody_could_see_then_is_not_found_then() {
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
        assert_eq!(told(&ask(client, &draft, "yes", &published.to_string())).0, published);
        ask(client, &draft, "yes", "1970-01-01T00:00:00Z").refused(404, "MARKET_NOT_FOUND");
        ask(client, NOBODY, "yes", "1").refused(404, "MARKET_NOT_FOUND");
        let other = venue.draft(&json!({}));
        ask(client, &other, "yes", &published.to_string()).refused(404, "MARKET_NOT_FOUND");
    }
}

#[test]
fn what_is_no_past_moment_is_a_bad_field() {
    let venue = Venue::open();
    let market = venue.market();
    let ask = |as_of: &str| ask(&venue.operator, &market, "yes", as_of);
    let head = venue.operator.get("/trading/balance").sequence();
    assert_eq!(told(&ask(&head.to_string())).0, head);
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
fn more_questions_than_places_are_told_to_come_again() {
    let venue = Venue::open();
    let market = venue.market();
    let past = venue.past();
    let places: Vec<_> = std::iter::from_fn(|| past.enter().ok()).collect();
    assert_eq!(places.len(), 2);
    let refused = ask(&venue.operator, &market, "yes", "1");
    refused.refused(503, "OVERLOADED");
    assert_eq!(refused.header("retry-after"), "1");
    for path in ["/admin/audit/head", "/admin/journal"] {
        venue.operator.get(path).refused(503, "OVERLOADED");
    }
    // What is wrong with a question is said all the same, and the present needs no place.
    ask(&venue.operator, &market, "yes", "x").bad(&["asOf"]);
    told(&ask(&venue.operator, &market, "yes", ""));
    drop(places);
    let head = venue.operator.get("/trading/balance").sequence();
    told(&ask(&venue.operator, &market, "yes", &head.to_string()));
}

#[test]
fn traders_who_ask_for_the_past_leave_a_place_for_the_audit() {
    let venue = Venue::open();
    let (ann, market) = (venue.trader("ann"), venue.market());
    // What one trader's question holds while it is answered.
    let asking = venue.past().for_the_public().enter().unwrap();
    ask(&ann.client, &market, "yes", "1").refused(503, "OVERLOADED");
    assert_eq!(venue.operator.get("/admin/audit/head").status, 200);
    drop(asking);
    let head = ann.get("/trading/balance").sequence();
    told(&ask(&ann.client, &market, "yes", &head.to_string()));
}

/// An order for contracts of the market of [`one_block`].
pub fn bids(user: u32, outcome: Outcome, tick: u8, quantity: u64) -> Command {
    Command::PlaceOrder(PlaceOrder::plain(
        UserNo(user),
        MarketNo(0),
        Wording { outcome, side: Side::Buy },
        Tick::new(tick).unwrap(),
        Lots::contracts(quantity),
    ))
}

/// A journal of one block, so that every moment but the last is within it; of 2023, and with a
/// market, an operator and these commands.
pub fn one_block(key: &ApiKey, more: Vec<Command>) -> (MemoryJournal, MarketId) {
    let draft = MarketDraft { logo: PICTURE.to_owned(), ..MarketDraft::plain(TimeMs::MAX) };
    let (role, label, hash) = (Role::Operator, "first".to_owned(), key.hash());
    let (profile_name, profile_pic) = ("op".to_owned(), PICTURE.to_owned());
    let commands = [
        Command::OpenVenue(Rules::current()),
        Command::CreateUser { profile_name, profile_pic },
        Command::AddKey { user: UserNo(0), role, label, hash },
        Command::Deposit { user: UserNo(0), amount: Money::new(10_000_000_000) },
        Command::CreateMarket(Box::new(draft)),
        Command::PublishMarket { market: MarketNo(0) },
    ];
    let mut journal = MemoryJournal::new();
    let mut builder = BlockBuilder::new(journal.head());
    let time = |n: i64| TimeMs::new(1_700_000_000_000 + n).unwrap();
    for (index, command) in (1_u32..).zip(commands.into_iter().chain(more)) {
        let (sequence, time) = (Sequence::new(index.into()), time(index.into()));
        builder.push(Record { sequence, time, once: None, command }).unwrap();
    }
    journal.append(builder.build(Results::NONE).unwrap()).unwrap();
    (journal, MarketId::derive(time(5), Sequence::new(5), 0))
}

#[test]
fn a_moment_within_a_block_is_a_moment() {
    let key = ApiKey::draw().unwrap();
    let orders = [(40, 1), (41, 2), (41, 3)];
    let orders = orders.map(|(tick, quantity)| bids(0, Outcome::Yes, tick, quantity));
    let (journal, market) = one_block(&key, orders.into());
    let venue = Venue::resumed(journal, key.reveal());
    let market = market.to_string();
    let levels = |as_of: &str| {
        let answer = ask(&venue.operator, &market, "yes", as_of);
        let bids = answer.ok(&shapes::depth())["bids"].as_array().unwrap().clone();
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

/// Traders see the past as they see the present.
#[test]
fn no_key_no_past() {
    let venue = Venue::open();
    let Trader { client, .. } = venue.trader("ann");
    let market = venue.market();
    let head = client.get("/trading/balance").sequence().to_string();
    told(&ask(&client, &market, "no", &head));
    let stranger = venue.client("not a key");
    ask(&stranger, &market, "no", &head).refused(401, "INVALID_API_KEY");
}

/// A draft is told from none by nothing: neither by what is answered nor by what is journaled.
#[test]
fn a_draft_looks_like_no_market() {
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
