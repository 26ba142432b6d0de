//! Unit tests of `src/http/stream/listening.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::*;
use crate::auth::Via;
use crate::stream::begins::SNAPSHOTS_A_HOLD;
use engine::start::{Options, Running, start};
use exchange::catalogue::{MarketDraft, Outcome};
use exchange::command::{Command, Direction, PlaceOrder, Role, Side, Wording};
use exchange::ids::{KeyNo, MarketNo, UserNo};
use exchange::rules::Rules;
use exchange::units::{Lots, Money, Tick, TimeMs};
use journal::memory::MemoryJournal;
use serde_json::Value;

const MARKETS: u32 = 50;

fn venue() -> (Running, Vec<Channel>) {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    let engine = running.engine();
    engine.ask(Command::OpenVenue(Rules::current())).unwrap();
    for market in (0..MARKETS).map(MarketNo) {
        let draft = Box::new(MarketDraft::plain(TimeMs::MAX));
        engine.ask(Command::CreateMarket(draft)).unwrap();
        engine.ask(Command::PublishMarket { market }).unwrap();
    }
    let view = engine.read();
    let ids: Vec<_> = view.catalogue.markets_published().map(|row| row.id).collect();
    let of = |kind| ids.iter().map(move |id| Channel::parse(&format!("{kind}:{id}")).unwrap());
    let channels = of("book").chain(of("orders")).collect();
    drop(view);
    (running, channels)
}

fn caller() -> Caller {
    Caller {
        user: UserNo(0),
        via: Via::Key(KeyNo(0)),
        role: Role::Operator,
        as_of: Sequence::ZERO,
        keys_as_of: Sequence::ZERO,
    }
}

/// However many channels are asked for at once, few snapshots are made while others wait, and few
/// of them wait for the reader.
#[test]
fn many_channels_begin_a_few_at_a_time() {
    let (running, channels) = venue();
    let (engine, hub) = (running.engine(), Arc::<Hub>::default());
    let mut listening = hub.listen(&engine).unwrap();
    let asked = listening.subscribe(&caller(), &channels, None);
    assert!(asked.iter().all(Result::is_ok));
    let begun = engine.watermark();
    let owed = |listening: &Listening| {
        listening.subscriptions.iter().filter(|of| of.begins.is_some()).count()
    };
    assert_eq!(owed(&listening), channels.len());
    let (mut left, mut told) = (channels.len(), Vec::new());
    let (mut cx, since) = (Context::from_waker(Waker::noop()), Instant::now());
    while listening.head() < begun {
        assert!(since.elapsed() < Duration::from_mins(1), "{left} are left");
        // Something happens all the time.
        engine.ask(Command::AdvanceClock).unwrap();
        if let Poll::Ready(delivered) = listening.poll_messages(&mut cx, &mut told, 1) {
            delivered.unwrap();
        }
        let waiting: usize = listening.subscriptions.iter().map(|of| of.first.len()).sum();
        assert!(waiting <= SNAPSHOTS_A_HOLD, "{waiting} wait");
        // A look may be followed by another, once the bell hangs.
        let now = owed(&listening);
        assert!(left - now <= 2 * SNAPSHOTS_A_HOLD, "{left} and then {now}");
        left = now;
        sleep(Duration::from_micros(200));
    }
    assert_eq!((left, told.len()), (0, channels.len()));
    assert!(told.is_sorted_by_key(|message| message.sequence));
    let texts: BTreeSet<_> = told.iter().map(|message| message.text.clone()).collect();
    assert_eq!(texts.len(), channels.len(), "each begins once");
}

/// Levels on each side of each book.
const LEVELS: u8 = 20;

fn rest(engine: &Engine, market: MarketNo, outcome: Outcome, price: u8) {
    let wording = Wording { outcome, side: Side::Buy };
    let price = Tick::new(price).unwrap();
    let order = PlaceOrder::plain(UserNo(0), market, wording, price, Lots::new(10_000));
    engine.ask(Command::PlaceOrder(order)).unwrap();
}

fn with_a_user(engine: &Engine) {
    let (profile_name, profile_pic) = ("Ann".to_owned(), String::new());
    engine.ask(Command::CreateUser { profile_name, profile_pic }).unwrap();
    let amount = Money::new(1_000_000_000_000);
    engine.ask(Command::Deposit { user: UserNo(0), amount }).unwrap();
}

