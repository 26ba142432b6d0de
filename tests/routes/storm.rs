//! Valid requests, damaged at random. Nothing may be answered 5xx, hang, or end the server; and no
//! money may appear or vanish.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client;
use super::damage::{Request, damaged};
use super::dice::Dice;
use super::shapes;
use super::venue::{FAR, NOBODY, Trader, Venue, event_body, market_body, order, with};

/// A server silent for this long hangs.
const PATIENCE: Duration = Duration::from_secs(10);
/// After this long the server may be waiting for the rest of the request.
const DOUBT: Duration = Duration::from_millis(100);
const THREADS: u64 = 4;
const REQUESTS: u64 = 1500;

/// Sends bytes and reads until the server closes. If the server waits for more, the sending side is
/// closed.
fn send(client: &Client, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut stream = TcpStream::connect(client.address).map_err(|e| format!("dead: {e}"))?;
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    // The server may have answered and closed before it had everything.
    match stream.write_all(bytes) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            return Err(format!("does not read: {error}"));
        }
        Ok(()) | Err(_) => {}
    }
    let mut came = Vec::new();
    let mut chunk = [0_u8; 4096];
    let mut shut = false;
    stream.set_read_timeout(Some(DOUBT)).unwrap();
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(came),
            Ok(count) => came.extend_from_slice(&chunk[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if shut {
                    return Err(format!("hangs: {error}"));
                }
                drop(stream.shutdown(Shutdown::Write));
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                shut = true;
            }
            Err(_) => return Ok(came),
        }
    }
}

/// Valid requests of every kind.
fn requests(venue: &Venue, market: &str, traders: [&Trader; 3]) -> Vec<Request> {
    let [ann, bob, sink] = traders;
    venue.trade(market, ann, bob, "0.50", "1");
    let (event, category) = (venue.event(&json!({})), venue.category("rain"));
    let toy = venue.draft(&json!({"eventId": event, "disputeWindowSeconds": 1}));
    let tags = json!({"categoryIds": [category], "highlighted": true});
    let mut all = Vec::new();
    let mut add = |client: &Client, method: &'static str, path: String, body: Value| {
        all.push(Request { key: client.key.clone(), method, path, body });
    };
    for trader in [&ann.client, &bob.client] {
        for (side, outcome, price) in
            [("BUY", "yes", "0.55"), ("SELL", "yes", "0.5"), ("BUY", "no", "0.45")]
        {
            let body = order(market, side, outcome, price, "1.5");
            add(trader, "POST", "/trading/orders".to_owned(), body);
        }
        let more = json!({"timeInForce": "IOC", "selfTradePrevention": "CANCEL_MAKER",
            "validUntil": FAR, "copyFromTraderId": bob.id, "postOnly": false});
        let body = with(order(market, "SELL", "no", "0.50", "2"), &more);
        add(trader, "POST", "/trading/orders".to_owned(), body);
        let rests = ann.place(market, "BUY", "yes", "0.01", "1").text("orderId");
        let change = json!({"price": "0.02", "quantity": "2"});
        add(trader, "PATCH", format!("/trading/orders/{rests}"), change);
        add(trader, "DELETE", format!("/trading/orders?marketId={market}"), Value::Null);
        for path in [
            "/markets/public/list?highlighted=false&limit=5&offset=0".to_owned(),
            format!("/events/public/list?marketHighlighted=true&categoryIds={category}"),
            format!("/markets/{market}/activity?limit=10"),
            format!("/trading/books/{market}/depth?outcome=no&levels=5"),
            format!("/trading/orders?active=true&marketId={market}"),
            format!("/trading/orders/{rests}"),
            "/trading/positions?limit=100".to_owned(),
            format!("/trading/fills?marketId={market}&limit=10"),
            "/trading/balance".to_owned(),
        ] {
            add(trader, "GET", path, Value::Null);
        }
    }
    let operator = &venue.operator;
    let user = format!("/admin/users/{}", sink.id);
    for (method, path, body) in [
        ("POST", "/admin/categories".to_owned(), json!({"name": "n", "slug": "s"})),
        ("POST", "/admin/events".to_owned(), with(event_body(), &tags)),
        ("PATCH", format!("/admin/events/{event}"), with(event_body(), &tags)),
        ("POST", "/admin/markets".to_owned(), with(market_body(), &tags)),
        ("PATCH", format!("/admin/markets/{toy}"), with(market_body(), &tags)),
        ("POST", format!("/admin/markets/{toy}/publish"), json!({})),
        ("POST", format!("/admin/markets/{toy}/suspend"), json!({})),
        ("POST", format!("/admin/markets/{toy}/reopen"), json!({"deadline": FAR})),
        ("POST", format!("/admin/markets/{toy}/resolve"), json!({"winningOutcomeId": "no"})),
        ("POST", format!("/admin/markets/{toy}/void"), json!({"price": "0.10"})),
        ("GET", "/admin/markets?status=DRAFT&limit=3".to_owned(), Value::Null),
        ("POST", "/admin/users".to_owned(), json!({"profileName": "n", "profilePic": "http://h"})),
        ("GET", "/admin/users?limit=3".to_owned(), Value::Null),
        ("POST", format!("{user}/keys"), json!({"role": "trader", "label": "l"})),
        ("DELETE", format!("{user}/keys/{NOBODY}"), Value::Null),
        ("POST", format!("{user}/deposits"), json!({"amount": "1.25"})),
        ("POST", format!("{user}/withdrawals"), json!({"amount": "1"})),
        ("POST", "/admin/fees/withdrawals".to_owned(), json!({"amount": "0.01"})),
    ] {
        add(operator, method, path, body);
    }
    all
}

