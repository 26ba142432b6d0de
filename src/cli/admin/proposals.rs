//! `admin proposals` and `admin proposal`: what takes two operators, and waits for the second.

use clap::Subcommand;
use serde_json::{Value, json};

use super::markets;
use super::session::{AdminError, Session};
use super::table;

/// The columns of a proposal.
pub(crate) const PROPOSAL: [(&str, &str); 11] = [
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
    ("reason", "reason"),
];
const PROPOSALS: [(&str, &str); 10] = [
    ("PROPOSAL", "proposal"),
    ("ACTION", "action"),
    ("BY", "operatorId"),
    ("MARKET", "marketId"),
    ("OUTCOME", "winningOutcomeId"),
    ("PRICE", "price"),
    ("USER", "userId"),
    ("AMOUNT", "amount"),
    ("EXPIRES", "expiresAt"),
    ("REASON", "reason"),
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
    let mut answer = session.get("/admin/proposals").await?;
    if !session.json {
        let all = answer.json.get_mut("proposals").and_then(Value::as_array_mut);
        for proposal in all.into_iter().flatten() {
            explain(session, proposal).await?;
        }
    }
    session.show(&answer, |json| table::list(json, "proposals", &PROPOSALS))
}

/// Adds why it was proposed, which the journal has, and the names of those it is about.
async fn explain(session: &mut Session, proposal: &mut Value) -> Result<(), AdminError> {
    for member in ["operatorId", "userId"] {
        let Some(id) = proposal.get(member).and_then(Value::as_str) else { continue };
        let user = session.get(&format!("/admin/users/{id}")).await?.json;
        proposal[member] = format!("{} ({id})", table::cell(&user, "profileName")).into();
    }
    let record = table::cell(proposal, "proposal");
    match session.get(&format!("/admin/journal?from={record}&limit=1")).await {
        Ok(record) => {
            let reason = record.json.pointer("/records/0/act/reason").cloned();
            proposal["reason"] = reason.unwrap_or_default();
            Ok(())
        }
        // Cashiers may not read the journal.
        Err(AdminError::Refused { status: 403, .. }) => Ok(()),
        Err(error) => Err(error),
    }
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
        let mut all = session.get("/admin/proposals").await?.json;
        let all = all.get_mut("proposals").and_then(Value::as_array_mut);
        // What is not there is refused below, by its name.
        let mut all = all.into_iter().flatten();
        if let Some(found) = all.find(|one| one.get("proposal") == Some(&json!(proposal))) {
            explain(session, found).await?;
            let effect = effect(session, found).await?;
            Session::agree("", &(table::thing(found, &PROPOSAL) + &effect))?;
        }
    }
    session.post(&format!("/admin/proposals/{proposal}/{how}"), &json!({})).await?;
    let state = if how == "confirm" { "confirmed" } else { "rejected" };
    session.show_parts(&json!({"proposal": proposal, "state": state}), &["proposal", "state"])
}

/// What a proposal would do to a market, to how many people and how much money.
async fn effect(session: &mut Session, proposal: &Value) -> Result<String, AdminError> {
    let Some(market) = proposal.get("marketId").and_then(Value::as_str) else {
        return Ok(String::new());
    };
    let body = ["winningOutcomeId", "price"].map(|name| (name, proposal.get(name)));
    let body = body.into_iter().filter(|(_, value)| value.is_some_and(|value| !value.is_null()));
    let body: Value = body.map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let path = format!("/admin/markets/{market}/{}", table::cell(proposal, "action"));
    let seen = session.preview(&path, &body).await?;
    Ok(table::thing(&seen, &markets::PREVIEW))
}

/// Whether an answer is a proposal.
pub(crate) fn is_proposal(json: &Value) -> bool {
    json.get("proposal").is_some()
}
