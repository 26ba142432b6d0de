//! A bucket: lists, reads and makes objects, one request at a time, from a thread of its own.

use std::fmt;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use client::{ClientError, Connection, Target};
use data_encoding::BASE64;
use http_body_util::Full;
use hyper::{Method, Request, StatusCode};
use rusty_s3::actions::{GetObject, ListObjectsV2, PutObject, S3Action};
use rusty_s3::{Bucket, Credentials};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use url::Url;

use super::objects::{Made, Objects};
use super::place::{Place, credentials};
use super::refusal;
use engine::clock;

/// Longest wait for an answer, its connection included: a venue that starts or stops waits as long.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a signed request may be on its way.
const SIGNED_FOR: Duration = Duration::from_mins(5);

/// Why the store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// The settings or the keys are at fault.
    #[error("{0}")]
    Settings(String),
    /// No answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A refusal.
    #[error("the store answered {status}: {said}")]
    Refused {
        /// HTTP status.
        status: StatusCode,
        /// What it said, in a line.
        said: String,
    },
    /// An answer that does not match the interface.
    #[error("unreadable answer: {0}")]
    Unreadable(String),
}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> io::Error {
        io::Error::other(error.to_string())
    }
}

/// A bucket.
pub(crate) struct Store {
    bucket: Bucket,
    prefix: String,
    credentials: Credentials,
    retain_days: Option<u32>,
    target: Target,
    connection: Option<Connection>,
    runtime: Runtime,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl Store {
    /// Reads settings and keys; nothing is asked yet.
    ///
    /// # Errors
    /// [`StoreError::Settings`].
    pub(crate) fn at(place: &Place) -> Result<Store, StoreError> {
        let (bucket, prefix) = place.bucket().map_err(StoreError::Settings)?;
        let credentials = credentials().map_err(StoreError::Settings)?;
        let target = target(bucket.base_url(), place)?.root();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Settings(error.to_string()))?;
        let (retain_days, connection) = (place.retain_days, None);
        Ok(Store { bucket, prefix, credentials, retain_days, target, connection, runtime })
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The headers of a new object, all of them signed.
    fn headers(&self, bytes: &Bytes) -> Vec<(&'static str, String)> {
        let checksum = BASE64.encode(&Sha256::digest(bytes));
        let mut headers = vec![
            ("if-none-match", "*".to_owned()),
            ("x-amz-checksum-sha256", checksum),
            // Stores take an object under retention, their own too, only with its checksum's name.
            ("x-amz-sdk-checksum-algorithm", "SHA256".to_owned()),
        ];
        let now = DateTime::<Utc>::from_timestamp_millis(clock::now().get());
        let days = self.retain_days.map(|days| TimeDelta::days(days.into()));
        if let Some(until) = now.zip(days).and_then(|(now, days)| now.checked_add_signed(days)) {
            let until = until.to_rfc3339_opts(SecondsFormat::Secs, true);
            headers.push(("x-amz-object-lock-mode", "GOVERNANCE".to_owned()));
            headers.push(("x-amz-object-lock-retain-until-date", until));
        }
        headers
    }

    fn ask(
        &mut self,
        method: Method,
        url: &Url,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), StoreError> {
        let mut request = Request::builder().method(method).uri(match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        });
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Full::new(body)).map_err(ClientError::Form)?;
        // After a failure the next request has a connection of its own.
        let kept = self.connection.take();
        let asking = async {
            let mut connection = match kept {
                Some(connection) => connection,
                None => Connection::open(&self.target).await?,
            };
            let answer = connection.send(request).await?;
            Ok::<_, ClientError>((connection, answer))
        };
        let asked = async { timeout(PATIENCE, asking).await.map_err(|_| ClientError::TimedOut)? };
        let (connection, answer) = self.runtime.block_on(asked)?;
        self.connection = Some(connection);
        let (head, body) = answer.into_parts();
        if head.status.is_success() {
            return Ok((head.status, body));
        }
        Err(StoreError::Refused { status: head.status, said: refusal::told(&body) })
    }
}

/// The objects below the prefix, by their names without it.
impl Objects for Store {
    fn list(&mut self) -> io::Result<Vec<String>> {
        let (mut found, mut token) = (Vec::new(), None);
        loop {
            let mut page = ListObjectsV2::new(&self.bucket, Some(&self.credentials));
            page.with_prefix(self.prefix.clone());
            if let Some(token) = token.take() {
                page.with_continuation_token(token);
            }
            let url = page.sign(SIGNED_FOR);
            let answer = self.ask(Method::GET, &url, &[], Bytes::new())?;
            let text = String::from_utf8_lossy(&answer.1);
            let listed = ListObjectsV2::parse_response(&text)
                .map_err(|error| StoreError::Unreadable(error.to_string()))?;
            let names = listed.contents.into_iter();
            found.extend(
                names.filter_map(|object| object.key.strip_prefix(&self.prefix).map(str::to_owned)),
            );
            token = listed.next_continuation_token;
            if token.is_none() {
                found.sort();
                return Ok(found);
            }
        }
    }

    fn read(&mut self, name: &str) -> io::Result<Bytes> {
        let key = self.key(name);
        let url = GetObject::new(&self.bucket, Some(&self.credentials), &key).sign(SIGNED_FOR);
        Ok(self.ask(Method::GET, &url, &[], Bytes::new())?.1)
    }

    fn make(&mut self, name: &str, bytes: Bytes) -> io::Result<Made> {
        let key = self.key(name);
        let headers = self.headers(&bytes);
        let mut put = PutObject::new(&self.bucket, Some(&self.credentials), &key);
        for (name, value) in &headers {
            put.headers_mut().insert(*name, value.clone());
        }
        let url = put.sign(SIGNED_FOR);
        match self.ask(Method::PUT, &url, &headers, bytes) {
            Ok(_) => Ok(Made::New),
            Err(StoreError::Refused { status: StatusCode::PRECONDITION_FAILED, .. }) => {
                Ok(Made::Exists)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The server of a bucket.
#[cfg_attr(not(feature = "tls"), expect(unused_variables, reason = "for TLS"))]
fn target(base: &Url, place: &Place) -> Result<Target, StoreError> {
    let origin = base.origin().ascii_serialization();
    #[cfg(feature = "tls")]
    if base.scheme() == "https" {
        let trust = client::tls::Trust::in_roots(place.cacert.as_deref());
        return Ok(Target::over_tls(&origin, trust.map_err(StoreError::Settings)?)?);
    }
    Ok(Target::parse(&origin)?)
}
