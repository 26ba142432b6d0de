//! `admin markets`: lists markets, and leads them through their lives.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::new_market::{NewMarketArgs, WhatArgs};
use super::session::{AdminError, Session};
use super::table;
use super::users::PageArgs;
use crate::cli::output;

const MARKET: [(&str, &str); 10] = [
    ("id", "id"),
    ("slug", "slug"),
    ("question", "questions.en"),
    ("status", "status"),
    ("deadline", "deadline"),
    ("dispute window, s", "disputeWindowSeconds"),
    ("maker fee", "makerFee"),
    ("taker fee", "takerFee"),
    ("winner", "winningOutcomeId"),
    ("settled at", "settlementPrice"),
];
/// What an act would do to a market.
pub(crate) const PREVIEW: [(&str, &str); 8] = [
    ("status now", "statusFrom"),
    ("status then", "statusTo"),
    ("paid at", "paysAt"),
    ("users paid", "usersPaid"),
    ("paid", "paid"),
    ("users concerned", "impact.users"),
    ("holders", "impact.holders"),
    ("open orders", "impact.openOrders"),
];
const MARKETS: [(&str, &str); 6] = [
    ("ID", "id"),
    ("STATUS", "status"),
    ("YES", "outcomes.0.probability"),
    ("WINNER", "winningOutcomeId"),
    ("DEADLINE", "deadline"),
    ("QUESTION", "questions.en"),
];

/// Which of the two came true.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Winner {
    /// What the question asks
    Yes,
    /// Not that
    No,
}

/// A market.
#[derive(Debug, Args)]
pub(crate) struct MarketArgs {
    /// The market's id or slug
    #[arg(value_parser = super::names::id_or_slug)]
    market: String,
}

/// What shows that an outcome is right; the journal keeps it.
#[derive(Debug, Args)]
pub(crate) struct EvidenceArgs {
    /// Address of what shows that it is right
    #[arg(long, value_name = "URL")]
    evidence: Option<String>,
    /// SHA-256 of what is found there, in hexadecimal digits
    #[arg(long, value_name = "HASH", requires = "evidence")]
    sha256: Option<String>,
}

impl EvidenceArgs {
    /// Adds it to a body, if there is some.
    fn add(&self, mut body: Value) -> Value {
        if let Some(url) = &self.evidence {
            body["evidence"] = with("sha256", self.sha256.as_deref());
            body["evidence"]["url"] = json!(url);
        }
        body
    }
}

/// What can be done with markets.
#[derive(Debug, Subcommand)]
pub(crate) enum MarketsVerb {
    /// List all markets, drafts too, the newest first
    List {
        /// Which part of the list.
        #[command(flatten)]
        page: PageArgs,
        /// Only those in this status: DRAFT, ACTIVE, SUSPENDED, CLOSED, RESOLVED, DISPUTED,
        /// SETTLED or VOIDED
        #[arg(long, ignore_case = true, value_parser = STATUSES, hide_possible_values = true)]
        status: Option<String>,
    },
    /// Show a market
    Show(MarketArgs),
    /// Create a market, as a draft
    #[command(after_help = "Example:
  openoutcry admin markets create --question 'Will it rain in Lisbon at Christmas?' \\
    --logo https://assets.example.org/rain.png --deadline 2030-12-25T00:00:00Z")]
    Create(NewMarketArgs),
    /// Change a market; what is not given stays
    Edit {
        /// Which market.
        #[command(flatten)]
        market: MarketArgs,
        /// What it becomes.
        #[command(flatten)]
        what: WhatArgs,
    },
    /// Publish drafts, so that they can be traded
    #[command(after_help = "Examples:
  openoutcry admin markets publish 0190f1c3-... will-it-rain-in-lisbon
  openoutcry admin markets publish --all-drafts")]
    Publish {
        /// The markets' ids or slugs
        #[arg(value_parser = super::names::id_or_slug, required_unless_present = "all_drafts")]
        markets: Vec<String>,
        /// All drafts that there are
        #[arg(long, conflicts_with = "markets")]
        all_drafts: bool,
    },
    /// Suspend trading; orders stay in the book
    Suspend(MarketArgs),
    /// Resume trading after a suspension, or after the deadline with a later one
    Reopen {
        /// Which market.
        #[command(flatten)]
        market: MarketArgs,
        /// The new deadline, RFC 3339
        #[arg(long, value_name = "TIME")]
        deadline: Option<String>,
    },
    /// End trading before the deadline; orders are cancelled
    Close(MarketArgs),
    /// Announce the outcome; without a dispute window this settles at once and cannot be undone
    #[command(after_help = "Example:\n  openoutcry admin markets resolve 0190f1c3-... yes")]
    Resolve {
        /// Which market.
        #[command(flatten)]
        market: MarketArgs,
        /// What came true
        #[arg(value_enum, ignore_case = true)]
        winner: Winner,
        /// What shows it.
        #[command(flatten)]
        evidence: EvidenceArgs,
    },
    /// Dispute the announced outcome within its window; then resolve the market again or void it
    Dispute(MarketArgs),
    /// End a market without a winner: every yes is paid at a price, every no at what is left of 1
    Void {
        /// Which market.
        #[command(flatten)]
        market: MarketArgs,
        /// What a yes is paid; without it 0.50, but in a mutually exclusive event it is needed
        #[arg(long, value_name = "PRICE")]
        price: Option<String>,
        /// What shows that it is right.
        #[command(flatten)]
        evidence: EvidenceArgs,
    },
}

