//! Unit tests of `src/cli/demo/living.rs`.

use std::sync::Arc;

use super::*;
use crate::cli::demo::venue;
use engine::meter::Meter;
use exchange::market::MarketStatus;
use http::site::{SignUp, Site};
use http::venue::Venue;
use tokio::net::TcpListener;

#[test]
fn a_probability_is_read_in_whole_cents() {
    let market = |probability: &str| -> Value {
        let text = format!(r#"{{"outcomes": [{{"id": "yes", "probability": {probability}}}]}}"#);
        serde_json::from_str(&text).unwrap()
    };
    for (text, cents) in [("0.6", 60), ("0.05", 5), ("0.3333", 33), ("0.985", 98)] {
        assert_eq!(price_of_yes(&market(text)), Tick::new(cents), "{text}");
    }
    for text in ["0", "1", "0.001", "null"] {
        assert_eq!(price_of_yes(&market(text)), None, "{text}");
    }
}

#[test]
fn moments_are_read_and_shown() {
    let row = json!({"at": "2026-11-21T12:00:00.250Z"});
    let at = moment(&row, "at").unwrap();
    assert_eq!(shown(at), "2026-11-21T12:00:00.250Z");
    assert_eq!(moment(&row, "else"), None);
}

/// A demo whose past ended some days ago, served at an address.
async fn served() -> (engine::Engine, SocketAddr) {
    let engine = venue();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let venue = Venue::opening(Arc::new(Meter::default()));
    venue.open(engine.clone());
    let site = Site { sign_up: SignUp::Open, demo: true, ..Site::default() };
    let limits = http::Limits::STANDARD;
    tokio::spawn(http::serve_site(listener, venue, limits, site, std::future::pending()));
    (engine, address)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_trade_and_the_operator_asks_anew_what_is_over() {
    let (engine, address) = served().await;
    let active = || {
        let model = engine.read();
        let rows = model.catalogue.markets_published();
        let rows = rows.filter(|row| row.status == MarketStatus::Active);
        rows.map(|row| row.draft.questions.en.clone()).collect::<Vec<String>>()
    };
    let before = active();
    // The venue closes what is over once it is open; on a busy machine that takes a while.
    let over = || {
        let rows = engine.read();
        let mut rows = rows.catalogue.markets_published();
        rows.any(|row| row.status == MarketStatus::Active && row.draft.deadline <= clock::now())
    };
    for _ in 0..600 {
        if !over() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut living = Living::begin(address, 1).await.unwrap();
    living.look().await.unwrap();
    living.look().await.unwrap();
    // Those of the last days are over, decided, and asked again, each once.
    let after = active();
    let anew = ["Will it rain in Lisbon at the weekend?", "Will the next derby end in a draw?"];
    for question in anew {
        assert_eq!(after.iter().filter(|other| *other == question).count(), 1, "{question}");
    }
    let created = engine.read().catalogue.markets_created().count();
    assert!((66 + anew.len()..=66 + 6).contains(&created), "{created}");
    let closed = engine.read().catalogue.markets_published().any(|row| {
        row.status == MarketStatus::Closed
            && row.draft.deadline < later(engine.now(), -DECIDED_AFTER_MS)
    });
    assert!(!closed, "all are decided");
    assert!(before.len() >= 40 && after.len() >= 40);

    let trades = || {
        let model = engine.read();
        let rows = model.catalogue.markets_published();
        rows.map(|row| model.tape.trades_count(row.no)).sum::<usize>()
    };
    let (before, first) = (trades(), engine.watermark());
    for _ in 0..30 {
        match living.visit().await {
            Ok(()) | Err(Pause::Refused(_)) => {}
            Err(Pause::Lost(why)) => panic!("{why}"),
        }
    }
    assert!(trades() > before + 10 && engine.watermark() > first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_venue_is_waited_for_and_ends_nobody() {
    let (engine, address) = served().await;
    let mut living = Living::begin(address, 2).await.unwrap();
    living.look().await.unwrap();
    let mode = exchange::command::TradingMode::ReadOnly;
    engine.ask(exchange::command::Command::SetVenueMode { mode }).unwrap();
    let first = engine.watermark();
    let refused = living.visit().await;
    assert!(matches!(refused, Err(Pause::Refused(_))), "{refused:?}");
    // The refusals are few records, and everything goes on once it may.
    let mode = exchange::command::TradingMode::Normal;
    engine.ask(exchange::command::Command::SetVenueMode { mode }).unwrap();
    assert!(engine.watermark().get() - first.get() < 20);
    for _ in 0..5 {
        living.visit().await.unwrap();
    }
}
