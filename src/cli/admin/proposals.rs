//! `admin proposals` and `admin proposal`: what takes two operators, and waits for the second.

use clap::Subcommand;
use serde_json::{Value, json};

use super::markets;
use super::session::{AdminError, Session};
use super::table;

/// The parts of a proposal.
const PROPOSAL: [(&str, &str); 15] = [
    ("proposal", "proposal"),
    ("action", "action"),
    ("proposed by", "operatorId"),
    ("market", "marketId"),
    ("slug", "slug"),
    ("question", "question"),
    ("outcome", "winningOutcomeId"),
    ("price", "price"),
    ("user", "userId"),
    ("amount", "amount"),
    ("proposed", "proposedAt"),
    ("expires", "expiresAt"),
    ("reason", "reason"),
    ("evidence", "evidence"),
    ("note", "note"),
];
const PROPOSALS: [(&str, &str); 13] = [
    ("PROPOSAL", "proposal"),
    ("ACTION", "action"),
    ("BY", "operatorId"),
    ("MARKET", "named"),
    ("OUTCOME", "winningOutcomeId"),
    ("PRICE", "price"),
    ("USER", "userId"),
    ("AMOUNT", "amount"),
    ("EXPIRES", "expiresAt"),
    ("QUESTION", "question"),
    ("REASON", "reason"),
    ("EVIDENCE", "evidence"),
    ("NOTE", "note"),
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

/// Adds why it was proposed, which the journal has, and the names of those and that it is about.
async fn explain(session: &mut Session, proposal: &mut Value) -> Result<(), AdminError> {
    for member in ["operatorId", "userId"] {
        let Some(id) = proposal.get(member).and_then(Value::as_str) else { continue };
        let user = session.get(&format!("/admin/users/{id}")).await?.json;
        proposal[member] = format!("{} ({id})", table::cell(&user, "profileName")).into();
    }
    explain_market(session, proposal).await?;
    let record = table::cell(proposal, "proposal");
    match session.get(&format!("/admin/journal?from={record}&limit=1")).await {
        Ok(record) => {
            let act = record.json.pointer("/records/0/act").unwrap_or(&Value::Null);
            for (member, place) in [("reason", "/reason"), ("evidence", "/evidence/url")] {
                proposal[member] = act.pointer(place).cloned().unwrap_or_default();
            }
            Ok(())
        }
        // Cashiers may not read the journal.
        Err(AdminError::Refused { status: 403, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Adds what the market is called, and whether the proposal is older than what is in dispute.
async fn explain_market(session: &mut Session, proposal: &mut Value) -> Result<(), AdminError> {
    let Some(id) = proposal.get("marketId").and_then(Value::as_str) else { return Ok(()) };
    let market = format!("/markets/{id}");
    let found = session.get(&market).await?.json;
    let disputed = if table::cell(&found, "status") == "DISPUTED" {
        // Nobody trades in it: the newest that happened has the dispute.
        let happened = session.get(&format!("{market}/activity")).await?.json;
        let happened = happened.get("activities").and_then(Value::as_array).cloned();
        happened.into_iter().flatten().find(|one| table::cell(one, "type") == "MARKET_DISPUTED")
    } else {
        None
    };
    let record = |json: &Value, member: &str| json.get(member).and_then(Value::as_u64);
    let proposed = record(proposal, "proposal");
    let later = disputed.filter(|dispute| record(dispute, "sequence") > proposed);
    proposal["note"] = later.map_or(Value::Null, |dispute| {
        format!("made before the dispute of {}", table::cell(&dispute, "createdAt")).into()
    });
    proposal["slug"] = found.get("slug").cloned().unwrap_or_default();
    let slug = proposal.get("slug").filter(|slug| !slug.is_null());
    proposal["named"] = slug.or_else(|| found.get("id")).cloned().unwrap_or_default();
    proposal["question"] = found.pointer("/questions/en").cloned().unwrap_or_default();
    Ok(())
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
            Session::agree("", &(thing(found) + &effect))?;
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

/// What is known of a proposal.
pub(crate) fn thing(proposal: &Value) -> String {
    let known = |(_, member): &(&str, &str)| proposal.get(member).is_some_and(|it| !it.is_null());
    table::thing(proposal, &PROPOSAL.into_iter().filter(known).collect::<Vec<_>>())
}

/// Whether an answer is a proposal.
pub(crate) fn is_proposal(json: &Value) -> bool {
    json.get("proposal").is_some()
}
