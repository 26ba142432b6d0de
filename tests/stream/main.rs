//! The stream beside the read model, without sockets: what listeners rebuild from messages equals
//! what readers see, at every record that is compared, whatever is traded.

// clippy knows tests by their attribute, and not the parts that they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../model/commands/mod.rs"]
mod commands;
mod described;
mod listener;
#[path = "../model/naive/mod.rs"]
mod naive;
mod rebuilt;
mod slow;
mod states;
mod venue;

use proptest::prelude::*;

use commands::strategies::{step, step_of_conversions};
use commands::{Step, USERS_COUNT};
use exchange::ids::{MarketNo, UserNo};
use http::stream::channel::Channel;
use listener::Listener;
use venue::Venue;

/// The channels of one market.
const OF_MARKET: [&str; 7] = ["market:", "book:", "orders:", "trades:", "activity:", "book:", ""];

fn channels(names: &[String]) -> Vec<Channel> {
    names.iter().map(|name| Channel::parse(name).unwrap()).collect()
}

/// Everything by wildcards, with the journal and the first user's account.
fn everything() -> Vec<String> {
    let all = ["market:*", "book:*", "book:*:top", "orders:*", "trades:*", "activity:*"];
    let other = ["markets", "account", "journal"];
    all.into_iter().chain(other).map(str::to_owned).collect()
}

fn follow(steps: &[Step]) {
    let mut venue = Venue::open();
    let mut all = Listener::of(&venue, UserNo(0));
    all.subscribe(&channels(&everything()));
    let mut listeners = vec![all];
    for user in 1..USERS_COUNT {
        let mut listener = Listener::of(&venue, UserNo(user));
        let id = venue.market_id(MarketNo(user - 1));
        let mut names: Vec<String> =
            OF_MARKET[..5].iter().map(|kind| format!("{kind}{id}")).collect();
        names.extend([format!("book:{id}:top"), "account".to_owned()]);
        listener.subscribe(&channels(&names));
        listeners.push(listener);
    }
    for (number, step) in steps.iter().enumerate() {
        venue.take(step);
        if number % 7 == 3 {
            // One that comes later must know as much as those that were there.
            let mut late = Listener::of(&venue, UserNo(1));
            late.subscribe(&channels(&everything()));
            listeners.push(late);
        }
        let shown = venue.shown();
        for listener in &mut listeners {
            listener.catch_up(shown.sequence);
            listener.compare(&shown);
        }
    }
    // What only tells states tells the last one, sooner or later.
    let shown = venue.shown();
    for listener in &mut listeners {
        listener.await_states(&shown);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn listeners_know_what_readers_see(steps in prop::collection::vec(step(), 1..60)) {
        follow(&steps);
    }

    #[test]
    fn and_so_do_those_of_events_with_conversions(
        steps in prop::collection::vec(step_of_conversions(), 1..60),
    ) {
        follow(&steps);
    }
}
