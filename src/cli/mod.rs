//! The command line of the `openoutcry` binary.
//!
//! Must not know: any trading rule.

pub(crate) mod admin;
pub(crate) mod output;
pub(crate) mod logging;
pub(crate) mod signals;
pub(crate) mod place;
#[cfg(feature = "otel")]
mod otlp;
pub(crate) mod settings;
pub(crate) mod config_file;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod reload;
pub(crate) mod init;
pub(crate) mod entrances;
pub(crate) mod serve;
mod site;
mod identity;
#[cfg(feature = "oidc")]
mod openid;
pub(crate) mod archive_folder;
#[cfg(feature = "s3")]
pub(crate) mod archive_s3;
pub(crate) mod operator_key;
pub(crate) mod venue_clock;
pub(crate) mod bootstrap;
pub(crate) mod demo;
pub(crate) mod completions;
pub(crate) mod data_folder;
pub(crate) mod environment;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

const ABOUT: &str = "A self-hosted prediction-market exchange

One binary that takes orders over REST, writes every command to an append-only journal before it
answers, matches deterministically, and can rebuild its whole state from that journal.";

const EXAMPLES: &str = "Examples:
  openoutcry serve --demo                     try it: catalogue, users, keys and trading books
  openoutcry init /var/lib/openoutcry         begin a venue: settings, journal, operator's key
  openoutcry serve --data /var/lib/openoutcry
  openoutcry admin users list                 operate a running server; see admin --help

Exit codes: 0 success, 1 failure, 2 usage; of serve also 3, the journal is refused.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "openoutcry", version, about = ABOUT, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Begin a venue: its directory, its settings, its operator
    Init(init::InitArgs),
    /// Run the exchange
    Serve(settings::ServeArgs),
    /// Show the settings that a start would take
    #[command(subcommand)]
    Config(config::ConfigVerb),
    /// Look at what a server needs, and say what would mend it
    Doctor(settings::ServeArgs),
    /// Operate a running venue: users, keys, money, markets, the catalogue
    Admin(admin::AdminArgs),
    /// Copy an archive from its bucket into a folder
    #[cfg(feature = "s3")]
    FetchArchive(archive_s3::FetchArgs),
    /// Print a shell's completion script
    Completions(completions::CompletionsArgs),
}

/// A failed command: the message to print, and the exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong usage: exit code 2.
    Usage(String),
    /// The journal is damaged, contradicts itself or lacks a part: exit code 3. Nothing may start
    /// the server again before somebody has looked.
    Journal(String),
    /// Any other failure: exit code 1.
    Failed(String),
}

/// The names of the environment's variables.
fn names() -> impl Iterator<Item = std::ffi::OsString> {
    std::env::vars_os().map(|(name, _)| name)
}

/// Parses the command line and runs the command. Usage errors exit with code 2.
pub(crate) fn run() -> ExitCode {
    os::prepare();
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(said) => return output::usage(&said),
    };
    let known = || environment::check(&Cli::command(), names());
    let outcome = match command {
        Verb::Init(args) => known().and_then(|()| init::run(&args)),
        Verb::Serve(args) => known().and_then(|()| serve::run(Cli::command(), &args)),
        Verb::Config(verb) => known().and_then(|()| config::run(&verb, Cli::command())),
        Verb::Doctor(args) => known().and_then(|()| doctor::run(Cli::command(), &args)),
        Verb::Admin(args) => known().and_then(|()| admin::run(&args)),
        #[cfg(feature = "s3")]
        Verb::FetchArchive(args) => known().and_then(|()| archive_s3::fetch(&args)),
        Verb::Completions(args) => completions::run(&args, Cli::command()),
    };
    let code = match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let (code, message) = match failure {
                Failure::Failed(message) => (1, message),
                Failure::Usage(message) => (2, message),
                Failure::Journal(message) => (3, message),
            };
            output::note(&format!("openoutcry: {message}"));
            ExitCode::from(code)
        }
    };
    output::finish();
    code
}
