//! An HTTP/1.1 client that sends requests exactly as given, well formed or not, one per connection,
//! and checks in every answer what all answers must have.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use flate2::read::GzDecoder;
use serde_json::Value;

use http::listed::PIECE_BYTES_MAX;

use super::chunks::joined;
use super::described;
use super::shape::{Shape, check};
use super::shapes;

/// A server silent for this long hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// The media type of `/metrics`, whose body is not JSON.
pub const FIGURES: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A client: an address and a key.
#[derive(Clone)]
pub struct Client {
    pub address: SocketAddr,
    pub key: String,
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub json: Value,
    /// Bytes of the body as sent, before decoding.
    sent: usize,
    asked: String,
}

impl Client {
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], None)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], None)
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], Some(body.to_string().as_bytes()))
    }

    pub fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, &[], Some(body.to_string().as_bytes()))
    }

    /// Sends a request with the key, these headers and, if there is a body, its length.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Answer {
        let key = [("x-api-key", self.key.as_str())];
        let headers = [&key, headers].concat();
        bare(self.address, method, &format!("/api/v1{path}"), &headers, body)
    }
}

/// Sends a request with nothing added but `host`, `connection` and a body's length.
pub fn bare(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> Answer {
    let mut request = format!("{method} {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    if let Some(body) = body {
        request += &format!("content-length: {}\r\n", body.len());
    }
    request += "\r\n";
    let bytes = [request.as_bytes(), body.unwrap_or_default()].concat();
    let came = exchange(address, &bytes, Ending::Open);
    let asked: String = String::from_utf8_lossy(&bytes).chars().take(500).collect();
    let came = came.unwrap_or_else(|error| panic!("{error} for {asked}"));
    let answer = Answer::read(&came, asked.clone(), method == "HEAD");
    let answer =
        answer.unwrap_or_else(|| panic!("{:?} for {asked}", String::from_utf8_lossy(&came)));
    described::check(method, target, body, &answer);
    answer
}

/// What a client does once it has sent its bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Keeps its sending side open.
    Open,
    /// Closes its sending side.
    Shut,
}

/// Sends bytes and returns everything that the server sends before it closes.
///
/// # Errors
/// If the server hangs. A reset is no error: the bytes received before it count.
pub fn exchange(address: SocketAddr, bytes: &[u8], ending: Ending) -> Result<Vec<u8>, String> {
    let mut stream = TcpStream::connect(address).map_err(|e| format!("no connection: {e}"))?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    match stream.write_all(bytes) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            return Err(format!("the server does not read: {error}"));
        }
        // The server may have answered before the request was complete.
        Ok(()) | Err(_) => {}
    }
    if ending == Ending::Shut {
        drop(stream.shutdown(Shutdown::Write));
    }
    let mut came = Vec::new();
    match stream.read_to_end(&mut came) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Err(format!("the server hangs: {error}"))
        }
        Ok(_) | Err(_) => Ok(came),
    }
}

