//! `openoutcry admin`: operates a running venue over its public REST interface.
//!
//! Must not know: any trading rule, the data directory, or server internals.

mod account;
pub(crate) mod acts;
pub(crate) mod catalogue;
mod context;
mod events;
mod figures;
pub(crate) mod import;
pub(crate) mod keys;
pub(crate) mod markets;
mod names;
mod new_market;
pub(crate) mod session;
mod status;
pub(crate) mod table;
mod texts;
#[cfg(feature = "top")]
mod top;
mod transfers;
mod proposals;
pub(crate) mod users;
pub(crate) mod venue;

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::Failure;
use client::{ApiKey, ClientError, Target};
use context::{Contexts, Server};
use serde_json::{Value, json};
use session::{AdminError, Session};

/// The environment variable with the operator's key.
const OPERATOR_KEY: &str = "OPENOUTCRY_OPERATOR_KEY";
/// The server that is asked where nothing names one.
const URL: &str = "http://127.0.0.1:8080";
/// Bytes read from a key file: more than any key has, so a wrong path does not load a large file.
const KEY_FILE_BYTES_MAX: u64 = 4096;

const URL_HELP: &str = "Base URL of the server [default: http://127.0.0.1:8080], or its socket as \
    unix:/run/openoutcry/admin.sock; /api/v1 is added where there is no path";

const DETAILS: &str = "\
The operator's key comes from OPENOUTCRY_OPERATOR_KEY or from a file (--key-file), never from the
command line, where everybody on the machine could read it. Or log in once: `admin login NAME`
checks server and key and keeps them as a context in ~/.config/openoutcry/contexts.toml (mode
0600). The last one is taken where neither a URL nor a key is given otherwise; --context names
another.

Users are named by their ids, or by the names that others see if only one has it; markets and
events by their ids or slugs.

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
  openoutcry admin transfers
  openoutcry admin proposal confirm 4713
  openoutcry admin transfer confirm 4711 --reference 2026-11-26/4712
  openoutcry admin markets publish --all-drafts
  openoutcry admin --url https://venue.example --key-file key.txt login prod
  openoutcry admin status

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
    /// Base URL of the server
    #[arg(long, global = true, value_name = "URL", env = "OPENOUTCRY_URL", help = URL_HELP)]
    url: Option<String>,
    /// The context to use; it has a server and a key, and no other may be given beside it
    #[arg(long, global = true, value_name = "NAME", env = "OPENOUTCRY_CONTEXT")]
    context: Option<String>,
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
    /// Check server and key, and keep them under a name for later commands
    Login {
        /// The context's name
        name: String,
    },
    /// Forget a context and its key
    Logout {
        /// The context's name
        name: String,
    },
    /// List the contexts, or choose the one for later commands
    Contexts {
        /// The one to use from now on
        name: Option<String>,
    },
    /// Say how the venue is; exit code 1 if it takes no commands
    Status,
    /// Watch rates, latencies, books, disk and archive in the terminal
    #[cfg(feature = "top")]
    Top(top::TopArgs),
    /// Users and their money
    #[command(subcommand)]
    Users(users::UsersVerb),
    /// List what users ask to pay in and to be paid out
    Transfers(transfers::ListArgs),
    /// Confirm or refuse what a user asked for
    #[command(subcommand)]
    Transfer(transfers::TransferVerb),
    /// List the outcomes that holders dispute, and why
    Disputes,
    /// List what takes two operators and waits for the second
    Proposals,
    /// Confirm or reject what another operator proposed
    #[command(subcommand)]
    Proposal(proposals::ProposalVerb),
    /// Users' API keys
    #[command(subcommand)]
    Keys(keys::KeysVerb),
    /// Markets and their life cycle
    #[command(subcommand)]
    Markets(markets::MarketsVerb),
    /// Events, which group markets
    #[command(subcommand)]
    Events(events::EventsVerb),
    /// Categories, which markets and events are tagged with
    #[command(subcommand)]
    Categories(events::CategoriesVerb),
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
    match &args.verb {
        AdminVerb::Contexts { name } => return contexts(server.json, name.as_deref()),
        AdminVerb::Logout { name } => return Contexts::read()?.forget(name),
        _ => {}
    }
    let there = there(server, matches!(args.verb, AdminVerb::Login { .. }))?;
    let target = target(&there)?;
    let key = ApiKey::new(&there.key).map_err(usage)?;
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
            AdminVerb::Login { name } => login(&mut session, name, &there).await,
            AdminVerb::Status => status::run(&mut session, &there.url).await,
            #[cfg(feature = "top")]
            AdminVerb::Top(args) => top::run(&mut session, &there.url, args).await,
            AdminVerb::Users(verb) => users::run(&mut session, verb).await,
            AdminVerb::Transfers(args) => transfers::list(&mut session, args).await,
            AdminVerb::Transfer(verb) => transfers::answer(&mut session, verb).await,
            AdminVerb::Disputes => markets::disputes(&mut session).await,
            AdminVerb::Proposals => proposals::list(&mut session).await,
            AdminVerb::Proposal(verb) => proposals::answer(&mut session, verb).await,
            AdminVerb::Keys(verb) => keys::run(&mut session, verb).await,
            AdminVerb::Markets(verb) => markets::run(&mut session, verb).await,
            AdminVerb::Events(verb) => events::run(&mut session, verb).await,
            AdminVerb::Categories(verb) => events::categories(&mut session, verb).await,
            AdminVerb::Import(args) => import::run(&mut session, args, &lines).await,
            AdminVerb::Acts(args) => acts::run(&mut session, args).await,
            AdminVerb::Venue(verb) => venue::run(&mut session, verb).await,
            AdminVerb::Contexts { .. } | AdminVerb::Logout { .. } => Ok(()),
        }
    })
}

