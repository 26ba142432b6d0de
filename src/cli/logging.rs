//! Logs: to stderr, one line an event, filtered by `OPENOUTCRY_LOG`.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use super::Failure;

/// The environment variable that filters logs, in tracing's own notation.
const FILTER: &str = "OPENOUTCRY_LOG";
/// What is logged unless the filter says otherwise.
const FILTER_DEFAULT: &str = "info";

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging.
///
/// # Errors
/// A filter that cannot be read.
pub fn start(format: LogFormat) -> Result<(), Failure> {
    let text = std::env::var(FILTER).unwrap_or_else(|_| FILTER_DEFAULT.to_owned());
    let filter = EnvFilter::try_new(&text)
        .map_err(|error| Failure::Usage(format!("{FILTER}={text}: {error}")))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let started = match format {
        LogFormat::Text => subscriber.with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Failure::Failed(format!("logging cannot start: {error}")))
}
