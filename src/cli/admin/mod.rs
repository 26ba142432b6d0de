//! `openoutcry admin`: operates a running venue over its public REST interface.
//!
//! Must not know: any trading rule, the data directory, or server internals.

pub(crate) mod acts;
pub(crate) mod catalogue;
pub(crate) mod import;
pub(crate) mod keys;
pub(crate) mod markets;
pub(crate) mod session;
pub(crate) mod table;
pub(crate) mod users;
pub(crate) mod venue;

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::Failure;
use client::{ApiKey, ClientError, Target};
use session::{AdminError, Session};

/// The environment variable with the operator's key.
const OPERATOR_KEY: &str = "OPENOUTCRY_OPERATOR_KEY";
/// Bytes read from a key file: more than any key has, so a wrong path does not load a large file.
const KEY_FILE_BYTES_MAX: u64 = 4096;

const DETAILS: &str = "\
The operator's key comes from OPENOUTCRY_OPERATOR_KEY or from a file (--key-file), never from the
command line, where everybody on the machine could read it.

Every POST carries an Idempotency-Key, drawn for it. If the connection breaks, it is sent once more
under the same key, so nothing is done twice. Where the outcome stays unknown, the message names the
key: give it to the same command with --idempotency-key to find out what came of it.

Examples:
  openoutcry admin users create ann --picture https://assets.example.org/ann.png
  openoutcry admin users deposit 0190f1c2-... 1000.00 --reference 2026-11-26/4711
  openoutcry admin keys create 0190f1c2-... --role trader --label desk
  openoutcry admin import catalogue.jsonl
  openoutcry admin markets list --status DRAFT
  openoutcry admin markets publish 0190f1c3-...
  openoutcry admin markets resolve 0190f1c3-... yes --reason it-rained
  openoutcry admin venue mode cancel-only
  openoutcry admin venue take-fees 12.50
  openoutcry admin --json markets list --status DRAFT --limit 1000 | jq -r '.markets[].id' \\
    | xargs -r -n1 openoutcry admin markets publish

Before it resolves, voids or suspends a market or takes fees, it shows what that does to how many
people and how much money, and asks; --yes does not ask, and is needed where nobody can be asked.

Exit codes: 0 done; 1 refused, or no answer; 2 the arguments or the files are at fault.";

/// The arguments of `admin`.
#[derive(Debug, Args)]
#[command(after_help = DETAILS)]
pub(crate) struct AdminArgs {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: AdminVerb,
}

/// Which server, and how to speak to it.
#[derive(Debug, Args)]
struct ServerArgs {
    /// Base URL of the server; /api/v1 is added where there is no path
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "OPENOUTCRY_URL",
        default_value = "http://127.0.0.1:8080"
    )]
    url: String,
    /// A file of root certificates in PEM, which https is believed from instead of the system's
    #[arg(long, global = true, value_name = "FILE", env = "OPENOUTCRY_CACERT")]
    cacert: Option<PathBuf>,
    /// A file with the operator's key; by default the key is taken from the environment
    #[arg(long, global = true, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Print the server's JSON, also of refusals
    #[arg(long, global = true)]
    json: bool,
    /// The key of an earlier write whose answer was lost, to ask for the answer again
    #[arg(long, global = true, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Why it is done; the journal keeps it
    #[arg(long, global = true, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask before what cannot be undone
    #[arg(long, global = true)]
    yes: bool,
}

#[derive(Debug, Subcommand)]
enum AdminVerb {
    /// Users and their money
    #[command(subcommand)]
    Users(users::UsersVerb),
    /// Users' API keys
    #[command(subcommand)]
    Keys(keys::KeysVerb),
    /// Markets and their life cycle
    #[command(subcommand)]
    Markets(markets::MarketsVerb),
    /// Create categories, events and markets from a file
    Import(import::ImportArgs),
    /// What operators have asked for: when, who and why
    Acts(acts::ActsArgs),
    /// The venue as a whole
    #[command(subcommand)]
    Venue(venue::VenueVerb),
}

/// Runs the `admin` command.
///
/// # Errors
/// [`Failure`]: wrong arguments or files, a refusal, or no answer.
pub(crate) fn run(args: &AdminArgs) -> Result<(), Failure> {
    execute(args).map_err(|error| {
        let message = format!("admin: {error}");
        if error.is_usage() { Failure::Usage(message) } else { Failure::Failed(message) }
    })
}

fn execute(args: &AdminArgs) -> Result<(), AdminError> {
    let server = &args.server;
    // Check the import file before connecting to the server.
    let lines = match &args.verb {
        AdminVerb::Import(_) if server.idempotency_key.is_some() => {
            let why = "--idempotency-key: an import derives its keys from the file's lines";
            return Err(AdminError::Usage(why.to_owned()));
        }
        AdminVerb::Import(args) => import::read(args)?,
        _ => Vec::new(),
    };
    let target = target(server)?;
    let key = ApiKey::new(&operator_key(server.key_file.as_deref())?).map_err(usage)?;
    // The one that looks up a host's name; the runtime would panic without it.
    os::check_threads(1).map_err(|error| AdminError::Local(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| AdminError::Local(format!("no runtime: {error}")))?;
    runtime.block_on(async {
        let once = server.idempotency_key.clone();
        let mut session = Session::open(target, key, server.json, once).await?;
        session.reason.clone_from(&server.reason);
        session.yes = server.yes;
        match &args.verb {
            AdminVerb::Users(verb) => users::run(&mut session, verb).await,
            AdminVerb::Keys(verb) => keys::run(&mut session, verb).await,
            AdminVerb::Markets(verb) => markets::run(&mut session, verb).await,
            AdminVerb::Import(_) => import::run(&mut session, &lines).await,
            AdminVerb::Acts(args) => acts::run(&mut session, args).await,
            AdminVerb::Venue(verb) => venue::run(&mut session, verb).await,
        }
    })
}

/// The server, over TLS if its URL says so.
fn target(server: &ServerArgs) -> Result<Target, AdminError> {
    #[cfg(feature = "tls")]
    if server.url.starts_with("https://") {
        let trust = client::tls::Trust::in_roots(server.cacert.as_deref());
        return Target::over_tls(&server.url, trust.map_err(AdminError::Usage)?).map_err(usage);
    }
    Target::parse(&server.url).map_err(usage)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn usage(error: ClientError) -> AdminError {
    AdminError::Usage(error.to_string())
}

/// The operator's key, from the file if one is named, else from the environment.
fn operator_key(file: Option<&Path>) -> Result<String, AdminError> {
    let key = match file {
        Some(path) => key_in(path)
            .map_err(|error| AdminError::Usage(format!("{}: {error}", path.display())))?,
        None => std::env::var(OPERATOR_KEY).map_err(|_| {
            let why = "no operator key: set OPENOUTCRY_OPERATOR_KEY or name a file by --key-file";
            AdminError::Usage(why.to_owned())
        })?,
    };
    let key = key.trim();
    if key.is_empty() {
        return Err(AdminError::Usage("the operator key is empty".to_owned()));
    }
    Ok(key.to_owned())
}

fn key_in(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(KEY_FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}
