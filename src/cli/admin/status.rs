//! `admin status`: how the venue is.

use serde_json::{Value, json};

use super::figures::Figures;
use super::session::{AdminError, Session};

/// What is shown, in this order.
const SHOWN: [&str; 11] = [
    "url",
    "state",
    "detail",
    "warnings",
    "mode",
    "headSequence",
    "users",
    "markets",
    "openOrders",
    "archiveBehindRecords",
    "archiveS3BehindRecords",
];

/// How ready the venue is, by `/readyz`.
pub(crate) struct Readiness {
    /// `ready`, or the code of the refusal, such as `STARTING`.
    pub state: String,
    /// What else is said of it; may be empty.
    pub detail: String,
    /// What fails beside a venue that goes on.
    pub warnings: Vec<String>,
}

impl Readiness {
    /// Asks for it.
    ///
    /// # Errors
    /// No answer.
    pub(crate) async fn ask(session: &mut Session) -> Result<Readiness, AdminError> {
        let reply = session.probe("/readyz").await?;
        let json: Value = serde_json::from_slice(&reply.body)
            .map_err(|error| AdminError::Unreadable(error.to_string()))?;
        let text = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
        let warnings = json.get("warnings").and_then(Value::as_array).into_iter().flatten();
        let warnings = warnings.filter_map(Value::as_str).map(str::to_owned).collect();
        let state = if reply.is_success() { text("status") } else { text("code") };
        let (state, detail) = (state.unwrap_or_default(), text("detail").unwrap_or_default());
        Ok(Readiness { state, detail, warnings })
    }

    /// Whether the venue takes commands.
    pub(crate) fn is_ready(&self) -> bool {
        self.state == "ready"
    }
}

/// Asks for the venue's figures.
///
/// # Errors
/// A refusal, or no answer.
pub(crate) async fn figures(session: &mut Session) -> Result<Figures, AdminError> {
    let page = session.probe("/metrics").await?;
    if !page.is_success() {
        session.answer(&page)?;
    }
    Ok(Figures::read(&String::from_utf8_lossy(&page.body)))
}

/// Shows how the venue is.
///
/// # Errors
/// [`AdminError`]; the venue takes no commands.
pub(crate) async fn run(session: &mut Session, url: &str) -> Result<(), AdminError> {
    let readiness = Readiness::ask(session).await?;
    let Readiness { state, detail, warnings } = &readiness;
    let mut shown = json!({"url": url, "state": state, "warnings": warnings});
    if !detail.is_empty() {
        shown["detail"] = json!(detail);
    }
    // Until the journal is replayed nothing else answers.
    if state != "STARTING" {
        let mode = session.get("/admin/venue/mode").await?;
        let figures = figures(session).await?;
        shown["mode"] = mode.json.get("mode").cloned().unwrap_or_default();
        for (member, name) in [
            ("headSequence", "journal_head_sequence"),
            ("users", "users"),
            ("markets", "markets"),
            ("openOrders", "open_orders"),
            ("archiveBehindRecords", "archive_behind_records"),
            ("archiveS3BehindRecords", "archive_s3_behind_records"),
        ] {
            shown[member] = json!(figures.sum(name, ""));
        }
    }
    session.show_parts(&shown, &SHOWN)?;
    if readiness.is_ready() {
        Ok(())
    } else {
        Err(AdminError::Local(format!("the venue takes no commands: {state}")))
    }
}
