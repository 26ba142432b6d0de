//! Readers that do not keep up, and those that come back.

use std::task::{Context, Poll, Waker};
use std::thread::sleep;
use std::time::{Duration, Instant};

use exchange::catalogue::Outcome;
use exchange::command::{Command, PlaceOrder, Side, Wording};
use exchange::ids::{MarketNo, UserNo};
use exchange::units::{Lots, Sequence, Tick};
use http::stream::channel::Channel;
use http::stream::listening::BEHIND_BYTES_MAX;
use serde_json::Value;

use crate::listener::{Listener, PATIENCE};
use crate::venue::Venue;

/// Orders that meet, in pairs.
fn pairs(venue: &Venue, count: usize) {
    let order = |user, side| {
        let wording = Wording { outcome: Outcome::Yes, side };
        let price = Tick::new(50).unwrap();
        let order = PlaceOrder::plain(UserNo(user), MarketNo(1), wording, price, Lots::new(10_000));
        Command::PlaceOrder(order)
    };
    for pair in 0..count {
        // They sell back and forth, so that nobody runs out of anything.
        let (one, other) = if pair % 2 == 0 { (2, 3) } else { (3, 2) };
        let first = venue.engine.begin(order(one, Side::Buy));
        venue.engine.begin(order(other, Side::Sell)).wait().unwrap();
        first.wait().unwrap();
    }
}

fn channel(venue: &Venue, kind: &str) -> Channel {
    Channel::parse(&format!("{kind}:{}", venue.market_id(MarketNo(1)))).unwrap()
}

/// All that a listener gets up to this record, in the order in which it comes.
pub fn texts(listener: &mut Listener, through: Sequence) -> Vec<(Sequence, String)> {
    let (began, mut into) = (Instant::now(), Vec::new());
    let mut cx = Context::from_waker(Waker::noop());
    while listener.listening.head() < through {
        while let Poll::Ready(delivered) = listener.listening.poll_messages(&mut cx, &mut into, 1) {
            delivered.unwrap();
        }
        assert!(began.elapsed() < PATIENCE);
        sleep(Duration::from_micros(50));
    }
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    into.iter().map(|message| (message.sequence, text(&message.text))).collect()
}

#[test]
fn who_comes_back_reads_on_as_if_never_gone() {
    let venue = Venue::open();
    let kinds = ["trades", "orders", "book", "activity"].map(|kind| channel(&venue, kind));
    let channels = [&kinds[..], &[Channel::Account, Channel::Journal]].concat();
    let mut whole = Listener::of(&venue, UserNo(1));
    whole.subscribe(&channels);
    let mut came = texts(&mut whole, venue.shown().sequence);
    let mut pieces = Listener::of(&venue, UserNo(1));
    pieces.subscribe(&channels);
    let mut got = texts(&mut pieces, venue.shown().sequence);
    assert_eq!(got.len(), came.len());
    for _ in 0..5 {
        pairs(&venue, 7);
        let through = venue.shown().sequence;
        got.extend(texts(&mut pieces, through));
        // It is gone for a while, and there is more than one.
        let last = pieces.listening.head();
        drop(pieces);
        pairs(&venue, 5);
        let through = venue.shown().sequence;
        pieces = Listener::of(&venue, UserNo(1));
        let asked = pieces.listening.subscribe(&pieces.caller, &channels, Some(last));
        assert!(asked.iter().all(|asked| asked.as_ref().unwrap().sequence == last));
        got.extend(texts(&mut pieces, through));
        came.extend(texts(&mut whole, through));
        assert_eq!(got, came);
    }
}

#[test]
fn a_slow_reader_gets_the_latest_book_or_ends_where_it_can_go_on() {
    let venue = Venue::open();
    let mut at_once = Listener::of(&venue, UserNo(1));
    at_once.subscribe(&[channel(&venue, "trades"), channel(&venue, "book")]);
    let mut of_book = Listener::of(&venue, UserNo(1));
    of_book.subscribe(&[channel(&venue, "book")]);
    let mut of_trades = Listener::of(&venue, UserNo(1));
    of_trades.subscribe(&[channel(&venue, "trades"), channel(&venue, "book")]);
    let began = venue.shown().sequence;
    for listener in [&mut of_book, &mut of_trades] {
        listener.catch_up(began);
    }
    while venue.hub.held_bytes() < 3 * BEHIND_BYTES_MAX / 2 {
        pairs(&venue, 50);
        at_once.catch_up(venue.shown().sequence);
        // Two rings, each with its own bound.
        assert!(venue.hub.held_bytes() <= 2 * BEHIND_BYTES_MAX);
        if of_trades.listening.check().is_err() {
            break;
        }
    }
    while of_trades.listening.check().is_ok() {
        pairs(&venue, 50);
        at_once.catch_up(venue.shown().sequence);
    }
    let shown = venue.shown();
    at_once.compare(&shown);
    // All or nothing of trades: what was handed out ends at a record from which it can go on.
    let slow = of_trades.read().unwrap_err();
    assert_eq!(slow.sequence, began.max(slow.sequence));
    assert!(slow.sequence < shown.sequence);
    let mut back = Listener::of(&venue, UserNo(1));
    let channels = [channel(&venue, "trades")];
    let asked = back.listening.subscribe(&back.caller, &channels, Some(slow.sequence));
    assert_eq!(asked[0].as_ref().unwrap().sequence, slow.sequence);
    let rest = texts(&mut back, shown.sequence);
    assert_eq!(rest.len(), shown.trades[&venue.market_id(MarketNo(1)).to_string()]);
    // Of the book it is the latest state that counts.
    let conflated = texts(&mut of_book, shown.sequence);
    let [(sequence, text)] = &conflated[..] else { panic!("{conflated:?}") };
    assert_eq!(*sequence, shown.sequence);
    let message: Value = serde_json::from_str(text).unwrap();
    assert_eq!(message["kind"], "book");
    assert_eq!(message["conflated"], true);
    // The last record, a trade, changed the book: what comes next names it, too.
    assert_eq!(message["previous"], shown.sequence.get());
}
