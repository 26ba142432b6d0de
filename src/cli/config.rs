//! `openoutcry config`: what a start would take, and where each setting is from.

use clap::{Command, Subcommand};

use super::config_file::Settings;
use super::settings::ServeArgs;
use super::{Failure, output};

/// What can be asked of the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Print every setting of `serve` as it would be in force, and where it is from
    Show(ServeArgs),
}

/// Prints the settings, in the form of the configuration file.
///
/// # Errors
/// The file is at fault, or stdout does not take the answer.
pub(crate) fn run(verb: &ConfigVerb, whole: Command) -> Result<(), Failure> {
    let ConfigVerb::Show(given) = verb;
    let settings = Settings::load(whole, &["config", "show"], given)?;
    output::print(&settings.shown()).map_err(|error| Failure::Failed(format!("stdout: {error}")))
}
