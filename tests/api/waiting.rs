//! Submitting orders never waits for readers of the read model or for the projection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use exchange::units::Sequence;

use super::{Venue, order};

/// Far longer than journaling a command takes when nothing blocks it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Polls until the journal's head reaches this record; false on timeout.
fn journaled(venue: &Venue, last: u64) -> bool {
    let (engine, began) = (venue.running.engine(), Instant::now());
    while engine.meter().sequencer.journal_head() < Sequence::new(last) {
        if began.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn orders_are_journaled_while_a_reader_holds_the_read_model() {
    let venue = Arc::new(Venue::open().await);
    let (_, key) = venue.trader("ann").await;
    let market = venue.market().await;
    let bid = order(&market, "BUY", "yes", "0.4", "1");
    // The request handler has cached the key and the market from now on.
    let placed = venue.place(&key, bid.clone()).await;
    assert_eq!(placed.status, 200, "{}", placed.json);
    let engine = venue.running.engine();
    let last = engine.watermark().get();

    let ask = |path: &'static str, body: Value| {
        let (venue, key) = (Arc::clone(&venue), key.clone());
        tokio::spawn(async move { venue.call(&key, Method::POST, path, Some(body)).await })
    };
    let reading = engine.read();
    let one = ask("/trading/orders", bid.clone());
    assert!(journaled(&venue, last + 1), "a placement waits");
    // By now the projector waits for the read lock held here, and a new reader would queue behind
    // the projector.
    std::thread::sleep(Duration::from_millis(100));
    let batch =
        ask("/trading/orders/batch", json!({"operations": [{"place": bid}, {"place": bid}]}));
    assert!(journaled(&venue, last + 3), "a batch waits");
    drop(reading);

    let (one, batch) = (one.await.unwrap(), batch.await.unwrap());
    assert_eq!((one.status, batch.status), (200, 200), "{} {}", one.json, batch.json);
    let placed = batch.json["results"].as_array().unwrap();
    assert_eq!(placed.iter().filter(|result| result["order"].is_object()).count(), 2);
}
