//! The environment of a start: a name that is misspelt, or a log filter that says nothing, would
//! otherwise be noticed when what it was to do is missed.

use std::ffi::OsString;
use std::str::FromStr;

use clap::Command;
use tracing_subscriber::filter::LevelFilter;

use super::Failure;
use super::operator_key;

/// What every variable of ours begins with.
const PREFIX: &str = "OPENOUTCRY_";
/// The levels of a log filter.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// The modules that log; all lines are from one of them.
const OURS: &str = "openoutcry";
/// The crates that log. Lines begin with these names; a filter may also call them
/// `openoutcry::http`, as parts of one program.
pub(super) const CRATES: [&str; 2] = ["engine", "http"];
/// What else a filter may name so: the program's own part, and a former name of `http`.
const PARTS: [&str; 2] = ["cli", "api"];

/// Refuses variables that look like ours and are not.
///
/// # Errors
/// Names the first such variable, and the nearest that exists.
pub(crate) fn check(whole: &Command, names: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    let known = known(whole);
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let ours = names.filter(|name| name.starts_with(PREFIX));
    let Some(unknown) = ours.filter(|name| !known.contains(name)).min() else { return Ok(()) };
    let hint = nearest(&unknown, known.iter().map(String::as_str));
    Err(Failure::Usage(format!(
        "{unknown} is no variable of this program{hint} (`openoutcry serve --help` has all)"
    )))
}

/// The hint to the name that a misspelt one was probably meant to be; nothing if none is near.
pub(crate) fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = known.map(|name| (strsim::damerau_levenshtein(name, unknown), name));
    let near = near.min().filter(|(steps, _)| steps.saturating_mul(2) <= unknown.len());
    near.map_or_else(String::new, |(_, name)| format!("; did you mean {name}?"))
}

/// The variables of all commands, so that one environment serves them all.
fn known(whole: &Command) -> Vec<String> {
    let arguments = whole.get_subcommands().flat_map(Command::get_arguments);
    let of_flags = arguments.filter_map(clap::Arg::get_env).filter_map(|name| name.to_str());
    of_flags.chain([operator_key::VARIABLE]).map(str::to_owned).collect()
}

/// Checks a log filter: levels, or levels of our modules, with commas. A bare word that is no level
/// would be taken for a module, of which there is no line.
///
/// # Errors
/// Says which part is wrong.
pub(crate) fn check_filter(text: &str) -> Result<(), String> {
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (target, level) =
            part.rsplit_once('=').map_or((None, part), |(target, level)| (Some(target), level));
        let bare_module = target.is_none() && is_ours(part);
        if target.is_some_and(|target| !is_ours(target)) {
            let names = CRATES.join(", ");
            return Err(format!("`{part}`: the modules are {OURS} for all, {OURS}::cli, {names}"));
        }
        let mut names = target.unwrap_or(part).split("::");
        let module = names.next().filter(|name| *name == OURS).and_then(|_| names.next());
        let known = || CRATES.into_iter().chain(PARTS);
        if let Some(module) = module.filter(|module| !known().any(|name| name == *module)) {
            let hint = nearest(module, known());
            return Err(format!("`{part}`: {OURS} has no module {module}{hint}"));
        }
        if !bare_module && (level.is_empty() || LevelFilter::from_str(level).is_err()) {
            let hint = nearest(level, LEVELS.into_iter());
            return Err(format!("`{part}`: a level is {}{hint}", LEVELS.join(", ")));
        }
    }
    Ok(())
}

/// Whether a module is one of ours by its name, as the log prints it or in the program's.
fn is_ours(target: &str) -> bool {
    let mut parts = target.split("::");
    let word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let first = parts.next().unwrap_or_default();
    (first == OURS || CRATES.contains(&first)) && parts.all(word)
}

#[cfg(test)]
#[path = "../../tests/unit/cli/environment.rs"]
mod tests;
