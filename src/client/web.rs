//! A request to another server than the venue: one connection, one answer.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};

use super::tls::Trust;
use super::{ClientError, Target, connect};

/// Longest wait, from connecting to the last byte.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Largest answer.
const BYTES_MAX: usize = 1024 * 1024;

/// What is sent.
#[derive(Clone, Default)]
pub struct Sent {
    /// The pairs of a form that is posted, encoded; a `GET` without.
    pub form: Option<String>,
    /// JSON that is posted.
    pub json: Option<String>,
    /// What `Authorization` says, if anything; never printed.
    pub authorization: Option<String>,
}

/// Asks for JSON at an address. Redirections are not followed.
///
/// # Errors
/// It is no address, asks for TLS that nobody is believed for, or gives no answer in 10 seconds.
pub async fn ask(
    url: &str,
    trust: Option<&Trust>,
    sent: Sent,
) -> Result<(StatusCode, Bytes), ClientError> {
    let asking = tokio::time::timeout(TIME_MAX, asked(url, trust, sent));
    asking.await.map_err(|_| ClientError::TimedOut)?
}

async fn asked(
    url: &str,
    trust: Option<&Trust>,
    sent: Sent,
) -> Result<(StatusCode, Bytes), ClientError> {
    let bad = || ClientError::Url(url.to_owned());
    let uri: Uri = url.parse().map_err(|_| bad())?;
    let (trust, port) = match (uri.scheme_str(), trust) {
        (Some("http"), _) => (None, 80),
        (Some("https"), Some(trust)) => (Some(trust.clone()), 443),
        _ => return Err(bad()),
    };
    let authority = uri.authority().ok_or_else(bad)?;
    let target = Target {
        trust,
        socket: None,
        host: authority.host().trim_matches(['[', ']']).to_owned(),
        port: authority.port_u16().unwrap_or(port),
        host_header: HeaderValue::from_str(authority.as_str()).map_err(|_| bad())?,
        base_path: String::new(),
    };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::builder()
        .uri(path)
        .header(HOST, target.host_header.clone())
        .header(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(text) = sent.authorization {
        let mut value = HeaderValue::from_str(&text).map_err(|_| ClientError::Key)?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    let (body, kind) = match (sent.form, sent.json) {
        (Some(form), _) => (form, Some("application/x-www-form-urlencoded")),
        (None, Some(json)) => (json, Some("application/json")),
        (None, None) => (String::new(), None),
    };
    if let Some(kind) = kind {
        let kind = HeaderValue::from_static(kind);
        request = request.method(Method::POST).header(CONTENT_TYPE, kind);
    }
    let request = request.body(Full::new(body.into()))?;
    let response = connect(&target).await?.send_request(request).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), BYTES_MAX);
    let body = body.collect().await.map_err(ClientError::Body)?.to_bytes();
    Ok((status, body))
}