impl Answer {
    /// Reads one whole answer and checks what all answers must have; `None` if it is not an answer
    /// of the API's own, which always has an `X-Request-Id`.
    pub fn read(bytes: &[u8], asked: String, head_only: bool) -> Option<Answer> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).ok()?;
        let mut lines = head.lines();
        let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut body = bytes[end + 4..].to_vec();
        let chunked = ("transfer-encoding".to_owned(), "chunked".to_owned());
        if headers.contains(&chunked) && !head_only {
            body = joined(&body)?;
        }
        let sent = body.len();
        if headers.contains(&("content-encoding".to_owned(), "gzip".to_owned())) {
            let packed = std::mem::take(&mut body);
            GzDecoder::new(packed.as_slice()).read_to_end(&mut body).unwrap();
        }
        let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let answer = Answer { status, headers, body, json, sent, asked };
        answer.header_of("x-request-id")?;
        answer.check(head_only);
        Some(answer)
    }

    fn check(&self, head_only: bool) {
        let sequence = self.header_of("sequence");
        assert!(sequence.is_none_or(|text| text.parse::<u64>().is_ok()), "{self:?}");
        assert_eq!(self.header("x-content-type-options"), "nosniff");
        assert_eq!(self.header("referrer-policy"), "no-referrer");
        let lasts = self.asked.starts_with("GET /assets/") && self.status == 200;
        assert_eq!(self.header("cache-control").ends_with("immutable"), lasts);
        assert!(lasts || self.header("cache-control") == "no-store");
        assert!(!self.header("x-request-id").is_empty());
        if matches!(self.status, 204 | 304) {
            assert!(self.body.is_empty(), "{self:?}");
            return;
        }
        // Somebody is sent on, or gets a page that says that there is nothing.
        let page = self.asked.starts_with("GET /") && !self.asked.starts_with("GET /api");
        if self.status == 303 || (page && self.header("content-type").starts_with("text/html")) {
            return;
        }
        let problem = self.status >= 400;
        let media = match problem {
            true => "application/problem+json",
            false if self.asked.starts_with("GET /metrics ") => FIGURES,
            false if self.asked.starts_with("GET /api/") => "application/json",
            false if self.is_page() => self.header("content-type"),
            false => "application/json",
        };
        assert_eq!(self.header("content-type"), media, "{self:?}");
        if head_only {
            assert!(self.body.is_empty(), "{self:?}");
            return;
        }
        if self.body.len() > PIECE_BYTES_MAX && self.header_of("content-length").is_none() {
            assert_eq!(self.header("transfer-encoding"), "chunked", "{self:?}");
        } else {
            assert_eq!(self.header("content-length"), self.sent.to_string(), "{self:?}");
        }
        if problem {
            check(&shapes::problem(self.code()), &self.json, &self.asked);
            assert_eq!(self.json["status"], self.status, "{self:?}");
            assert_eq!(self.json["requestId"], self.header("x-request-id"));
        }
    }

    /// Whether it is a page or one of its files.
    fn is_page(&self) -> bool {
        let probes = ["GET /healthz", "GET /readyz"];
        self.asked.starts_with("GET /") && !probes.iter().any(|ask| self.asked.starts_with(ask))
    }

    fn header_of(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(other, _)| other == name);
        let (_, value) = named.next()?;
        assert!(named.next().is_none(), "{name} twice in {self:?}");
        Some(value)
    }

    /// A header's value; empty if missing.
    pub fn header(&self, name: &str) -> &str {
        self.header_of(name).unwrap_or_default()
    }

    /// The record that the answer reflects.
    pub fn sequence(&self) -> u64 {
        self.header("sequence").parse().unwrap()
    }

    /// The body as text, to check how numbers are written.
    pub fn written(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// The JSON of a 200 of this shape.
    #[track_caller]
    pub fn ok(&self, shape: &Shape) -> Value {
        self.success(200, shape)
    }

    /// The JSON of a 201 of this shape.
    #[track_caller]
    pub fn created(&self, shape: &Shape) -> Value {
        self.success(201, shape)
    }

    #[track_caller]
    fn success(&self, status: u16, shape: &Shape) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        check(shape, &self.json, &self.asked);
        self.json.clone()
    }

    /// Asserts a refusal with this status and code.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code()), (status, code), "{self:?}");
    }

    /// Asserts a 400 that names exactly these fields.
    #[track_caller]
    pub fn bad(&self, fields: &[&str]) {
        self.refused(400, "INVALID_REQUEST");
        let errors = self.json["errors"].as_array().unwrap();
        let mut named: Vec<&str> = errors.iter().map(|e| e["field"].as_str().unwrap()).collect();
        named.sort_unstable();
        let mut fields = fields.to_vec();
        fields.sort_unstable();
        assert_eq!(named, fields, "{self:?}");
    }

    /// Asserts a 400 that names one field, with this code.
    #[track_caller]
    pub fn bad_as(&self, field: &str, code: &str) {
        self.bad(&[field]);
        assert_eq!(self.json["errors"][0]["code"], code, "{self:?}");
    }

    pub fn code(&self) -> &str {
        self.json["code"].as_str().unwrap_or_default()
    }

    /// A member that is a string.
    #[track_caller]
    pub fn text(&self, member: &str) -> String {
        self.json[member].as_str().unwrap_or_else(|| panic!("{member} of {self:?}")).to_owned()
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let body = String::from_utf8_lossy(&self.body);
        write!(f, "{} {:?} {body} to {}", self.status, self.headers, self.asked)
    }
}

/// Sends the same request `count` times at once, and counts the answers that are 200.
pub fn pipelined(address: SocketAddr, request: &[u8], count: usize) -> usize {
    let last = b"GET /nowhere HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let all = [&request.repeat(count)[..], last].concat();
    let came = exchange(address, &all, Ending::Open).unwrap();
    String::from_utf8_lossy(&came).matches("HTTP/1.1 200 OK\r\n").count()
}
