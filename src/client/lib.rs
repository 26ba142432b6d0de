//! HTTP client of `admin` and `play`: one keep-alive HTTP/1.1 connection, one request at a time.

pub mod stream;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "tls")]
pub mod web;

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::{Method, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// Timeout for one answer.
const ANSWER_TIME_MAX: Duration = Duration::from_mins(1);
/// Largest answer accepted: a page of 1,000 markets with the longest possible texts is smaller.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How often a request is retried when the server is too busy.
const REPEATS_MAX: u32 = 30;
/// Pause before a retry when the server names none.
const REPEAT_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause when the server names one.
const REPEAT_PAUSE_MAX_SECONDS: u64 = 5;

/// The server's address and the base path of its API.
#[derive(Debug, Clone)]
pub struct Target {
    /// Whom TLS is believed from; plain HTTP if nobody.
    #[cfg(feature = "tls")]
    trust: Option<tls::Trust>,
    /// The socket of the file system where it listens; none of host and port.
    socket: Option<PathBuf>,
    host: String,
    port: u16,
    host_header: HeaderValue,
    base_path: String,
}

impl Target {
    /// Reads a base URL, `http://host[:port][/api/v1]`, or the socket of a server on this machine,
    /// `unix:/path`.
    ///
    /// # Errors
    /// [`ClientError::Url`] or [`ClientError::Https`].
    pub fn parse(url: &str) -> Result<Target, ClientError> {
        if let Some(path) = url.strip_prefix("unix:").map(PathBuf::from) {
            return Ok(Target {
                socket: Some(path),
                ..Target::at("http://localhost", "http", 80)?
            });
        }
        let bad = || ClientError::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| bad())?;
        if uri.scheme_str() == Some("https") {
            return Err(ClientError::Https(url.to_owned()));
        }
        Target::at(url, "http", 80)
    }

    /// Reads a base URL, `https://host[:port][/api/v1]`.
    ///
    /// # Errors
    /// [`ClientError::Url`].
    #[cfg(feature = "tls")]
    pub fn over_tls(url: &str, trust: tls::Trust) -> Result<Target, ClientError> {
        Ok(Target { trust: Some(trust), ..Target::at(url, "https", 443)? })
    }

    /// The same server, outside its interface.
    #[must_use]
    pub fn root(&self) -> Target {
        let base_path = self.base_path.trim_end_matches("/api/v1").to_owned();
        Target { base_path, ..self.clone() }
    }

    fn at(url: &str, scheme: &str, port: u16) -> Result<Target, ClientError> {
        let bad = || ClientError::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| bad())?;
        let authority = uri.authority().ok_or_else(bad)?;
        if uri.scheme_str() != Some(scheme) || uri.query().is_some() {
            return Err(bad());
        }
        let base_path = match uri.path().trim_end_matches('/') {
            "" => "/api/v1",
            path => path,
        };
        Ok(Target {
            #[cfg(feature = "tls")]
            trust: None,
            socket: None,
            // A URL puts an IPv6 address in brackets; the resolver wants it without.
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(port),
            host_header: HeaderValue::from_str(authority.as_str()).map_err(|_| bad())?,
            base_path: base_path.to_owned(),
        })
    }
}

/// A key as it goes into the `X-API-Key` header; never printed.
#[derive(Clone)]
pub struct ApiKey(HeaderValue);

impl ApiKey {
    /// A key.
    ///
    /// # Errors
    /// Characters that no header can carry.
    pub fn new(key: &str) -> Result<ApiKey, ClientError> {
        let mut value = HeaderValue::from_str(key).map_err(|_| ClientError::Key)?;
        value.set_sensitive(true);
        Ok(ApiKey(value))
    }
}

/// A request.
pub struct Ask<'a> {
    /// Method.
    pub method: Method,
    /// Path below the base, with the query.
    pub path: &'a str,
    /// The API key it is sent with.
    pub key: &'a ApiKey,
    /// The `Idempotency-Key` of a `POST`: the server executes it at most once.
    pub idempotency_key: Option<&'a str>,
    /// JSON body, if any.
    pub body: Option<Bytes>,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: StatusCode,
    /// JSON.
    pub body: Bytes,
    /// Whether it replays the answer to an earlier request with the same `Idempotency-Key`.
    pub replayed: bool,
    /// From sending the last attempt to the last byte of its answer.
    pub took: Duration,
    /// How often the request was retried because the server was too busy.
    pub repeats: u32,
}

impl Reply {
    /// Whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        self.status.is_success()
    }
}

/// A problem document (RFC 9457): the members that are used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// The stable code.
    pub code: String,
    /// The explanation.
    pub detail: String,
    /// The bad fields, if any.
    pub errors: Vec<FieldProblem>,
}

