//! Traces for a collector that speaks OTLP over HTTP, in JSON. They are sent by a thread of their
//! own; a collector that hangs or refuses costs spans, which are counted, and nothing else.

use std::thread;
use std::time::Duration;

use clap::Args;
use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use super::Failure;
use client::tls::Trust;
use client::web::{self, Sent};
use http::spans::{Span, Spans, Waiting};

/// Spans sent together, and how long the first of them waits for others.
const TOGETHER_MAX: usize = 512;
const WITHIN: Duration = Duration::from_secs(1);
/// What the interface calls an answer to a request, and an answer that says that it failed.
const SERVER: u8 = 2;
const ERROR: u8 = 2;

/// Where traces go.
#[derive(Debug, Clone, Args)]
pub(crate) struct OtlpArgs {
    /// Collector of OpenTelemetry to which a span of each request is sent over HTTP, as
    /// `http://127.0.0.1:4318`
    #[arg(
        long,
        value_name = "URL",
        env = "OTEL_EXPORTER_OTLP_ENDPOINT",
        value_parser = collector
    )]
    otlp_endpoint: Option<String>,
}

fn collector(text: &str) -> Result<String, String> {
    let is_url = text.starts_with("http://") || text.starts_with("https://");
    if is_url { Ok(text.to_owned()) } else { Err("must be http:// or https://".to_owned()) }
}

impl OtlpArgs {
    /// Starts to send spans, if there is a collector.
    ///
    /// # Errors
    /// Nobody vouches for its certificate, or there is no thread.
    pub(crate) fn start(&self) -> Result<Option<Spans>, Failure> {
        let Some(endpoint) = &self.otlp_endpoint else { return Ok(None) };
        let trust = endpoint.starts_with("https://").then(|| Trust::in_roots(None)).transpose();
        let trust = trust.map_err(Failure::Failed)?;
        let url = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        let failed = |error: std::io::Error| Failure::Failed(format!("no traces: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed)?;
        let (spans, waiting) = Spans::queue();
        let send = move |body| runtime.block_on(sent(&url, trust.as_ref(), body));
        let thread = thread::Builder::new().name("otlp".to_owned());
        thread.spawn(move || send_all(&waiting, send)).map_err(failed)?;
        Ok(Some(spans))
    }
}

/// Sends spans until no more can come. The log says when that begins to fail.
fn send_all(waiting: &Waiting, send: impl Fn(String) -> Result<(), String>) {
    let mut fails = false;
    while let Some(spans) = waiting.next(TOGETHER_MAX, WITHIN) {
        let told = send(body(&spans));
        if let Err(why) = &told {
            waiting.lose(spans.len());
            if !fails {
                tracing::warn!(why, "spans are lost: the collector does not take them");
            }
        }
        fails = told.is_err();
    }
}

async fn sent(url: &str, trust: Option<&Trust>, body: String) -> Result<(), String> {
    let asked = web::ask(url, trust, Sent { json: Some(body), ..Sent::default() }).await;
    let (status, _) = asked.map_err(|error| error.to_string())?;
    if status.is_success() { Ok(()) } else { Err(format!("{url}: {status}")) }
}

/// The request with these spans, as OTLP has it in JSON.
fn body(spans: &[Span]) -> String {
    let spans: Vec<Value> = spans.iter().map(printed).collect();
    let service = [text("service.name", "openoutcry"), text("service.version", VERSION)];
    let scope = json!({"scope": {"name": "openoutcry"}, "spans": spans});
    json!({"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [scope]}]})
        .to_string()
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// A number of 64 bits is text in this JSON.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

fn printed(span: &Span) -> Value {
    let ended = u128::from(span.ended.get().unsigned_abs()).saturating_mul(1_000_000);
    let began = ended.saturating_sub(u128::from(span.us).saturating_mul(1_000));
    let mut attributes = vec![
        text("http.request.method", span.method.as_str()),
        text("http.route", span.route),
        number("http.response.status_code", span.status.into()),
        text("openoutcry.request_id", &span.request_id),
    ];
    attributes.extend(span.user.as_ref().map(|user| text("user.id", user)));
    attributes.extend(span.sequence.map(|record| number("openoutcry.sequence", record)));
    let mut printed = json!({
        "traceId": HEXLOWER.encode(&span.trace),
        "spanId": HEXLOWER.encode(&span.id),
        "name": format!("{} {}", span.method, span.route),
        "kind": SERVER,
        "startTimeUnixNano": began.to_string(),
        "endTimeUnixNano": ended.to_string(),
        "attributes": attributes,
    });
    if let Some(members) = printed.as_object_mut() {
        let parent = span.parent.map(|id| HEXLOWER.encode(&id).into());
        members.extend(parent.map(|id| ("parentSpanId".to_owned(), id)));
        let status = json!({"code": ERROR});
        members.extend((span.status >= 500).then(|| ("status".to_owned(), status)));
    }
    printed
}
