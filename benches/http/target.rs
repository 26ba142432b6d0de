//! A server under load: its process, its address, and the requests that suit it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::noop;

const OPERATOR_KEY: &str = "bench-operator-key-bench-operator-key";
/// Different orders that a connection sends before it begins again.
const ORDERS_PER_CONNECTION: usize = 64;

/// A running server; killed when dropped.
pub struct Target {
    process: Child,
    address: SocketAddr,
    keys: Vec<String>,
    market: String,
    _data: Option<TempDir>,
}

impl Drop for Target {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Target {
    /// The server that does nothing.
    pub fn noop() -> Target {
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        command.env(noop::ROLE, "1");
        Target::start(command, None)
    }

    /// The exchange on a fresh folder, with one market and a funded trader for each connection.
    pub fn openoutcry(traders: usize) -> Target {
        let data = tempfile::tempdir_in(".").expect("a folder on the disk of this checkout");
        let mut command = Command::new(env!("CARGO_BIN_EXE_openoutcry"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path());
        // Limits are looked at as ever, and never reached: the load is all there is.
        command.args(["--rate-reads", "1000000", "--rate-writes", "1000000"]);
        command.env("OPENOUTCRY_OPERATOR_KEY", OPERATOR_KEY).env("OPENOUTCRY_LOG", "warn");
        let mut target = Target::start(command, Some(data));
        target.open(traders);
        target
    }

    fn start(mut command: Command, data: Option<TempDir>) -> Target {
        let mut process = command.stdout(Stdio::piped()).spawn().expect("a server");
        let stdout = process.stdout.take().expect("its stdout");
        let mut lines = BufReader::new(stdout).lines();
        let address = loop {
            let line = lines.next().expect("a line that says where").expect("its stdout");
            if let Some(address) = line.strip_prefix("listening on http://") {
                break address.parse().expect("an address");
            }
        };
        let (keys, market) = (vec!["0".repeat(68)], uuid::Uuid::nil().to_string());
        Target { process, address, keys, market, _data: data }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Resident memory of its process.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
    }

    /// For each connection its own trader's orders: bids for both outcomes over twenty prices,
    /// which rest, and every fourth an order that takes what others offer.
    pub fn requests(&self, connections: usize) -> Vec<Arc<[Vec<u8>]>> {
        let keys = self.keys.iter().cycle();
        let connection = |(number, key): (usize, &String)| {
            (0..ORDERS_PER_CONNECTION).map(|k| self.request(key, number + k, k)).collect()
        };
        (0..connections).zip(keys).map(connection).collect()
    }

    fn request(&self, key: &str, spread: usize, k: usize) -> Vec<u8> {
        let outcome = if k.is_multiple_of(2) { "yes" } else { "no" };
        let (price, force) = match k % 4 {
            3 => (70, "IOC"),
            _ => (30 + spread % 20, "GTC"),
        };
        let body = json!({
            "marketId": self.market, "outcomeId": outcome, "side": "BUY", "orderType": "LIMIT",
            "price": format!("0.{price}"), "quantity": "10", "timeInForce": force,
        });
        let body = body.to_string();
        format!(
            "POST /api/v1/trading/orders HTTP/1.1\r\nHost: bench\r\nX-API-Key: {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }

    fn open(&mut self, traders: usize) {
        let texts = json!({"pt": "Vai chover?", "en": "Will it rain?", "es": "Va a llover?"});
        let market = self.post("/admin/markets", &json!({
            "questions": texts, "descriptions": texts, "logo": "https://assets.example.org/x.png",
            "outcomes": [{"id": "yes", "text": texts}, {"id": "no", "text": texts}],
            "deadline": "2099-01-01T00:00:00.000Z",
        }));
        self.market = text(&market, "id");
        self.post(&format!("/admin/markets/{}/publish", self.market), &json!({}));
        self.keys.clear();
        for number in 0..traders {
            let user = self.post(
                "/admin/users",
                &json!({
                    "profileName": format!("trader {number}"),
                    "profilePic": "https://assets.example.org/x.png",
                }),
            );
            let user = text(&user, "id");
            let amount = json!({"amount": "100000000"});
            self.post(&format!("/admin/users/{user}/deposits"), &amount);
            let key = json!({"role": "trader", "label": "bench"});
            let key = self.post(&format!("/admin/users/{user}/keys"), &key);
            self.keys.push(text(&key, "key"));
        }
    }

    /// One operator's request, on a connection of its own.
    fn post(&self, path: &str, body: &Value) -> Value {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(self.address).expect("a connection");
        let body = body.to_string();
        write!(
            stream,
            "POST /api/v1{path} HTTP/1.1\r\nHost: bench\r\nX-API-Key: {OPERATOR_KEY}\r\n\
             Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("sending");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 20"), "{path}: {answer}");
        serde_json::from_str(body).expect("JSON")
    }
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("{field} in {value}")).to_owned()
}