/// The fault of one field.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct FieldProblem {
    /// The field's name, as a path into the body.
    pub field: String,
    /// The stable code.
    pub code: String,
    /// The explanation.
    pub detail: String,
}

impl Problem {
    /// The problem document of a reply; without a code if something other than the exchange
    /// answered, such as a proxy.
    pub fn of(reply: &Reply) -> Problem {
        serde_json::from_slice(&reply.body).unwrap_or_else(|error| Problem {
            detail: format!("unreadable answer: {error}"),
            ..Problem::default()
        })
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Not a base URL.
    #[error("`{0}` is not of the form http[s]://host[:port][/api/v1] or unix:/path")]
    Url(String),
    /// A base URL of a server with TLS.
    #[error(
        "`{0}`: https is not supported here; run this on the server's host with \
         http://127.0.0.1:8080, or through a tunnel such as ssh -L 8080:127.0.0.1:8080 HOST"
    )]
    Https(String),
    /// The key has characters that are not allowed in a header.
    #[error("the API key has characters that a header cannot carry")]
    Key,
    /// No connection.
    #[error("cannot connect to {address}: {error}")]
    Connect {
        /// Where to.
        address: String,
        /// Why not.
        error: std::io::Error,
    },
    /// The connection was lost, or the answer was not HTTP.
    #[error("connection lost: {0}{hint}", hint = hint_of_http(.0))]
    Http(#[from] hyper::Error),
    /// The request could not be formed.
    #[error("cannot form the request: {0}")]
    Form(#[from] hyper::http::Error),
    /// The body could not be read whole.
    #[error("the answer's body cannot be read: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    /// A stream was lost, or was refused.
    #[error("stream lost: {0}")]
    Stream(Box<tungstenite::Error>),
    /// The server ended a stream.
    #[error("the server ended the stream: {0}")]
    Closed(String),
    /// A stream's answers are not in the order of the commands.
    #[error("command {0} was answered out of turn")]
    Order(String),
    /// A message of a stream is not the JSON that it must be.
    #[error("a message of the stream: {0}")]
    Json(serde_json::Error),
    /// No answer within [`ANSWER_TIME_MAX`].
    #[error("no answer within {} s", ANSWER_TIME_MAX.as_secs())]
    TimedOut,
}

impl ClientError {
    /// Whether the request may have reached the server, and so may have been executed.
    pub const fn may_have_been_sent(&self) -> bool {
        match self {
            ClientError::Http(_)
            | ClientError::Body(_)
            | ClientError::Stream(_)
            | ClientError::Closed(_)
            | ClientError::Order(_)
            | ClientError::Json(_)
            | ClientError::TimedOut => true,
            ClientError::Url(_)
            | ClientError::Https(_)
            | ClientError::Key
            | ClientError::Connect { .. }
            | ClientError::Form(_) => false,
        }
    }
}

impl From<tungstenite::Error> for ClientError {
    fn from(error: tungstenite::Error) -> ClientError {
        ClientError::Stream(Box::new(error))
    }
}

/// A connection.
pub struct Connection {
    target: Target,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// [`ClientError::Connect`], or the error of the HTTP handshake.
    pub async fn open(target: &Target) -> Result<Connection, ClientError> {
        Ok(Connection { target: target.clone(), sender: connect(target).await? })
    }

    /// Sends a request and reads the whole answer. A busy server (429, or 503 with `Retry-After`)
    /// has executed nothing; the request is retried after the pause that it names.
    ///
    /// # Errors
    /// No answer; see [`ClientError::may_have_been_sent`].
    pub async fn ask(&mut self, ask: &Ask<'_>) -> Result<Reply, ClientError> {
        let mut repeats = 0;
        loop {
            let (mut reply, pause) = self.timed(ask).await?;
            match pause {
                Some(pause) if repeats < REPEATS_MAX => tokio::time::sleep(pause).await,
                _ => {
                    reply.repeats = repeats;
                    return Ok(reply);
                }
            }
            repeats += 1;
        }
    }

    /// Sends a request once, however busy the server is.
    ///
    /// # Errors
    /// No answer.
    pub async fn ask_once(&mut self, ask: &Ask<'_>) -> Result<Reply, ClientError> {
        self.timed(ask).await.map(|(reply, _)| reply)
    }

    async fn timed(&mut self, ask: &Ask<'_>) -> Result<(Reply, Option<Duration>), ClientError> {
        let attempt = tokio::time::timeout(ANSWER_TIME_MAX, self.attempt(ask));
        attempt.await.map_err(|_| ClientError::TimedOut)?
    }

    /// Sends a request of any kind once, as it is but for the `Host`, and reads the whole answer.
    ///
    /// # Errors
    /// No answer.
    pub async fn send(
        &mut self,
        mut request: hyper::Request<Full<Bytes>>,
    ) -> Result<hyper::Response<Bytes>, ClientError> {
        request.headers_mut().insert(HOST, self.target.host_header.clone());
        let answer = async {
            let (head, body) = self.sent(request).await?.0.into_parts();
            Ok(hyper::Response::from_parts(head, whole(body).await?))
        };
        tokio::time::timeout(ANSWER_TIME_MAX, answer).await.map_err(|_| ClientError::TimedOut)?
    }

    /// The beginning of an answer, and when its request was sent.
    async fn sent(
        &mut self,
        request: hyper::Request<Full<Bytes>>,
    ) -> Result<(hyper::Response<Incoming>, Instant), ClientError> {
        // A server may close an idle connection at any time; nothing has been sent on it then.
        if self.sender.ready().await.is_err() {
            self.sender = connect(&self.target).await?;
        }
        let started = Instant::now();
        Ok((self.sender.send_request(request).await?, started))
    }

    async fn attempt(&mut self, ask: &Ask<'_>) -> Result<(Reply, Option<Duration>), ClientError> {
        let request = self.request(ask)?;
        let (response, started) = self.sent(request).await?;
        let status = response.status();
        let replayed = response.headers().contains_key("idempotent-replay");
        let named = response.headers().get(RETRY_AFTER).map(pause_named);
        let body = whole(response.into_body()).await?;
        let took = started.elapsed();
        Ok((Reply { status, body, replayed, took, repeats: 0 }, busy(status, named)))
    }

    fn request(&self, ask: &Ask<'_>) -> Result<hyper::Request<Full<Bytes>>, ClientError> {
        let mut request = hyper::Request::builder()
            .method(ask.method.clone())
            .uri(format!("{}{}", self.target.base_path, ask.path))
            .header(HOST, self.target.host_header.clone())
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header("x-api-key", ask.key.0.clone());
        if let Some(key) = ask.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        Ok(match &ask.body {
            Some(body) => request
                .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
                .body(Full::new(body.clone())),
            None => request.body(Full::new(Bytes::new())),
        }?)
    }
}

/// All of an answer's body.
async fn whole(body: Incoming) -> Result<Bytes, ClientError> {
    let body = Limited::new(body, ANSWER_BYTES_MAX);
    Ok(body.collect().await.map_err(ClientError::Body)?.to_bytes())
}

/// The pause before a retry if the server was too busy.
fn busy(status: StatusCode, named: Option<Duration>) -> Option<Duration> {
    match status {
        StatusCode::TOO_MANY_REQUESTS => Some(named.unwrap_or(REPEAT_PAUSE)),
        StatusCode::SERVICE_UNAVAILABLE => named,
        _ => None,
    }
}

/// The `Retry-After` pause, clamped to the bounds above.
fn pause_named(value: &HeaderValue) -> Duration {
    let seconds = value.to_str().ok().and_then(|text| text.parse().ok());
    seconds.map_or(REPEAT_PAUSE, pause_of)
}

fn pause_of(seconds: u64) -> Duration {
    Duration::from_secs(seconds.min(REPEAT_PAUSE_MAX_SECONDS)).max(REPEAT_PAUSE)
}

impl Target {
    fn no_connection(&self, error: std::io::Error) -> ClientError {
        let address = match &self.socket {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", self.host, self.port),
        };
        ClientError::Connect { address, error }
    }
}

/// A server with TLS answers plain HTTP with bytes of its own.
fn hint_of_http(error: &hyper::Error) -> &'static str {
    if error.is_parse() { "; does it speak TLS, and its URL begin with https://?" } else { "" }
}

async fn socket(target: &Target) -> Result<TcpStream, ClientError> {
    let failed = |error| target.no_connection(error);
    if target.socket.is_some() {
        return Err(failed(ErrorKind::Unsupported.into()));
    }
    let stream = TcpStream::connect((target.host.as_str(), target.port)).await.map_err(failed)?;
    // With one small request at a time, Nagle's algorithm would only add latency.
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

async fn connect(target: &Target) -> Result<SendRequest<Full<Bytes>>, ClientError> {
    if let Some(path) = &target.socket {
        let stream = UnixStream::connect(path).await;
        return over(stream.map_err(|error| target.no_connection(error))?).await;
    }
    let stream = socket(target).await?;
    #[cfg(feature = "tls")]
    if let Some(trust) = &target.trust {
        let stream = trust.connect(&target.host, stream).await;
        return over(stream.map_err(|error| target.no_connection(error))?).await;
    }
    over(stream).await
}

/// Speaks HTTP on a connection.
async fn over<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, ClientError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // The next request gets the same error and reports it.
        drop(connection.await);
    });
    Ok(sender)
}

#[cfg(test)]
#[path = "../../tests/unit/client/lib.rs"]
mod tests;
