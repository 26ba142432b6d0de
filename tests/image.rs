//! The image of the exchange's state: a restored exchange continues exactly like the original, and
//! invalid bytes are refused.

// clippy knows tests by their attribute, and not the parts that they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "model/commands/mod.rs"]
mod commands;
#[path = "model/naive/mod.rs"]
mod naive;

use std::num::NonZeroU32;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use exchange::Exchange;
use exchange::command::{Command, KeyedCommand, Record};
use exchange::effect::Effect;
use exchange::ids::MarketNo;
use exchange::image::coding::BadImage;
use exchange::invariant::Broken;
use exchange::market::MarketStatus;
use exchange::rules::SLICE;
use exchange::script;
use exchange::units::{Sequence, TimeMs};

use commands::{Step, strategies};
use naive::Naive;

/// An exchange, and the twin from which random commands are drawn for it.
struct Venue {
    exchange: Exchange,
    twin: Naive,
    now: TimeMs,
}

impl Venue {
    fn opened() -> Venue {
        Venue::in_slices_of(SLICE)
    }

    /// A venue where a record ends at most this many orders and positions.
    fn in_slices_of(slice: u32) -> Venue {
        let exchange = Exchange::new().in_slices_of(NonZeroU32::new(slice).unwrap());
        let mut twin = Naive::new();
        twin.slice = usize::try_from(slice).ok();
        let mut venue = Venue { exchange, twin, now: commands::START };
        for command in commands::opening() {
            venue.ask(command);
        }
        venue
    }

    fn after(slice: u32, steps: &[Step]) -> Venue {
        let mut venue = Venue::in_slices_of(slice);
        for step in steps {
            venue.take(step);
        }
        venue
    }

    fn take(&mut self, step: &Step) -> (Record, Vec<Effect>) {
        self.now = commands::after(self.now, i64::from(step.later_ms));
        self.ask(commands::asked(&self.twin, step, self.now))
    }

    fn ask(&mut self, asked: impl Into<KeyedCommand>) -> (Record, Vec<Effect>) {
        let KeyedCommand { once, act, command } = asked.into();
        let sequence = self.exchange.sequence().next();
        let record = Record { sequence, time: self.now, once, act, command };
        self.twin.apply(&record);
        let effects = effects_of(&mut self.exchange, &record);
        (record, effects)
    }
}

fn effects_of(exchange: &mut Exchange, record: &Record) -> Vec<Effect> {
    let mut effects = Vec::new();
    exchange.apply(record, &mut effects).unwrap();
    effects
}

/// Asserts that the bytes are refused, or are exactly the image of what they restored to; true if
/// refused.
fn refused_or_the_same(bytes: &[u8]) -> bool {
    match Exchange::from_image(bytes) {
        Ok(exchange) => {
            let again = exchange.image().unwrap();
            let differs = again.iter().zip(bytes).position(|(one, other)| one != other);
            assert!(again == bytes, "became another state from byte {differs:?}");
            false
        }
        Err(_) => true,
    }
}

/// A small state with something of every kind in it, found by trying seeds.
fn varied() -> Exchange {
    let mut runner = TestRunner::deterministic();
    let steps = strategies::step();
    let mut venue = Venue::opened();
    for _ in 0..3_000 {
        venue.take(&steps.new_tree(&mut runner).unwrap().current());
        let exchange = &venue.exchange;
        let markets = (0..).map(MarketNo);
        let statuses: Vec<MarketStatus> =
            markets.map_while(|market| exchange.market(market)).map(|state| state.status).collect();
        let held = venue.twin.ledger.positions.len() > 2;
        if exchange.open_orders_count() > 4
            && held
            && statuses.contains(&MarketStatus::Resolved)
            && statuses.contains(&MarketStatus::Active)
        {
            return venue.exchange;
        }
    }
    panic!("no such state in so many commands");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_restored_exchange_continues_like_the_original(
        slice in 1..6_u32,
        before in prop::collection::vec(strategies::step(), 0..120),
        later in prop::collection::vec(strategies::step(), 1..80),
    ) {
        let mut venue = Venue::after(slice, &before);
        let image = venue.exchange.image().unwrap();
        let restored = Exchange::from_image(&image).unwrap();
        let mut restored = restored.in_slices_of(NonZeroU32::new(slice).unwrap());
        prop_assert_eq!(&restored.image().unwrap(), &image);
        prop_assert_eq!(restored.digest(), venue.exchange.digest());
        for step in &later {
            prop_assert_eq!(restored.next_due(), venue.exchange.next_due());
            let (record, effects) = venue.take(step);
            prop_assert_eq!(effects_of(&mut restored, &record), effects, "{:?}", record);
        }
        prop_assert_eq!(restored.image(), venue.exchange.image());
        restored.check().unwrap();
    }

    #[test]
    fn randomly_changed_bytes_are_refused_or_canonical(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        steps in prop::collection::vec(strategies::step(), 0..60),
    ) {
        let mut image = Venue::after(2, &steps).exchange.image().unwrap();
        // The last record's number and time are covered by the container's checksum; random ones
        // would make the longest index that a venue could have.
        for (place, byte) in changes {
            let place = place.index(image.len() - 20) + 20;
            image[place] = byte;
        }
        refused_or_the_same(&image);
    }
}

