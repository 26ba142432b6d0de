//! `admin acts`: what operators have asked for, as the journal has it.

use std::collections::HashMap;

use clap::Args;
use serde_json::{Value, json};

use super::session::{AdminError, Session};
use super::{status, table};

const ACTS: [(&str, &str); 11] = [
    ("RECORD", "sequence"),
    ("TIME", "time"),
    ("WHO", "who"),
    ("WHAT", "kind"),
    ("RESULT", "result"),
    ("ABOUT", "about"),
    ("HOW", "how"),
    ("REFERENCE", "act.reference"),
    ("EVIDENCE", "act.evidence.url"),
    ("REASON", "act.reason"),
    ("KEY", "act.keyId"),
];
/// What an act is about, the closest first.
const ABOUT: [&str; 6] = ["marketId", "eventId", "categoryId", "transfer", "proposal", "userId"];
/// What an act does to it.
const HOW: [&str; 6] = ["amount", "winningOutcomeId", "price", "mode", "role", "profileName"];
/// Records asked for at once.
const PAGE: u64 = 1000;

/// Which acts.
#[derive(Debug, Args)]
pub(crate) struct ActsArgs {
    /// The record to begin with; without it the latest acts are shown
    #[arg(long, value_name = "RECORD")]
    from: Option<u64>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

/// Runs the command: reads the journal page by page.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn run(session: &mut Session, args: &ActsArgs) -> Result<(), AdminError> {
    let acts = match args.from {
        Some(from) => onward(session, (from, u64::MAX), args.limit).await?,
        None => latest(session, args.limit).await?,
    };
    if session.json {
        return Session::print(&json!({ "records": acts }).to_string());
    }
    let acts = told(session, acts).await?;
    Session::print_table(&table::list(&json!({ "records": acts }), "records", &ACTS))
}

/// Adds who did it, by name, and what it is about.
async fn told(session: &mut Session, mut acts: Vec<Value>) -> Result<Vec<Value>, AdminError> {
    let mut names = HashMap::new();
    for act in &mut acts {
        let id = table::cell(act, "act.userId");
        if !names.contains_key(&id) {
            let user = session.get(&format!("/admin/users/{id}")).await?;
            names.insert(id.clone(), user.json.get("profileName").cloned());
        }
        let first = |members: [&str; 6]| {
            let mut found = members.iter().filter_map(|member| act.get(*member));
            found.find(|value| !value.is_null()).cloned()
        };
        let (about, how) = (first(ABOUT), first(HOW));
        act["who"] = json!(names.get(&id));
        (act["about"], act["how"]) = (json!(about), json!(how));
    }
    Ok(acts)
}

/// The last acts, the oldest of them first.
async fn latest(session: &mut Session, limit: usize) -> Result<Vec<Value>, AdminError> {
    let mut last = status::figures(session).await?.sum("journal_head_sequence", "").unwrap_or(0);
    let mut acts = Vec::new();
    while last > 0 && acts.len() < limit {
        let first = last.saturating_sub(PAGE).saturating_add(1);
        let mut earlier = onward(session, (first, last), usize::MAX).await?;
        earlier.append(&mut acts);
        (acts, last) = (earlier, first.saturating_sub(1));
    }
    let beyond = acts.len().saturating_sub(limit);
    Ok(acts.split_off(beyond))
}

/// The acts among these records, or the first of them.
async fn onward(
    session: &mut Session,
    (mut first, last): (u64, u64),
    limit: usize,
) -> Result<Vec<Value>, AdminError> {
    let mut acts = Vec::new();
    loop {
        let count = last.saturating_sub(first).saturating_add(1).min(PAGE);
        let page = format!("/admin/journal?acts=true&limit={count}&from={first}");
        let answer = session.get(&page).await?;
        let records = answer.json.get("records").and_then(Value::as_array);
        acts.extend(records.into_iter().flatten().cloned());
        let next = answer.json.get("next").and_then(Value::as_u64);
        match next.filter(|next| *next <= last && acts.len() < limit) {
            Some(next) => first = next,
            None => break,
        }
    }
    acts.truncate(limit);
    Ok(acts)
}
