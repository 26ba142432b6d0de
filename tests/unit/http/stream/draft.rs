//! Unit tests of `src/http/stream/draft.rs`.

use std::task::{Context, Poll};
use std::thread::{scope, sleep};

use parking_lot::Mutex;
use serde_json::Value;

use super::*;
use crate::auth::{Caller, Via};
use crate::stream::bell::Bell;
use crate::stream::drawing::Drawing;
use crate::stream::hub::Hub;
use engine::start::{Options, Running, start};
use exchange::catalogue::{MarketDraft, Outcome};
use exchange::command::{Command, PlaceOrder, Role, Side, Wording};
use exchange::ids::{KeyNo, UserNo};
use exchange::rules::Rules;
use exchange::units::Money;
use journal::memory::MemoryJournal;

const MARKET: MarketNo = MarketNo(0);
const PATIENCE: Duration = Duration::from_mins(1);

/// A venue whose first user has orders of one unit at many prices; `each` at every one.
fn venue(each: usize) -> Running {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    let engine = running.engine();
    let mut commands = vec![Command::OpenVenue(Rules::current())];
    for user in 0..2 {
        let (profile_name, profile_pic) = (format!("user {user}"), String::new());
        commands.push(Command::CreateUser { profile_name, profile_pic });
        let amount = Money::new(1_000_000_000_000);
        commands.push(Command::Deposit { user: UserNo(user), amount });
    }
    commands.push(Command::CreateMarket(Box::new(MarketDraft::plain(TimeMs::MAX))));
    commands.push(Command::PublishMarket { market: MARKET });
    for command in commands {
        engine.ask(command).unwrap();
    }
    let orders = (20..45).chain(55..80).flat_map(|price| (0..each).map(move |_| price));
    let coming: Vec<_> = orders.map(|price| engine.begin(order(0, price))).collect();
    for coming in coming {
        drop(coming.wait().unwrap());
    }
    running
}

/// A bid below the middle, an ask above it.
fn order(user: u32, price: u8) -> Command {
    let outcome = if price < 50 { Outcome::Yes } else { Outcome::No };
    let price = Tick::new(if price < 50 { price } else { 100 - price }).unwrap();
    let wording = Wording { outcome, side: Side::Buy };
    let lots = Lots::new(1_000_000);
    Command::PlaceOrder(PlaceOrder::plain(UserNo(user), MARKET, wording, price, lots))
}

/// The record that a snapshot shows, and its orders: number, side and price.
fn drawn(message: &Message) -> (u64, Vec<(u64, String, String, String)>) {
    let json: Value = serde_json::from_slice(&message.text).unwrap();
    let orders = json["data"]["orders"].as_array().unwrap().iter().map(|order| {
        let word = |member: &str| order[member].as_str().unwrap().to_owned();
        (order["order"].as_u64().unwrap(), word("side"), word("price"), word("quantity"))
    });
    (json["sequence"].as_u64().unwrap(), orders.collect())
}

