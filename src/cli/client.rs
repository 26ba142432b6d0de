//! One keep-alive HTTP/1.1 connection: a request at a time, as one client makes them.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::{Method, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;

/// How long one answer may take. A server that needs longer has stopped.
const ANSWER_TIME_MAX: Duration = Duration::from_mins(1);
/// Bytes of one answer: a page of 1,000 markets with the longest texts there can be is below this.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How often a request is repeated that the server was too busy to take.
const REPEATS_MAX: u32 = 30;
/// The pause before such a repeat where the server names none.
const REPEAT_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause kept to when the server does.
const REPEAT_PAUSE_MAX_SECONDS: u64 = 5;

/// The server: where to connect, and what its paths begin with.
#[derive(Debug, Clone)]
pub struct Target {
    host: String,
    port: u16,
    host_header: HeaderValue,
    base_path: String,
}

impl Target {
    /// Reads a base URL, `http://host[:port][/api/v1]`.
    ///
    /// # Errors
    /// [`ClientError::Url`].
    pub fn parse(url: &str) -> Result<Target, ClientError> {
        let bad = || ClientError::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| bad())?;
        let authority = uri.authority().ok_or_else(bad)?;
        if uri.scheme_str() != Some("http") || uri.query().is_some() {
            return Err(bad());
        }
        let base_path = match uri.path().trim_end_matches('/') {
            "" => "/api/v1",
            path => path,
        };
        Ok(Target {
            // An IPv6 address stands in brackets in a URL, and only there.
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(80),
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

/// What is asked.
pub struct Ask<'a> {
    /// Method.
    pub method: Method,
    /// Path below the base, with the query.
    pub path: &'a str,
    /// Whose request it is.
    pub key: &'a ApiKey,
    /// The `Idempotency-Key` of a `POST`: the same request under it is carried out once.
    pub once: Option<&'a str>,
    /// JSON, if the method has a body.
    pub body: Option<Bytes>,
}

/// What was answered.
#[derive(Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: StatusCode,
    /// JSON.
    pub body: Bytes,
    /// Whether it repeats the answer to an earlier request under the same `Idempotency-Key`.
    pub replayed: bool,
    /// From sending to the last byte of the body, of the request that was taken.
    pub took: Duration,
    /// How often the server was too busy before.
    pub repeats: u32,
}

impl Reply {
    /// Whether what was asked was carried out.
    pub fn is_success(&self) -> bool {
        self.status.is_success()
    }
}

/// A refusal (RFC 9457), as far as it is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// The stable code.
    pub code: String,
    /// The explanation.
    pub detail: String,
    /// The bad fields, where there are any.
    pub errors: Vec<FieldProblem>,
}

/// What is wrong with a field.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct FieldProblem {
    /// Its name, as a path into the body.
    pub field: String,
    /// The stable code.
    pub code: String,
    /// The explanation.
    pub detail: String,
}

impl Problem {
    /// The refusal that this answer is; without a code where something else than the exchange
    /// answered.
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
    #[error("`{0}` is not of the form http://host[:port][/api/v1]")]
    Url(String),
    /// A key with characters that no header can carry.
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
    /// The connection was lost, or what came was not HTTP.
    #[error("connection lost: {0}")]
    Http(#[from] hyper::Error),
    /// The request could not be formed.
    #[error("cannot form the request: {0}")]
    Form(#[from] hyper::http::Error),
    /// The body could not be read whole.
    #[error("the answer's body cannot be read: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    /// Nothing came in time.
    #[error("no answer within {} s", ANSWER_TIME_MAX.as_secs())]
    TimedOut,
}

impl ClientError {
    /// Whether the request was sent, or may have been: the server may then have carried it out.
    pub const fn may_have_been_sent(&self) -> bool {
        matches!(self, ClientError::Http(_) | ClientError::Body(_) | ClientError::TimedOut)
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
    /// [`ClientError::Connect`] or what the first exchange failed with.
    pub async fn open(target: &Target) -> Result<Connection, ClientError> {
        Ok(Connection { target: target.clone(), sender: connect(target).await? })
    }

    /// Asks and waits for the whole answer. A server that is too busy (429, 503 with
    /// `Retry-After`) has taken nothing, and is asked again after the pause it names.
    ///
    /// # Errors
    /// No answer: whether the request was carried out is then unknown.
    pub async fn ask(&mut self, ask: &Ask<'_>) -> Result<Reply, ClientError> {
        let mut repeats = 0;
        loop {
            let once = tokio::time::timeout(ANSWER_TIME_MAX, self.once(ask));
            let (mut reply, pause) = once.await.map_err(|_| ClientError::TimedOut)??;
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

    async fn once(&mut self, ask: &Ask<'_>) -> Result<(Reply, Option<Duration>), ClientError> {
        // A server may close an idle connection at any time; nothing was sent on it then.
        if self.sender.ready().await.is_err() {
            self.sender = connect(&self.target).await?;
        }
        let request = self.request(ask)?;
        let started = std::time::Instant::now();
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let replayed = response.headers().contains_key("idempotent-replay");
        let named = response.headers().get(RETRY_AFTER).map(pause_named);
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
        let body = body.collect().await.map_err(ClientError::Body)?.to_bytes();
        let busy = match status {
            StatusCode::TOO_MANY_REQUESTS => Some(named.unwrap_or(REPEAT_PAUSE)),
            StatusCode::SERVICE_UNAVAILABLE => named,
            _ => None,
        };
        Ok((Reply { status, body, replayed, took: started.elapsed(), repeats: 0 }, busy))
    }

    fn request(&self, ask: &Ask<'_>) -> Result<hyper::Request<Full<Bytes>>, ClientError> {
        let mut request = hyper::Request::builder()
            .method(ask.method.clone())
            .uri(format!("{}{}", self.target.base_path, ask.path))
            .header(HOST, self.target.host_header.clone())
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header("x-api-key", ask.key.0.clone());
        if let Some(once) = ask.once {
            request = request.header("idempotency-key", once);
        }
        Ok(match &ask.body {
            Some(body) => request
                .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
                .body(Full::new(body.clone())),
            None => request.body(Full::new(Bytes::new())),
        }?)
    }
}

/// Seconds that the server asks to wait, within reason.
fn pause_named(value: &HeaderValue) -> Duration {
    let seconds = value.to_str().ok().and_then(|text| text.parse().ok());
    seconds
        .map_or(REPEAT_PAUSE, |s: u64| Duration::from_secs(s.min(REPEAT_PAUSE_MAX_SECONDS)))
        .max(REPEAT_PAUSE)
}

async fn connect(target: &Target) -> Result<SendRequest<Full<Bytes>>, ClientError> {
    let unreached =
        |error| ClientError::Connect { address: format!("{}:{}", target.host, target.port), error };
    let stream = TcpStream::connect((target.host.as_str(), target.port)).await;
    let stream = stream.map_err(unreached)?;
    // One small request at a time: waiting to fill a packet would only add latency.
    stream.set_nodelay(true).map_err(unreached)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // Whoever asks next meets the same failure and reports it.
        drop(connection.await);
    });
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_url_may_leave_out_the_version() {
        for url in
            ["http://127.0.0.1:8080", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/api/v1/"]
        {
            let target = Target::parse(url).unwrap();
            assert_eq!((target.base_path.as_str(), target.port), ("/api/v1", 8080), "{url}");
        }
        assert_eq!(Target::parse("http://[::1]:9/x").unwrap().host, "::1");
        for bad in ["127.0.0.1:8080", "https://host/api/v1", "/api/v1", "http://h/?q=1", ""] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }
}
