//! `admin acts`: what operators have asked for, as the journal has it.

use clap::Args;
use serde_json::{Value, json};

use super::session::{AdminError, Session};
use super::table;

const ACTS: [(&str, &str); 8] = [
    ("RECORD", "sequence"),
    ("TIME", "time"),
    ("WHAT", "kind"),
    ("WHOSE ACT", "act.userId"),
    ("KEY", "act.keyId"),
    ("REFERENCE", "act.reference"),
    ("EVIDENCE", "act.evidence.url"),
    ("REASON", "act.reason"),
];

/// Which acts.
#[derive(Debug, Args)]
pub(crate) struct ActsArgs {
    /// The record to begin with
    #[arg(long, value_name = "RECORD", default_value_t = 1)]
    from: u64,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

/// Runs the command: reads the journal page by page.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn run(session: &mut Session, args: &ActsArgs) -> Result<(), AdminError> {
    let (mut from, mut acts) = (args.from, Vec::new());
    loop {
        let page = format!("/admin/journal?acts=true&limit=1000&from={from}");
        let answer = session.get(&page).await?;
        let records = answer.json.get("records").and_then(Value::as_array);
        acts.extend(records.into_iter().flatten().cloned());
        let next = answer.json.get("next").and_then(Value::as_u64);
        match next.filter(|_| acts.len() < args.limit) {
            Some(next) => from = next,
            None => break,
        }
    }
    acts.truncate(args.limit);
    let shown = json!({ "records": acts });
    if session.json {
        return Session::print(&shown.to_string());
    }
    Session::print(&table::list(&shown, "records", &ACTS))
}