/// A large book is copied in many slices while it is traded: what is drawn is as of one record.
#[test]
#[allow(clippy::too_many_lines, reason = "one course of events")]
fn what_is_drawn_while_it_is_traded_is_as_of_one_record() {
    let running = venue(100);
    let (engine, hub) = (running.engine(), Arc::<Hub>::default());
    let caller = Caller {
        user: UserNo(1),
        via: Via::Key(KeyNo(0)),
        role: Role::Trader,
        as_of: Sequence::ZERO,
        keys_as_of: Sequence::ZERO,
    };
    let id = engine.read().catalogue.market(MARKET).unwrap().id;
    let channel = Channel::parse(&format!("orders:{id}")).unwrap();
    // The first sees each change of the book; it says what the others must have been shown.
    let mut first = hub.listen(&engine).unwrap();
    first.subscribe(&caller, &[channel], None).remove(0).unwrap();
    let (stop, came) = (Mutex::new(false), Mutex::new(Vec::new()));
    let mut cx = Context::from_waker(Waker::noop());
    let mut snapshots = Vec::new();
    scope(|threads| {
        threads.spawn(|| {
            let mut number = 0_u32;
            while !*stop.lock() {
                number += 1;
                // Trades, orders at the end of a queue, and orders taken out of its middle.
                let price = 20 + u8::try_from(number % 60).unwrap();
                let placed = engine.ask(order(1, price)).unwrap().sequence();
                let cancelled = Command::CancelOrder { user: UserNo(1), order: OrderNo(placed) };
                if number.is_multiple_of(3) {
                    engine.ask(cancelled).unwrap();
                }
                let old = OrderNo(Sequence::new(u64::from(7 + number * 17 % 5000)));
                engine.ask(Command::CancelOrder { user: UserNo(0), order: old }).unwrap();
            }
        });
        threads.spawn(|| {
            let (mut into, mut cx) = (Vec::new(), Context::from_waker(Waker::noop()));
            while !*stop.lock() || first.head() < engine.watermark() {
                if let Poll::Ready(delivered) = first.poll_messages(&mut cx, &mut into, 1 << 16) {
                    delivered.unwrap();
                }
                came.lock().append(&mut into);
            }
        });
        // What it begins with must be no later than what the others are shown.
        let began = Instant::now();
        while came.lock().is_empty() {
            assert!(began.elapsed() < PATIENCE);
            sleep(Duration::from_millis(1));
        }
        for _ in 0..5 {
            let (mut next, mut into) = (hub.listen(&engine).unwrap(), Vec::new());
            next.subscribe(&caller, &[channel], None).remove(0).unwrap();
            let began = Instant::now();
            while into.is_empty() {
                assert!(began.elapsed() < PATIENCE);
                if let Poll::Ready(delivered) = next.poll_messages(&mut cx, &mut into, 1) {
                    delivered.unwrap();
                }
                sleep(Duration::from_millis(1));
            }
            snapshots.push(drawn(&into[0]));
        }
        *stop.lock() = true;
    });
    let mut came = came.into_inner().into_iter();
    let (_, mut book) = drawn(&came.next().unwrap());
    let mut rest = came.peekable();
    for (at, snapshot) in snapshots {
        while let Some(message) = rest.next_if(|message| message.sequence.get() <= at) {
            let json: Value = serde_json::from_slice(&message.text).unwrap();
            let data = &json["data"];
            let number = data["order"].as_u64().unwrap();
            let word = |member: &str| data[member].as_str().unwrap().to_owned();
            match json["kind"].as_str().unwrap() {
                "added" => {
                    // Behind all others of its price.
                    let new = (number, word("side"), word("price"), word("quantity"));
                    let last = book
                        .iter()
                        .rposition(|(_, side, price, _)| (side, price) == (&new.1, &new.2));
                    book.insert(last.map_or(book.len(), |last| last + 1), new);
                }
                "traded" if word("remainingQuantity") != "0" => {
                    book.iter_mut().find(|it| it.0 == number).unwrap().3 =
                        word("remainingQuantity");
                }
                _ => book.retain(|it| it.0 != number),
            }
        }
        let sorted = |orders: &[(u64, String, String, String)]| {
            let mut orders = orders.to_vec();
            // Stable: what is left is the order within a price.
            orders.sort_by(|one, other| (&one.1, &one.2).cmp(&(&other.1, &other.2)));
            orders
        };
        let (shown, rebuilt) = (sorted(&snapshot), sorted(&book));
        let lacks = |all: &[(u64, String, String, String)], other: &[_]| {
            all.iter().filter(|it| !other.contains(*it)).cloned().collect::<Vec<_>>()
        };
        // Only where they differ: the whole book would be too long to read.
        let differs = shown != rebuilt;
        let (more, less) = if differs {
            (lacks(&shown, &rebuilt), lacks(&rebuilt, &shown))
        } else {
            (Vec::new(), Vec::new())
        };
        assert!(!differs, "at {at}: only shown {more:?}, only rebuilt {less:?}");
    }
}

