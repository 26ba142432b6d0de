//! `admin proposals` and `admin proposal`: what takes two operators, and waits for the second.

use clap::Subcommand;
use serde_json::{Value, json};

use super::session::{AdminError, Session};
use super::table;

/// The columns of a proposal.
pub(crate) const PROPOSAL: [(&str, &str); 10] = [
    ("proposal", "proposal"),
    ("action", "action"),
    ("proposed by", "operatorId"),
    ("market", "marketId"),
    ("outcome", "winningOutcomeId"),
    ("price", "price"),
    ("user", "userId"),
    ("amount", "amount"),
    ("proposed", "proposedAt"),
    ("expires", "expiresAt"),
];
const PROPOSALS: [(&str, &str); 9] = [
    ("PROPOSAL", "proposal"),
    ("ACTION", "action"),
    ("BY", "operatorId"),
    ("MARKET", "marketId"),
    ("OUTCOME", "winningOutcomeId"),
    ("PRICE", "price"),
    ("USER", "userId"),
    ("AMOUNT", "amount"),
    ("EXPIRES", "expiresAt"),
];

/// How a proposal is answered.
#[derive(Debug, Subcommand)]
pub(crate) enum ProposalVerb {
    /// Do what another operator proposed
    Confirm {
        /// Its number in the list
        proposal: u64,
    },
    /// End it; nothing is done
    Reject {
        /// Its number in the list
        proposal: u64,
    },
}

/// Lists what waits, the newest first.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn list(session: &mut Session) -> Result<(), AdminError> {
    let answer = session.get("/admin/proposals").await?;
    session.show(&answer, |json| table::list(json, "proposals", &PROPOSALS))
}

/// Answers a proposal.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn answer(session: &mut Session, verb: &ProposalVerb) -> Result<(), AdminError> {
    let (proposal, how) = match verb {
        ProposalVerb::Confirm { proposal } => (proposal, "confirm"),
        ProposalVerb::Reject { proposal } => (proposal, "reject"),
    };
    if how == "confirm" && session.asks()? {
        let all = session.get("/admin/proposals").await?.json;
        let mut all = all.get("proposals").and_then(Value::as_array).into_iter().flatten();
        // What is not there is refused below, by its name.
        if let Some(found) = all.find(|one| one.get("proposal") == Some(&json!(proposal))) {
            Session::agree(found, &PROPOSAL)?;
        }
    }
    session.post(&format!("/admin/proposals/{proposal}/{how}"), &json!({})).await?;
    Ok(())
}

/// Whether an answer is a proposal.
pub(crate) fn is_proposal(json: &Value) -> bool {
    json.get("proposal").is_some()
}
