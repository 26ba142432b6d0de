//! Read your writes: an answered command is visible in every later read, over any connection
//! (semantics 6).

use std::thread;

use super::shapes;
use super::venue::Venue;

#[test]
fn an_answered_order_is_in_every_read_by_anyone() {
    let venue = Venue::open();
    let market = venue.market();
    let traders: Vec<_> = ["a", "b", "c"].iter().map(|name| venue.trader(name)).collect();
    let reader = &venue.trader("reader").client;
    thread::scope(|scope| {
        for (tick, trader) in (20..).step_by(10).zip(&traders) {
            let (market, reader) = (&market, reader);
            scope.spawn(move || {
                let price = format!("0.{tick}");
                for count in 1..=20_u64 {
                    let placed = trader.place(market, "BUY", "yes", &price, "1");
                    let id = placed.ok(&shapes::placed())["orderId"].clone();
                    let depth = reader.get(&format!("/trading/books/{market}/depth?outcome=yes"));
                    assert!(depth.sequence() >= placed.sequence());
                    let bids = depth.ok(&shapes::depth())["bids"].clone();
                    let level = bids.as_array().unwrap().iter().find(|bid| bid["price"] == *price);
                    assert_eq!(level.unwrap()["orders"], count);
                    let orders = trader.get("/trading/orders?active=true");
                    assert!(orders.sequence() >= placed.sequence());
                    assert_eq!(orders.json["orders"][0]["id"], id);
                }
            });
        }
    });
}

#[test]
fn every_write_has_its_own_sequence_and_reads_never_fall_behind() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let first = ann.get("/trading/balance").sequence();
    let placed = ann.place(&market, "BUY", "yes", "0.50", "1");
    assert_eq!(placed.sequence(), first + 1);
    // A refusal by the exchange is a record too; a bad field and an unknown id are not.
    let refused = ann.place(&market, "BUY", "yes", "0.99", "1000");
    refused.refused(422, "INSUFFICIENT_FUNDS");
    assert_eq!(refused.sequence(), first + 2);
    assert_eq!(ann.place(&market, "BUY", "yes", "1", "1").sequence(), first + 2);
    assert_eq!(ann.get("/no/such/path").sequence(), first + 2);
    let path = format!("/trading/orders/{}", placed.text("orderId"));
    assert_eq!(ann.client.delete(&path).sequence(), first + 3);
    let again = ann.client.delete(&path);
    again.refused(409, "ORDER_NOT_OPEN");
    assert_eq!(again.sequence(), first + 4);
    assert_eq!(ann.get("/markets/public/list").sequence(), first + 4);
}