#[test]
fn who_asks_for_the_same_shares_a_draft_and_no_slice_is_large() {
    let running = venue(100);
    let engine = running.engine();
    let (tasks, copied) = crossbeam_channel::unbounded();
    let mut drafts = Drafts::new();
    let bell = Arc::new(Bell::default());
    let topic = Topic::Market(MarketChannel::Orders, MARKET);
    let id = engine.read().catalogue.market(MARKET).unwrap().id;
    let channel = Channel::parse(&format!("orders:{id}")).unwrap();
    let drawings: Vec<Drawing> = (0..1000)
        .map(|_| {
            let (drawing, asker) = Drawing::ask(engine.watermark(), &bell);
            drafts.ask(topic, channel, asker);
            drawing
        })
        .collect();
    let mut slices = 0;
    while drafts.due().is_some() {
        sleep(Duration::from_micros(100));
        drafts.go_on(&engine, &tasks);
        if drafts.due().is_some() {
            continue;
        }
        let Task::Copied(number, Some(slice)) = copied.recv().unwrap() else { panic!("no slice") };
        let orders: usize = slice.levels.iter().map(|(_, orders)| orders.len()).sum();
        assert!(orders < SLICE_ORDERS + 100, "{orders}");
        slices += 1;
        drafts.take(number, Some(slice), &engine);
    }
    assert_eq!(slices, 5_usize, "5,000 orders, a thousand each time and the rest of a level");
    let began = Instant::now();
    let mut all: Vec<_> = drawings.iter().map(Drawing::drawn).collect();
    while all.iter().any(Option::is_none) {
        assert!(began.elapsed() < PATIENCE);
        sleep(Duration::from_millis(1));
        for (drawn, drawing) in all.iter_mut().zip(&drawings) {
            *drawn = drawn.take().or_else(|| drawing.drawn());
        }
    }
    let messages: Vec<_> = all.into_iter().map(|drawn| drawn.unwrap().unwrap().1).collect();
    assert!(messages.iter().all(|one| Arc::ptr_eq(&one[0], &messages[0][0])));
    assert_eq!(drawn(&messages[0][0]).1.len(), 5000);
}

/// A hub that is behind has no room for a slice: it draws anew, and nobody waits forever.
#[test]
fn a_slice_that_finds_no_room_is_drawn_again() {
    let running = venue(1);
    let engine = running.engine();
    let (tasks, copied) = crossbeam_channel::bounded(1);
    let mut drafts = Drafts::new();
    let (drawing, asker) = Drawing::ask(engine.watermark(), &Arc::default());
    let id = engine.read().catalogue.market(MARKET).unwrap().id;
    let channel = Channel::parse(&format!("orders:{id}")).unwrap();
    drafts.ask(Topic::Market(MarketChannel::Orders, MARKET), channel, asker);
    tasks.send(Task::End).unwrap();
    drafts.go_on(&engine, &tasks);
    let began = Instant::now();
    while !drafts.is_lost.load(Ordering::SeqCst) {
        assert!(began.elapsed() < PATIENCE);
        sleep(Duration::from_millis(1));
    }
    // Only now there is room.
    copied.recv().unwrap();
    while drawing.drawn().is_none() {
        assert!(began.elapsed() < PATIENCE);
        drafts.go_on(&engine, &tasks);
        if let Ok(Task::Copied(number, slice)) = copied.recv_timeout(Duration::from_millis(1)) {
            drafts.take(number, slice, &engine);
        }
    }
}

/// Whoever waits is told if the engine takes no more trials.
#[test]
fn nothing_is_drawn_after_the_end_of_the_engine() {
    let running = venue(1);
    let engine = running.engine();
    running.stop().unwrap();
    let mut drafts = Drafts::new();
    let (drawing, asker) = Drawing::ask(engine.watermark(), &Arc::default());
    drafts.ask(Topic::Market(MarketChannel::Orders, MARKET), Channel::Journal, asker);
    drafts.go_on(&engine, &crossbeam_channel::unbounded().0);
    assert!(drawing.drawn().is_some_and(|drawn| drawn.is_err()));
}
