//! `openoutcry init`: begins a venue in a directory of its own, with a file of its settings, its
//! operator, and the operator's key and invitation, which are printed once.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Command, FromArgMatches};

use super::bootstrap::{bootstrap, invite};
use super::config_file;
use super::serve::{announce_key, open, stop};
use super::settings::ServeArgs;
use super::{Failure, data_folder, logging, operator_key, output, venue_clock};
use engine::meter::Meter;
use journal::directory::LogStore;

const DETAILS: &str = "\
The directory is made if it is missing, readable by its owner alone. It gets the journal, and a file
openoutcry.toml with every setting at its default, which `openoutcry serve --data DIR` reads.

The operator's key is drawn and printed, unless OPENOUTCRY_OPERATOR_KEY or a file named by
OPENOUTCRY_OPERATOR_KEY_FILE gives one. The invitation is a link, good once and for three days, by
which the operator sets a password in the browser.

A directory that holds a venue is refused. A file openoutcry.toml that is there already is kept.";

/// Where.
#[derive(Debug, Args)]
#[command(after_help = DETAILS)]
pub(crate) struct InitArgs {
    /// The data directory
    #[arg(value_name = "DIR")]
    data: PathBuf,
    /// Where the file of settings goes [default: openoutcry.toml in the data directory]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Begins a venue.
///
/// # Errors
/// There is one already, or the directory cannot be made.
pub(crate) fn run(InitArgs { data, config }: &InitArgs) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Failed(error.to_string());
    if LogStore::there(data).is_ok() {
        let why = "holds a venue already; `openoutcry serve` starts it";
        return Err(Failure::Failed(format!("{}: {why}", data.display())));
    }
    // The service could not read what root makes in its directory.
    if let Some(whose) = data_folder::of_another(data) {
        return Err(Failure::Failed(whose));
    }
    let args = settings(data)?;
    let key = operator_key::wanted(args.operator_key_file.as_deref())?;
    venue_clock::possible()?;
    output::start().map_err(failed)?;
    logging::start(args.log_format, "warn")?;
    let meter = Arc::new(Meter::default());
    let running = open(&args, true, meter, "")?;
    let engine = running.engine();
    let begun = bootstrap(&engine, key.as_deref(), announce_key).and_then(|()| invite(&engine));
    drop(engine);
    stop(running)?;
    let token = begun?;
    let file = config.clone().unwrap_or_else(|| data.join(config_file::NAME));
    write(&file, config.is_some().then_some(data))?;
    let base = args.site.public_url().map_or_else(|| format!("http://{}", args.listen), Into::into);
    let start = match config {
        Some(file) => format!("--config {}", file.display()),
        None => format!("--data {}", data.display()),
    };
    let told = [
        format!("invitation: {base}/invitations#{}", token.reveal()),
        format!("settings: {}", file.display()),
        format!("next: openoutcry serve {start}"),
    ];
    // Nothing is lost with a line: `serve` replaces a key, and an operator invites again.
    for line in &told {
        output::say(line);
    }
    Ok(())
}

/// The settings under which the directory begins: those of the environment and the defaults.
fn settings(data: &Path) -> Result<ServeArgs, Failure> {
    let usage = |error: clap::Error| Failure::Usage(error.to_string());
    let serve = ServeArgs::augment_args(Command::new("serve"));
    let given = ["serve".as_ref(), "--init".as_ref(), "--data".as_ref(), data.as_os_str()];
    let matches = serve.try_get_matches_from(given).map_err(usage)?;
    ServeArgs::from_arg_matches(&matches).map_err(usage)
}

/// Writes the file of settings, unless it is there; it names the data directory if that is another.
fn write(path: &Path, data: Option<&PathBuf>) -> Result<(), Failure> {
    let named = |error: std::io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(named(error)),
    };
    let whole = data.map(std::path::absolute).transpose().map_err(named)?;
    let text = config_file::template(whole.as_deref());
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(named)
}
