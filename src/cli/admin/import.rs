//! `admin import`: creates the categories, events and markets of a catalogue file, line by line.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::catalogue::{self, Kind, Line};
use super::session::{AdminError, Answer, Session};
use super::table;

const DETAILS: &str = r#"
One JSON object a line: a category, an event or a market, with the fields that the interface takes,
and these
  "ref": a name by which later lines refer to it
  "categories": names of categories of earlier lines, instead of "categoryIds"
  "event": the name of an event of an earlier line, instead of "eventId"

  {"category": {"ref": "weather", "name": "Weather", "slug": "weather"}}
  {"event": {"ref": "rain", "categories": ["weather"], "images": [], "titles": {"pt": "Chuva",
    "en": "Rain", "es": "Lluvia"}, "subTitles": {...}, "descriptions": {...}}}
  {"market": {"event": "rain", "categories": ["weather"], "questions": {...}, "descriptions":
    {...}, "outcomes": [{"id": "yes", "text": {...}}, {"id": "no", "text": {...}}],
    "logo": "https://assets.example.org/rain.png", "deadline": "2030-01-01T00:00:00.000Z"}}
(each on one line). Markets are created as drafts: publish them with `markets publish`.

A text may be given in one language alone, or as it is in English: it then stands in the others too,
with `[en]` or the like before it, until it is edited.

The whole file is read, and the server looks at each line, before anything is made: if a line is
refused, nothing is. Afterwards the first refusal ends the import and is reported with its line.
After a crash, or once that line is corrected, run the import again: lines that were imported are
skipped ("unchanged"), because each is sent under an Idempotency-Key made from its content.
The venue remembers these keys for 24 hours; a run after that imports everything again."#;

/// Which catalogue.
#[derive(Debug, Args)]
#[command(after_help = DETAILS)]
pub(crate) struct ImportArgs {
    /// The catalogue
    #[arg(value_name = "CATALOGUE.jsonl")]
    file: PathBuf,
    /// Have the server look at every line, and make nothing
    #[arg(long)]
    dry_run: bool,
}

/// Reads and checks the whole catalogue file.
///
/// # Errors
/// [`AdminError::Usage`], naming the line.
pub(crate) fn read(args: &ImportArgs) -> Result<Vec<Line>, AdminError> {
    let usage = |error: String| AdminError::Usage(format!("{}: {error}", args.file.display()));
    let text = std::fs::read_to_string(&args.file).map_err(|error| usage(error.to_string()))?;
    catalogue::read(&text).map_err(|bad| usage(bad.to_string()))
}

/// Has every line checked, then imports them in order, unless this is a dry run.
///
/// # Errors
/// [`AdminError`], naming the line; the lines before it are imported, none if it is at fault by
/// itself.
pub(crate) async fn run(
    session: &mut Session,
    args: &ImportArgs,
    lines: &[Line],
) -> Result<(), AdminError> {
    for line in lines {
        let key = &line.idempotency_key;
        let checked = session.post_with_key("/admin/catalogue/check", &line.alone(), key).await;
        checked.map_err(|error| located(line, error))?;
    }
    if args.dry_run {
        let sound = lines.len();
        return session.show_parts(&json!({"lines": sound, "imported": 0}), &["lines", "imported"]);
    }
    let bar = progress(lines.len());
    let mut ids = HashMap::new();
    let mut made = 0_usize;
    for line in lines {
        let answer = send(session, line, &ids).await.inspect_err(|_| bar.finish_and_clear())?;
        let Some(id) = answer.json.get("id").and_then(Value::as_str) else {
            return Err(AdminError::Unreadable(format!("line {}: no id", line.number)));
        };
        if let Some(name) = &line.reference {
            ids.insert((line.kind, name.clone()), id.to_owned());
        }
        made = made.saturating_add(usize::from(!answer.replayed));
        let said = if session.json { as_json(line, &answer) } else { as_text(line, &answer) };
        bar.suspend(|| Session::print(&said))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    if !session.json {
        let unchanged = lines.len().saturating_sub(made);
        Session::print(&format!("{made} imported, {unchanged} unchanged"))?;
    }
    Ok(())
}

async fn send(
    session: &mut Session,
    line: &Line,
    ids: &HashMap<(Kind, String), String>,
) -> Result<Answer, AdminError> {
    let location = format!("line {}: ", line.number);
    let body = line.body(ids).map_err(|why| AdminError::Usage(format!("{location}{why}")))?;
    let sent = session.post_with_key(line.kind.path(), &body, &line.idempotency_key).await;
    sent.map_err(|error| located(line, error))
}

/// An error with the number of its line.
fn located(line: &Line, error: AdminError) -> AdminError {
    let location = format!("line {}: ", line.number);
    match error {
        AdminError::Refused { status, problem, .. } => {
            AdminError::Refused { location, status, problem }
        }
        AdminError::Unknown { cause, .. } => AdminError::Local(format!(
            "{location}{cause}; run the import again, it passes over what was imported"
        )),
        other => AdminError::Local(format!("{location}{other}")),
    }
}

fn as_text(line: &Line, answer: &Answer) -> String {
    let done = if answer.replayed { "unchanged" } else { "imported" };
    let (number, kind, id) = (line.number, line.kind.name(), table::cell(&answer.json, "id"));
    let name = line.reference.as_deref().unwrap_or_default();
    let text = format!("{number:>6}  {kind:<8}  {id}  {done:<9}  {name}");
    text.trim_end().to_owned()
}

fn as_json(line: &Line, answer: &Answer) -> String {
    let mut json = json!({
        "line": line.number, "ref": line.reference, "imported": !answer.replayed,
    });
    if let Some(members) = json.as_object_mut() {
        members.insert(line.kind.name().to_owned(), answer.json.clone());
    }
    json.to_string()
}

fn progress(lines: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(lines).unwrap_or(u64::MAX));
    // The template is a constant; if it is invalid, the default bar style remains.
    if let Ok(style) = ProgressStyle::with_template("importing {wide_bar} {pos}/{len} {eta}") {
        bar.set_style(style);
    }
    bar
}
