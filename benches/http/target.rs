//! The exchange under load: its server on a fresh folder, with markets, traders and requests.

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::bodies::{self, MARKETS, OPEN_ORDERS};
use super::load::{self, Requests};
use super::server::Server;
use super::starting;

const OPERATOR_KEY: &str = "bench-operator-key-bench-operator-key";
/// Different requests that a connection sends before it starts over.
const REQUESTS_PER_CONNECTION: usize = 64;

/// A folder on this checkout's disk: a memory file system would make the measurement meaningless.
pub fn folder() -> TempDir {
    tempfile::tempdir_in(".").expect("a folder on the disk of this checkout")
}

/// The exchange, with markets and a funded trader for each connection.
pub struct Exchange {
    /// Its server.
    pub server: Server,
    /// A key of each trader.
    pub keys: Vec<String>,
    /// The market of the orders.
    pub market: String,
    _data: TempDir,
}

/// Kind of read.
#[derive(Debug, Clone, Copy)]
pub enum Read {
    /// The depth of a book of 20 levels a side.
    Depth,
    /// The first page of markets.
    Markets,
    /// The caller's open orders.
    Orders,
}

impl Exchange {
    /// Starts it with this many traders.
    pub fn open(traders: usize) -> Exchange {
        let data = folder();
        let mut command = starting::serve(data.path());
        // Limits are checked as usual but never reached, so only the load counts.
        command.args(["--rate-reads", "1000000", "--rate-writes", "1000000"]);
        command.args(["--daily-records", "1000000000"]);
        command.env("OPENOUTCRY_OPERATOR_KEY", OPERATOR_KEY).env("OPENOUTCRY_LOG", "warn");
        let server = Server::start(command);
        let (keys, market) = (Vec::new(), String::new());
        let mut exchange = Exchange { server, keys, market, _data: data };
        for _ in 0..MARKETS {
            exchange.market = exchange.open_market();
        }
        exchange.keys = (0..traders).map(|number| exchange.open_trader(number)).collect();
        exchange
    }

    /// Orders of each connection's own trader.
    pub fn placements(&self) -> Requests {
        self.requests(|key, number, k| {
            request("POST", "/trading/orders", key, Some(&self.order(number, k)))
        })
    }

    /// An order of a trader.
    pub fn order(&self, number: usize, k: usize) -> Value {
        if self.keys.len() == 1 {
            return bodies::alone(&self.market, k);
        }
        bodies::order(&self.market, number, k)
    }

    /// The same orders, many per request.
    pub fn batches(&self, orders: usize) -> Requests {
        self.requests(|key, number, k| {
            let orders = (0..orders).map(|n| k * orders + n);
            let body = bodies::batch(orders.map(|k| bodies::order(&self.market, number, k)));
            request("POST", "/trading/orders/batch", key, Some(&body))
        })
    }

    /// Reads of each connection's own trader.
    pub fn reads(&self, read: Read) -> Requests {
        let path = match read {
            Read::Depth => {
                format!("/trading/books/{}/depth?outcome=yes&levels=20", self.market)
            }
            Read::Markets => "/markets/public/list".to_owned(),
            Read::Orders => "/trading/orders?active=true".to_owned(),
        };
        self.requests(|key, _, _| request("GET", &path, key, None))
    }

    /// Rests every trader's first orders, so that there is something to read.
    pub fn fill_books(&self) {
        for (number, key) in self.keys.iter().enumerate() {
            let orders = (0..OPEN_ORDERS).map(|k| bodies::resting(&self.market, number, k));
            let body = bodies::batch(orders);
            self.ask("/trading/orders/batch", key, &body);
        }
    }

    /// Requests of each connection, by its key, its number and theirs.
    pub fn requests(&self, request: impl Fn(&str, usize, usize) -> Vec<u8>) -> Requests {
        let requests = self.keys.iter().enumerate().map(|(number, key)| {
            let each = (0..REQUESTS_PER_CONNECTION).map(|k| request(key, number, k));
            each.collect::<Arc<[Vec<u8>]>>()
        });
        requests.collect()
    }

    fn open_market(&self) -> String {
        let market = text(&self.operate("/admin/markets", &bodies::market()), "id");
        self.operate(&format!("/admin/markets/{market}/publish"), &json!({}));
        market
    }

    fn open_trader(&self, number: usize) -> String {
        let user = text(&self.operate("/admin/users", &bodies::trader(number)), "id");
        self.operate(&format!("/admin/users/{user}/deposits"), &bodies::deposit());
        text(&self.operate(&format!("/admin/users/{user}/keys"), &bodies::key()), "key")
    }

    fn operate(&self, path: &str, body: &Value) -> Value {
        self.ask(path, OPERATOR_KEY, body)
    }

    /// One request, on a connection of its own.
    fn ask(&self, path: &str, key: &str, body: &Value) -> Value {
        let answer = load::ask(self.server.address(), &request("POST", path, key, Some(body)));
        serde_json::from_slice(&answer).expect("JSON")
    }
}

fn request(method: &str, path: &str, key: &str, body: Option<&Value>) -> Vec<u8> {
    let head = format!("{method} /api/v1{path} HTTP/1.1\r\nHost: bench\r\nX-API-Key: {key}\r\n");
    let rest = body.map_or_else(
        || "\r\n".to_owned(),
        |body| {
            let body = body.to_string();
            let length = body.len();
            format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        },
    );
    format!("{head}{rest}").into_bytes()
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("{field} in {value}")).to_owned()
}
