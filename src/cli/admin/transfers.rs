//! `admin transfers` and `admin transfer`: what users ask to pay in and to be paid out.

use clap::{Args, Subcommand};
use serde_json::json;

use super::session::{AdminError, Session};
use super::table;
use super::users::PageArgs;

const TRANSFER: [(&str, &str); 8] = [
    ("transfer", "transfer"),
    ("user", "userId"),
    ("direction", "direction"),
    ("amount", "amount"),
    ("state", "state"),
    ("reference", "reference"),
    ("requested", "requestedAt"),
    ("ended", "endedAt"),
];
const TRANSFERS: [(&str, &str); 7] = [
    ("TRANSFER", "transfer"),
    ("USER", "userId"),
    ("DIRECTION", "direction"),
    ("AMOUNT", "amount"),
    ("STATE", "state"),
    ("REQUESTED", "requestedAt"),
    ("REFERENCE", "reference"),
];

/// Which transfers are listed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Also those that were confirmed, refused or cancelled, the last 20 of each user
    #[arg(long)]
    all: bool,
    /// Which part of the list.
    #[command(flatten)]
    page: PageArgs,
}

/// How a transfer is answered.
#[derive(Debug, Subcommand)]
pub(crate) enum TransferVerb {
    /// Say that the money has come, or has gone out
    Confirm {
        /// Its number in the list
        transfer: u64,
        /// What it is called elsewhere, such as in a bank's statement; each names one only
        #[arg(long, value_name = "ID")]
        reference: Option<String>,
    },
    /// Refuse it; what was set aside is available again
    Refuse {
        /// Its number in the list
        transfer: u64,
    },
}

/// Lists transfers, the newest first.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn list(session: &mut Session, args: &ListArgs) -> Result<(), AdminError> {
    let state = if args.all { "" } else { "&state=requested" };
    let answer = session.get(&format!("/admin/transfers?{}{state}", args.page.query())).await?;
    session.show(&answer, |json| table::list(json, "transfers", &TRANSFERS))?;
    args.page.report_rest(&answer.json, "transfers");
    Ok(())
}

/// Answers a transfer.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn answer(session: &mut Session, verb: &TransferVerb) -> Result<(), AdminError> {
    let (path, body) = match verb {
        TransferVerb::Confirm { transfer, reference } => {
            let said = reference.iter().map(|reference| ("reference".to_owned(), json!(reference)));
            (format!("/admin/transfers/{transfer}/confirm"), said.collect())
        }
        TransferVerb::Refuse { transfer } => {
            (format!("/admin/transfers/{transfer}/refuse"), serde_json::Map::new())
        }
    };
    let answer = session.post(&path, &body.into()).await?;
    session.show(&answer, |json| table::thing(json, &TRANSFER))
}
