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
/// What an act is about, the closest first; where it is asked for, and what it is called there.
const ABOUT: [(&str, Option<(&str, &str)>); 6] = [
    ("marketId", Some(("/markets", "slug"))),
    ("eventId", Some(("/events", "slug"))),
    ("categoryId", None),
    ("transfer", None),
    ("proposal", None),
    ("userId", Some(USER)),
];
/// Where users are asked for, and what they are called there.
const USER: (&str, &str) = ("/admin/users", "profileName");
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

/// Adds who did it and what it is about, both as people know them.
async fn told(session: &mut Session, mut acts: Vec<Value>) -> Result<Vec<Value>, AdminError> {
    let mut names = HashMap::new();
    for act in &mut acts {
        let of = |member: &str| act.get(member).filter(|value| !value.is_null()).cloned();
        let about = ABOUT.iter().find_map(|(member, known)| Some((of(member)?, *known)));
        let how = HOW.iter().find_map(|member| of(member));
        let user = table::cell(act, "act.userId");
        act["who"] = named(session, &mut names, USER, &user).await?;
        act["about"] = match about {
            Some((Value::String(id), Some(known))) => {
                named(session, &mut names, known, &id).await?
            }
            about => json!(about.map(|(value, _)| value)),
        };
        act["how"] = json!(how);
    }
    Ok(acts)
}

/// What has this id is called; the id, if it has no such name or nobody says. Each is asked for
/// once.
async fn named(
    session: &mut Session,
    names: &mut HashMap<String, Value>,
    (path, member): (&str, &str),
    id: &str,
) -> Result<Value, AdminError> {
    if let Some(name) = names.get(id) {
        return Ok(name.clone());
    }
    let name = match session.get(&format!("{path}/{id}")).await {
        Ok(found) => found.json.get(member).filter(|name| !name.is_null()).cloned(),
        Err(AdminError::Refused { .. }) => None,
        Err(error) => return Err(error),
    };
    let name = name.unwrap_or_else(|| id.into());
    names.insert(id.to_owned(), name.clone());
    Ok(name)
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