/// The books of all markets begin some at a time, each before its own changes, and none is missed
/// of those that come meanwhile.
#[test]
fn the_books_of_all_markets_begin_in_parts() {
    let (running, _) = venue();
    let (engine, hub) = (running.engine(), Arc::<Hub>::default());
    with_a_user(&engine);
    for market in (0..MARKETS).map(MarketNo) {
        for price in 1..=LEVELS {
            rest(&engine, market, Outcome::Yes, price);
            rest(&engine, market, Outcome::No, price);
        }
    }
    let mut listening = hub.listen(&engine).unwrap();
    let all = [Channel::parse("book:*").unwrap()];
    listening.subscribe(&caller(), &all, None).remove(0).unwrap();
    let (mut told, mut most, mut market) = (Vec::new(), 0, 0);
    let (mut cx, since) = (Context::from_waker(Waker::noop()), Instant::now());
    let mut read_to = |listening: &mut Listening, told: &mut Vec<_>, to: Sequence, busy: bool| {
        while listening.head() < to {
            assert!(since.elapsed() < Duration::from_mins(1));
            if busy {
                market = (market + 7) % MARKETS;
                rest(&engine, MarketNo(market), Outcome::Yes, 21 + LEVELS);
            }
            if let Poll::Ready(delivered) = listening.poll_messages(&mut cx, told, 1) {
                delivered.unwrap();
            }
            most = most.max(listening.subscriptions[0].first.len());
            sleep(Duration::from_micros(200));
        }
    };
    let begun = engine.watermark();
    read_to(&mut listening, &mut told, begun, true);
    read_to(&mut listening, &mut told, engine.watermark(), false);
    assert!(told.is_sorted_by_key(|message| message.sequence));
    let mut books: BTreeMap<String, BTreeMap<(bool, String), String>> = BTreeMap::new();
    let mut begins = BTreeSet::new();
    for message in &told {
        let text: Value = serde_json::from_slice(&message.text).unwrap();
        let channel = text["channel"].as_str().unwrap().to_owned();
        match text["kind"].as_str().unwrap() {
            "snapshot" => assert_eq!(text["data"]["count"], MARKETS),
            "book" => {
                begins.insert(message.sequence);
                assert!(books.insert(channel.clone(), BTreeMap::new()).is_none(), "{channel}");
            }
            kind => assert_eq!((kind, books.contains_key(&channel)), ("levels", true), "{channel}"),
        }
        for level in text["data"]["levels"].as_array().into_iter().flatten() {
            let texts = ["price", "quantity"].map(|name| level[name].as_str().unwrap().to_owned());
            let [price, quantity] = texts;
            books.get_mut(&channel).unwrap().insert((level["side"] == "ask", price), quantity);
        }
    }
    assert!(begins.len() > 1 && most <= 1 + 1024 / usize::from(2 * LEVELS) + 1, "{most}");
    let view = engine.read();
    for row in view.catalogue.markets_published() {
        let shown = &books[&format!("book:{}", row.id)];
        for (is_ask, side) in [(false, Direction::Up), (true, Direction::Down)] {
            let levels: BTreeMap<_, _> = view
                .book(row.no, side)
                .map(|level| (level.price.to_string(), level.quantity.to_string()))
                .collect();
            let of_side = shown.iter().filter(|((ask, _), _)| *ask == is_ask);
            let of_side: BTreeMap<_, _> =
                of_side.map(|((_, price), quantity)| (price.clone(), quantity.clone())).collect();
            assert_eq!(of_side, levels, "{}", row.no.0);
        }
    }
}

/// Whatever is asked for, and from where on: messages never go back.
#[test]
fn messages_never_go_back() {
    let (running, _) = venue();
    let (engine, hub) = (running.engine(), Arc::<Hub>::default());
    with_a_user(&engine);
    let mut listening = hub.listen(&engine).unwrap();
    let asked = |listening: &mut Listening, name: &str, from: Option<u64>| {
        let channel = Channel::parse(name).unwrap();
        listening.subscribe(&caller(), &[channel], from.map(Sequence::new)).remove(0)
    };
    // Each catches up from the journal, and one begins with a snapshot.
    asked(&mut listening, "journal", Some(7)).unwrap();
    asked(&mut listening, "account", Some(3)).unwrap();
    asked(&mut listening, "book:*", None).unwrap();
    asked(&mut listening, "activity:*", Some(0)).unwrap();
    let (mut told, head) = (Vec::new(), engine.watermark());
    let (mut cx, since) = (Context::from_waker(Waker::noop()), Instant::now());
    while listening.head() < head {
        assert!(since.elapsed() < Duration::from_mins(1));
        if let Poll::Ready(delivered) = listening.poll_messages(&mut cx, &mut told, 1) {
            delivered.unwrap();
        }
    }
    assert!(told.len() > 2 * MARKETS as usize);
    assert!(told.is_sorted_by_key(|message| message.sequence));
    // What was sent cannot be followed by what was before it.
    let refused = asked(&mut listening, "trades:*", Some(head.get() - 1)).unwrap_err();
    assert_eq!(refused.kind, Kind::InvalidRequest);
    asked(&mut listening, "trades:*", Some(head.get())).unwrap();
    // A state is told as it is now.
    asked(&mut listening, "market:*", Some(0)).unwrap();
}