/// The server that the arguments, the environment or a context name, and the key for it. A key is
/// sent only to the server that it was given with, and of two servers none is chosen.
fn there(given: &ServerArgs, is_login: bool) -> Result<Server, AdminError> {
    let ServerArgs { url, key_file, cacert, .. } = given;
    let named = url.is_some() || key_file.is_some();
    if let Some(name) = &given.context {
        if named || cacert.is_some() || is_login {
            return Err(AdminError::Usage(format!(
                "the context `{name}` has its own server and key: leave out --url, --key-file and \
                 --cacert, or --context, and the variables that stand for them"
            )));
        }
        return Contexts::read()?.find(name);
    }
    if !named && !is_login && std::env::var_os(OPERATOR_KEY).is_none() {
        let contexts = Contexts::read()?;
        if let Some(name) = contexts.current() {
            return contexts.find(name);
        }
    }
    let url = given.url.clone().unwrap_or_else(|| URL.to_owned());
    let key = operator_key(given.key_file.as_deref())?;
    Ok(Server { url, cacert: given.cacert.clone(), key })
}

/// Keeps server and key under a name, once the server has taken the key.
async fn login(session: &mut Session, name: &str, there: &Server) -> Result<(), AdminError> {
    let who = session.get("/session").await?;
    Contexts::read()?.keep(name, there)?;
    let [user, scope] = ["user.profileName", "scope"].map(|part| table::cell(&who.json, part));
    let url = &there.url;
    session.show_parts(
        &json!({"context": name, "url": url, "user": user, "scope": scope}),
        &["context", "url", "user", "scope"],
    )
}

/// Lists the contexts, or makes one the current one.
fn contexts(json: bool, name: Option<&str>) -> Result<(), AdminError> {
    let mut contexts = Contexts::read()?;
    if let Some(name) = name {
        contexts.choose(name)?;
    }
    let listed = contexts.list().into_iter();
    let all: Vec<Value> = listed
        .map(|(name, url, current)| json!({"name": name, "url": url, "current": current}))
        .collect();
    let all = json!({"contexts": all});
    let columns = [("NAME", "name"), ("URL", "url"), ("CURRENT", "current")];
    let shown = if json { all.to_string() } else { table::list(&all, "contexts", &columns) };
    Session::print(&shown)
}

/// The server, over TLS if its URL says so.
fn target(there: &Server) -> Result<Target, AdminError> {
    #[cfg(feature = "tls")]
    if there.url.starts_with("https://") {
        let trust = client::tls::Trust::in_roots(there.cacert.as_deref());
        return Target::over_tls(&there.url, trust.map_err(AdminError::Usage)?).map_err(usage);
    }
    Target::parse(&there.url).map_err(usage)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn usage(error: ClientError) -> AdminError {
    AdminError::Usage(error.to_string())
}

/// The operator's key: from the file if one is named, else from the environment.
fn operator_key(file: Option<&Path>) -> Result<String, AdminError> {
    let key = match (file, std::env::var(OPERATOR_KEY)) {
        (Some(path), _) => key_in(path)
            .map_err(|error| AdminError::Usage(format!("{}: {error}", path.display())))?,
        (None, Ok(key)) => key,
        (None, Err(_)) => {
            let why = "no operator key: set OPENOUTCRY_OPERATOR_KEY, name a file by --key-file, or \
                       log in once by `admin login`";
            return Err(AdminError::Usage(why.to_owned()));
        }
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