const DISPUTES: [(&str, &str); 6] = [
    ("MARKET", "marketId"),
    ("USER", "userId"),
    ("BOND", "bond"),
    ("STATE", "state"),
    ("FILED", "filedAt"),
    ("REASON", "reason"),
];

/// The names of all statuses.
const STATUSES: [&str; 8] =
    ["DRAFT", "ACTIVE", "SUSPENDED", "CLOSED", "RESOLVED", "DISPUTED", "SETTLED", "VOIDED"];

/// Runs the command.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn run(session: &mut Session, verb: &MarketsVerb) -> Result<(), AdminError> {
    let (market, step, body) = match verb {
        MarketsVerb::List { page, status } => return list(session, page, status.as_deref()).await,
        MarketsVerb::Show(market) => return show(session, market).await,
        MarketsVerb::Create(new) => return create(session, new).await,
        MarketsVerb::Edit { market, what } => return edit(session, market, what).await,
        MarketsVerb::Publish { markets, .. } => return publish(session, markets).await,
        MarketsVerb::Suspend(market) => (market, "suspend", json!({})),
        MarketsVerb::Close(market) => (market, "close", json!({})),
        MarketsVerb::Dispute(market) => (market, "dispute", json!({})),
        MarketsVerb::Reopen { market, deadline } => {
            (market, "reopen", with("deadline", deadline.as_deref()))
        }
        MarketsVerb::Void { market, price, evidence } => {
            (market, "void", evidence.add(with("price", price.as_deref())))
        }
        MarketsVerb::Resolve { market, winner, evidence } => {
            let winner = match winner {
                Winner::Yes => "yes",
                Winner::No => "no",
            };
            (market, "resolve", evidence.add(with("winningOutcomeId", Some(winner))))
        }
    };
    let path = format!("/admin/markets/{}/{step}", market.market);
    if matches!(step, "suspend" | "resolve" | "void") {
        session.confirm(&path, &body, &PREVIEW).await?;
    }
    let answer = session.post(&path, &body).await?;
    session.show(&answer, |json| table::thing(json, &MARKET))
}

async fn show(session: &mut Session, market: &MarketArgs) -> Result<(), AdminError> {
    let answer = session.get(&format!("/markets/{}", market.market)).await?;
    session.show(&answer, |json| table::thing(json, &MARKET))
}

async fn create(session: &mut Session, new: &NewMarketArgs) -> Result<(), AdminError> {
    let answer = session.post("/admin/markets", &new.body()).await?;
    session.show(&answer, |json| table::thing(json, &MARKET))
}

async fn edit(
    session: &mut Session,
    market: &MarketArgs,
    what: &WhatArgs,
) -> Result<(), AdminError> {
    let before = session.get(&format!("/markets/{}", market.market)).await?;
    let path = format!("/admin/markets/{}", table::cell(&before.json, "id"));
    let answer = session.patch(&path, &what.body(Some(&before.json))).await?;
    session.show(&answer, |json| table::thing(json, &MARKET))
}

/// Publishes these markets, or all drafts. A refusal is said, and the others are published.
async fn publish(session: &mut Session, markets: &[String]) -> Result<(), AdminError> {
    let mut markets = markets.to_vec();
    if markets.is_empty() {
        markets = drafts(session).await?;
    }
    let mut refused = 0_usize;
    for market in &markets {
        match session.post(&format!("/admin/markets/{market}/publish"), &json!({})).await {
            Ok(answer) => session.show(&answer, |json| {
                let [id, status, question] = ["id", "status", "questions.en"];
                [id, status, question].map(|member| table::cell(json, member)).join("  ")
            })?,
            Err(error @ AdminError::Refused { .. }) if markets.len() > 1 => {
                refused = refused.saturating_add(1);
                output::note(&format!("{market}: {error}"));
            }
            Err(error) => return Err(error),
        }
    }
    match refused {
        0 => Ok(()),
        _ => Err(AdminError::Local(format!("{refused} of {} were refused", markets.len()))),
    }
}

/// The ids of all drafts, the oldest first.
async fn drafts(session: &mut Session) -> Result<Vec<String>, AdminError> {
    let mut found = Vec::new();
    loop {
        let page = format!("/admin/markets?status=DRAFT&limit=1000&offset={}", found.len());
        let answer = session.get(&page).await?;
        let markets = answer.json.get("markets").and_then(Value::as_array).into_iter().flatten();
        let before = found.len();
        found.extend(markets.map(|market| table::cell(market, "id")));
        if found.len() == before {
            found.reverse();
            return Ok(found);
        }
    }
}

async fn list(
    session: &mut Session,
    page: &PageArgs,
    status: Option<&str>,
) -> Result<(), AdminError> {
    let mut path = format!("/admin/markets?{}", page.query());
    if let Some(status) = status {
        path.push_str("&status=");
        path.push_str(&status.to_ascii_uppercase());
    }
    let answer = session.get(&path).await?;
    session.show(&answer, |json| table::list(json, "markets", &MARKETS))?;
    page.report_rest(&answer.json, "markets");
    Ok(())
}

/// A JSON body with this one member, or an empty object if it has no value.
fn with(name: &str, value: Option<&str>) -> Value {
    let members = value.map(|value| (name.to_owned(), Value::from(value)));
    Value::Object(members.into_iter().collect())
}

/// Lists the outcomes that holders dispute, the newest first.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn disputes(session: &mut Session) -> Result<(), AdminError> {
    let answer = session.get("/admin/disputes").await?;
    session.show(&answer, |json| table::list(json, "disputes", &DISPUTES))
}
