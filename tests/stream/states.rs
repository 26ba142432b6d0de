//! What only tells states: each names the last record before it that changed its channel.

use exchange::catalogue::Outcome;
use exchange::command::{Command, PlaceOrder, Side, Wording};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::units::{Lots, Sequence, Tick};
use http::stream::channel::Channel;
use serde_json::Value;

use crate::listener::Listener;
use crate::slow::texts;
use crate::venue::Venue;

const MARKET: MarketNo = MarketNo(1);

/// The records that changed the best prices, the displayed probability, and anything.
#[derive(Debug, Default)]
struct Changed {
    top: Vec<u64>,
    quote: Vec<u64>,
    all: Vec<u64>,
}

impl Changed {
    fn ask(&mut self, venue: &Venue, command: Command) -> Sequence {
        let seen = || {
            let id = venue.market_id(MARKET).to_string();
            let mut shown = venue.shown();
            let book = shown.books.remove(&id).unwrap();
            let probability = venue.engine.read().probability_of_yes(MARKET);
            let best = [book[0].first().copied(), book[1].first().copied()];
            (best, probability, (book, shown.trades[&id]))
        };
        let before = seen();
        let sequence = venue.engine.ask(command).unwrap().sequence();
        let now = seen();
        if before.0 != now.0 {
            self.top.push(sequence.get());
        }
        if before.1 != now.1 {
            self.quote.push(sequence.get());
        }
        if before.2 != now.2 {
            self.all.push(sequence.get());
        }
        sequence
    }

    fn of(&self, channel: &str) -> &[u64] {
        match channel {
            "markets" => &self.quote,
            top if top.ends_with(":top") => &self.top,
            _ => &self.all,
        }
    }
}

fn order(user: u32, side: Side, price: u8, lots: u64) -> Command {
    let wording = Wording { outcome: Outcome::Yes, side };
    let (price, lots) = (Tick::new(price).unwrap(), Lots::new(lots));
    Command::PlaceOrder(PlaceOrder::plain(UserNo(user), MARKET, wording, price, lots))
}

fn last(changed: &[u64], counts: impl Fn(u64) -> bool) -> Option<u64> {
    changed.iter().copied().rev().find(|record| counts(*record))
}

#[test]
fn each_state_names_the_last_record_before_it_that_changed_its_channel() {
    let venue = Venue::open();
    let id = venue.market_id(MARKET);
    let names = [format!("market:{id}"), format!("book:{id}:top"), "markets".to_owned()];
    let channels: Vec<Channel> = crate::channels(&names);
    let mut changed = Changed::default();
    changed.ask(&venue, order(2, Side::Buy, 40, 2_000_000));
    changed.ask(&venue, order(3, Side::Buy, 30, 2_000_000));
    let mut listener = Listener::of(&venue, UserNo(1));
    listener.subscribe(&channels);
    let begun = venue.shown().sequence;
    let first = texts(&mut listener, begun);
    let mut told = Vec::new();
    for round in 0..6 {
        // Deep in the book, at the top of it, a trade, and an order that is cancelled.
        changed.ask(&venue, order(3, Side::Buy, 20 + round, 1_000_000));
        changed.ask(&venue, order(2, Side::Buy, 41 + round, 1_000_000));
        told.extend(texts(&mut listener, venue.shown().sequence));
        let other = changed.ask(&venue, order(3, Side::Buy, 45, 3_000_000));
        changed.ask(&venue, order(2, Side::Sell, 45, 500_000));
        let cancel = Command::CancelOrder { user: UserNo(3), order: OrderNo(other) };
        changed.ask(&venue, cancel);
        told.extend(texts(&mut listener, venue.shown().sequence));
    }
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let mut checked = 0;
    for (sequence, text) in &told {
        let message = json(text);
        let changed = changed.of(message["channel"].as_str().unwrap());
        let before = last(changed, |record| record < sequence.get());
        // Else something before that was tried changed it.
        if before.is_some() {
            assert_eq!(message["previous"].as_u64(), before, "{message}");
            checked += 1;
        }
    }
    assert!(checked > 12, "{checked}");
    // What begins shows the state that its record made: at first, and for who comes back.
    let from = Some(Sequence::new(changed.all[3]));
    let mut back = Listener::of(&venue, UserNo(1));
    for asked in back.listening.subscribe(&back.caller, &channels, from) {
        asked.unwrap();
    }
    let back = texts(&mut back, venue.shown().sequence);
    for (sequence, text) in first.iter().chain(&back) {
        let message = json(text);
        let channel = message["channel"].as_str().unwrap();
        let made = last(changed.of(channel), |record| record <= sequence.get());
        let expected = made.filter(|_| channel != "markets" || *sequence > begun);
        if let Some(expected) = expected {
            assert_eq!(message["previous"], expected, "{message}");
        }
    }
    assert!(back.len() > 3, "{back:?}");
}
