//! Logging to stderr, one line per event, filtered by the setting `log`.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;
use std::thread;

use clap::ValueEnum;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, registry, reload};

use super::Failure;
use super::environment::{CRATES, check_filter};
use super::output::{self, LogLine};

/// The level of what the filter does not name, unless it has a level of its own for that.
pub(crate) const FILTER_DEFAULT: &str = "info";

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Path fragments that identify sled's source files in a panic location.
const STORE_SOURCES: [&str; 2] = ["/sled-0", "/sled/src/"];

/// Replaces the filter in force; set once logging has started.
static REFILTER: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Starts logging to the queue of [`output`], panics included.
///
/// # Errors
/// The filter is invalid, or logging cannot start.
pub(crate) fn start(format: LogFormat, text: &str) -> Result<(), Failure> {
    let (targets, handle) = reload::Layer::new(filter(text)?);
    let lines = fmt::layer()
        .with_writer(|| LogLine)
        // By default it reports what it cannot write on stderr, and panics if that fails too.
        .log_internal_errors(false);
    let log = registry().with(targets);
    let started = match format {
        LogFormat::Text => log.with(lines.with_ansi(output::log_is_on_a_terminal())).try_init(),
        LogFormat::Json => log.with(lines.json().flatten_event(true)).try_init(),
    };
    started.map_err(|error| Failure::Failed(format!("logging cannot start: {error}")))?;
    // Nobody starts it twice.
    drop(REFILTER.set(handle));
    panic::set_hook(Box::new(log_panic));
    Ok(())
}

/// Logs by another filter from now on.
///
/// # Errors
/// The filter is invalid.
pub(crate) fn refilter(text: &str) -> Result<(), Failure> {
    let filter = filter(text)?;
    let replaced = REFILTER.get().map_or(Ok(()), |handle| handle.reload(filter));
    replaced.map_err(|error| Failure::Failed(format!("the log's filter stays: {error}")))
}

/// A filter's text, if it is one.
pub(crate) fn filter_text(text: &str) -> Result<String, String> {
    check_filter(text).map(|()| text.to_owned())
}

/// Logs a panic. sled panics on some kinds of damage; its callers catch and report that, so that is
/// logged at debug level only.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let file = panic.location().map_or("", |file| file.file());
    if STORE_SOURCES.iter().any(|sources| file.contains(sources)) {
        tracing::debug!(%panic, "the store panicked");
        return;
    }
    let (trace, current) = (Backtrace::capture(), thread::current());
    let asked = trace.status() == BacktraceStatus::Captured;
    let trace = asked.then_some(tracing::field::display(trace));
    tracing::error!(thread = current.name(), %panic, trace, "a thread panicked");
    if current.name() == Some("main") {
        // The process ends now.
        output::finish();
    }
}

/// A checked filter in the names that log lines have: `openoutcry` is all crates. `api` is a
/// former name of `http`.
fn in_crates(text: &str) -> String {
    let parts = text.split(',').map(str::trim).map(|part| {
        let (target, level) = part.split_at(part.find('=').unwrap_or(part.len()));
        let all = CRATES.map(|name| format!("{name}{level},")).concat();
        match target.strip_prefix("openoutcry") {
            Some("") => all + part,
            Some(inside) => {
                let inside = inside.trim_start_matches("::");
                let (name, rest) = inside.split_at(inside.find("::").unwrap_or(inside.len()));
                let name = if name == "api" { "http" } else { name };
                let ours = CRATES.contains(&name);
                if ours { format!("{name}{rest}{level}") } else { part.to_owned() }
            }
            None => part.to_owned(),
        }
    });
    parts.collect::<Vec<_>>().join(",")
}

/// The filter of a text. It comes after the default, so that a filter for one module does not
/// silence the others: the log must say why the venue halted. A level for all replaces the default.
fn filter(text: &str) -> Result<Targets, Failure> {
    let refused = |why: String| Failure::Usage(format!("log filter {text}: {why}"));
    check_filter(text).map_err(refused)?;
    let named = in_crates(text);
    let parts: Vec<_> = named.split(',').filter(|part| !part.is_empty()).collect();
    let whole = [&[FILTER_DEFAULT], parts.as_slice()].concat().join(",");
    whole.parse().map_err(|error: ParseError| refused(error.to_string()))
}

#[cfg(test)]
#[path = "../../tests/unit/cli/logging.rs"]
mod tests;