/// A decimal in units of 10^-8.
fn units(json: &Value) -> i128 {
    let text = json.as_str().unwrap();
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{rest:0<8}").parse().unwrap()
}

/// The traders' money, including the worth of their pairs of contracts.
fn worth(traders: [&Trader; 2]) -> i128 {
    let (mut money, mut yes, mut no) = (0, 0, 0);
    for trader in traders {
        let balance = trader.get("/trading/balance").ok(&shapes::balance());
        money += units(&balance["available"]) + units(&balance["reserved"]);
        let page = trader.get("/trading/positions?limit=100");
        let page = page.ok(&shapes::page("positions", shapes::position()));
        for position in page["positions"].as_array().unwrap() {
            assert!(position["resolution"].is_null(), "nothing these traders hold was settled");
            let side = if position["outcomeId"] == "yes" { &mut yes } else { &mut no };
            *side += units(&position["quantity"]);
        }
    }
    assert_eq!(yes, no, "every yes has its no");
    money + yes
}

#[test]
fn nothing_that_is_sent_makes_the_server_fail() {
    let venue = Venue::open();
    let (ann, bob, sink) = (venue.trader("ann"), venue.trader("bob"), venue.trader("sink"));
    let market = venue.market();
    venue.trade(&market, &ann, &bob, "0.50", "10");
    let before = worth([&ann, &bob]);
    assert_eq!(before, 200 * 100_000_000);
    let requests = requests(&venue, &market, [&ann, &bob, &sink]);
    let (taken, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let (requests, taken, refused) = (&requests, &taken, &refused);
            let client = &venue.operator;
            scope.spawn(move || {
                let mut dice = Dice::new(seed);
                for round in 0..REQUESTS {
                    let bytes = damaged(dice.one_of(requests), &mut dice);
                    let shown = || String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]);
                    let came = send(client, &bytes);
                    let came = came.unwrap_or_else(|e| panic!("{e}: {seed}/{round} {}", shown()));
                    let text = String::from_utf8_lossy(&came);
                    assert!(!text.contains("HTTP/1.1 5"), "{seed}/{round} {} {text}", shown());
                    taken.fetch_add(text.matches("HTTP/1.1 2").count() as u64, Ordering::Relaxed);
                    refused.fetch_add(text.matches("HTTP/1.1 4").count() as u64, Ordering::Relaxed);
                }
            });
        }
    });
    // Some requests must be accepted and some refused; otherwise the damage is too strong or too
    // weak.
    let (taken, refused) = (taken.into_inner(), refused.into_inner());
    assert!(taken > 200 && refused > 2000, "{taken} taken, {refused} refused");
    assert_eq!(worth([&ann, &bob]), before);
    let calm = venue.market();
    venue.trade(&calm, &ann, &bob, "0.50", "1");
    assert_eq!(worth([&ann, &bob]), before);
    ann.client.delete("/trading/orders");
    bob.client.delete("/trading/orders");
    for trader in [&ann, &bob] {
        assert_eq!(trader.balance().1, "0.00", "nothing is reserved for orders that are gone");
    }
}