#[test]
fn a_venue_without_records_has_an_image() {
    let mut exchange = Exchange::new();
    assert_eq!(Exchange::from_image(&exchange.image().unwrap()).unwrap().image(), exchange.image());
    // A refused command advances the sequence too.
    let (sequence, time) = (Sequence::new(1), commands::START);
    effects_of(
        &mut exchange,
        &Record { sequence, time, once: None, act: None, command: Command::AdvanceClock },
    );
    let restored = Exchange::from_image(&exchange.image().unwrap()).unwrap();
    assert_eq!((restored.sequence(), restored.time()), (sequence, time));
}

/// A window that was over when the market began to pay has had its turn.
#[test]
fn what_is_due_next_is_the_same_once_restored() {
    let texts = r#"questions "" "" "" descriptions "" "" "" yes "" "" "" no "" "" "" logo """#;
    let script = r#"
venue USD orders 7 venue-orders 20 repeats 1s names 5
user u0 "user 0" pic ""
deposit u0 5.00
user u1 "user 1" pic ""
deposit u1 5.00
market m0 TEXTS until +20s window 1s
publish m0
u0 buy yes 0.37 x1 on m0
u1 buy no 0.63 x1 on m0
resolve m0 no
+1001ms clock
"#
    .replace("TEXTS", texts);
    let slice = NonZeroU32::new(1).unwrap();
    let mut exchange = Exchange::new().in_slices_of(slice);
    for record in script::parse(&script).unwrap() {
        effects_of(&mut exchange, &record);
        let restored = Exchange::from_image(&exchange.image().unwrap()).unwrap();
        assert_eq!(restored.next_due(), exchange.next_due(), "after {record:?}");
    }
    assert!(exchange.next_due().is_some(), "one of two holders waits to be paid");
}

#[test]
fn an_image_truncated_or_extended_is_refused() {
    let image = varied().image().unwrap();
    for end in 0..image.len() {
        assert_eq!(Exchange::from_image(&image[..end]).unwrap_err(), BadImage::Truncated, "{end}");
    }
    let longer = [&image[..], &[0]].concat();
    assert_eq!(Exchange::from_image(&longer).unwrap_err(), BadImage::Trailing);
    let mut later = image;
    // Each of 2,048 versions tells which of eleven parts an image has.
    later[..2].copy_from_slice(&2_049_u16.to_le_bytes());
    assert_eq!(Exchange::from_image(&later).unwrap_err(), BadImage::Version(2_049));
}

/// Errors that no single field shows are caught by the checks across fields.
#[test]
fn an_image_of_an_impossible_state_is_refused() {
    let exchange = Venue::opened().exchange;
    let mut image = exchange.image().unwrap();
    let available = 500_000_000_i64;
    let place = image.windows(8).position(|bytes| bytes == available.to_le_bytes()).unwrap();
    image[place..place + 8].copy_from_slice(&(available + 1).to_le_bytes());
    let refused = Exchange::from_image(&image).unwrap_err();
    assert_eq!(refused, BadImage::Impossible(Broken::MoneyNotConserved));
    assert_eq!(refused.code(), "IMAGE_IMPOSSIBLE");
}

/// Every bit of an image matters: flipped, it is refused or restores to another state.
#[test]
fn every_bit_of_an_image_counts() {
    let image = varied().image().unwrap();
    let mut refused = 0;
    for place in 0..image.len() {
        for bit in 0..8 {
            let mut turned = image.clone();
            turned[place] ^= 1 << bit;
            refused += usize::from(refused_or_the_same(&turned));
        }
    }
    // Most states would be impossible; the rest differ in times, hashes, deadlines and the like.
    assert!(refused > image.len() * 8 / 2, "{refused} of {} bits", image.len() * 8);
}
