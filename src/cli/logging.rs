//! Logs: to stderr, one line an event, filtered by `OPENOUTCRY_LOG`.

use std::io::{self, IsTerminal};
use std::panic;

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

/// Where the sources of the journal's store are, seen from a place in them.
const STORE_SOURCES: [&str; 2] = ["/sled-0", "/sled/src/"];

/// Starts logging. The store panics on some damage; that is caught where it is called and told
/// there, so its own words are only for whoever debugs.
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
    started.map_err(|error| Failure::Failed(format!("logging cannot start: {error}")))?;
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or("", |place| place.file());
        if STORE_SOURCES.iter().any(|sources| place.contains(sources)) {
            tracing::debug!(%panic, "the store panicked");
        } else {
            others(panic);
        }
    }));
    Ok(())
}
