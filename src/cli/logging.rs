//! Logging to stderr, one line per event, filtered by `OPENOUTCRY_LOG`.

use std::io::{self, IsTerminal};
use std::panic;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use super::Failure;

/// The environment variable with the filter, in the syntax of `tracing`.
const FILTER: &str = "OPENOUTCRY_LOG";
/// The default filter.
const FILTER_DEFAULT: &str = "info";

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Path fragments that identify sled's source files in a panic location.
const STORE_SOURCES: [&str; 2] = ["/sled-0", "/sled/src/"];

/// Starts logging. sled panics on some kinds of damage; its callers catch and report that, so the
/// panic itself is logged at debug level only.
///
/// # Errors
/// The filter is invalid, or logging cannot start.
pub fn start(format: LogFormat) -> Result<(), Failure> {
    let text = std::env::var(FILTER).unwrap_or_else(|_| FILTER_DEFAULT.to_owned());
    let filter = EnvFilter::try_new(&text)
        .map_err(|error| Failure::Usage(format!("{FILTER}={text}: {error}")))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let started = match format {
        LogFormat::Text => subscriber.with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Failure::Failed(format!("logging cannot start: {error}")))?;
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let file = panic.location().map_or("", |file| file.file());
        if STORE_SOURCES.iter().any(|sources| file.contains(sources)) {
            tracing::debug!(%panic, "the store panicked");
        } else {
            others(panic);
        }
    }));
    Ok(())
}
