//! Unit tests of `src/http/stream/listening.rs`.

use std::collections::BTreeSet;
use std::task::Waker;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::*;
use crate::auth::Via;
use engine::start::{Options, Running, start};
use exchange::catalogue::MarketDraft;
use exchange::command::{Command, Role};
use exchange::ids::{KeyNo, MarketNo, UserNo};
use exchange::rules::Rules;
use exchange::units::TimeMs;
use journal::memory::MemoryJournal;

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

/// However many channels are asked for at once, few snapshots are made while others wait, and few
/// of them wait for the reader.
#[test]
fn many_channels_begin_a_few_at_a_time() {
    let (running, channels) = venue();
    let (engine, hub) = (running.engine(), Arc::<Hub>::default());
    let caller = Caller {
        user: UserNo(0),
        via: Via::Key(KeyNo(0)),
        role: Role::Trader,
        as_of: Sequence::ZERO,
        keys_as_of: Sequence::ZERO,
    };
    let mut listening = hub.listen(&engine).unwrap();
    let asked = listening.subscribe(&caller, &channels, None);
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
