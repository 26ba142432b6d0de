//! `admin users`: users, their money, their trading mode and their exposure limit.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use uuid::Uuid;

use super::session::{AdminError, Session};
use super::table;
use crate::cli::output;
use exchange::command::TradingMode;

const USER: [(&str, &str); 8] = [
    ("id", "id"),
    ("name", "profileName"),
    ("picture", "profilePic"),
    ("available", "available"),
    ("reserved", "reserved"),
    ("mode", "mode"),
    ("exposure limit", "exposureLimit"),
    ("created", "createdAt"),
];
const USERS: [(&str, &str); 6] = [
    ("ID", "id"),
    ("AVAILABLE", "available"),
    ("RESERVED", "reserved"),
    ("MODE", "mode"),
    ("CREATED", "createdAt"),
    ("NAME", "profileName"),
];
/// The columns of a balance.
pub(crate) const BALANCE: [(&str, &str); 3] =
    [("available", "available"), ("reserved", "reserved"), ("currency", "currency")];

/// What can be done with users.
#[derive(Debug, Subcommand)]
pub(crate) enum UsersVerb {
    /// List users, the newest first
    List(PageArgs),
    /// Create a user
    Create {
        /// The name that others see
        name: String,
        /// URL of the picture that others see
        #[arg(long, value_name = "URL")]
        picture: String,
    },
    /// Pay money into a user's account
    #[command(after_help = "Example:\n  openoutcry admin users deposit 0190f1c2-... 1000.00")]
    Deposit(TransferArgs),
    /// Pay money out of a user's account, as far as it is available
    Withdraw(TransferArgs),
    /// Set a user's trading mode
    Mode {
        /// The user's id
        user: Uuid,
        /// What the user may ask from now on
        mode: ModeName,
    },
    /// Limit a user's exposure: what is reserved, and what the contracts held cost
    #[command(after_help = "Examples:
  openoutcry admin users exposure-limit 0190f1c2-... 500.00
  openoutcry admin users exposure-limit 0190f1c2-... none")]
    ExposureLimit {
        /// The user's id
        user: Uuid,
        /// In the venue's currency, such as 12.50; none lifts the limit
        limit: String,
    },
}

/// A mode's name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ModeName {
    /// Everything
    Normal,
    /// Cancels only: no order is placed or amended
    CancelOnly,
    /// Nothing: orders stay as they are
    ReadOnly,
}

impl From<ModeName> for TradingMode {
    fn from(name: ModeName) -> TradingMode {
        match name {
            ModeName::Normal => TradingMode::Normal,
            ModeName::CancelOnly => TradingMode::CancelOnly,
            ModeName::ReadOnly => TradingMode::ReadOnly,
        }
    }
}

/// Which part of a list.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// How many at most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    limit: u32,
    /// How many to leave out before them
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u32,
}

impl PageArgs {
    /// The query string for this page.
    pub(crate) fn query(&self) -> String {
        format!("limit={}&offset={}", self.limit, self.offset)
    }

    /// Says on stderr that more entries exist; stdout carries only the table.
    pub(crate) fn report_rest(&self, json: &serde_json::Value, name: &str) {
        let shown = json.get(name).and_then(serde_json::Value::as_array).map_or(0, Vec::len);
        let end = u64::from(self.offset).saturating_add(u64::try_from(shown).unwrap_or(u64::MAX));
        let total = json.get("total").and_then(serde_json::Value::as_u64).unwrap_or(end);
        if end < total && shown > 0 {
            output::note(&format!("{end} of {total}; --offset {end} shows more"));
        }
    }
}

/// Whose money, and how much.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    /// The user's id
    user: Uuid,
    /// In the venue's currency, such as 12.50
    amount: String,
    /// What it is called elsewhere, such as in a bank's statement; each names one transfer only
    #[arg(long, value_name = "ID")]
    reference: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn run(session: &mut Session, verb: &UsersVerb) -> Result<(), AdminError> {
    match verb {
        UsersVerb::List(page) => {
            let answer = session.get(&format!("/admin/users?{}", page.query())).await?;
            session.show(&answer, |json| table::list(json, "users", &USERS))?;
            page.report_rest(&answer.json, "users");
            Ok(())
        }
        UsersVerb::Create { name, picture } => {
            let body = json!({"profileName": name, "profilePic": picture});
            let answer = session.post("/admin/users", &body).await?;
            session.show(&answer, |json| table::thing(json, &USER))
        }
        UsersVerb::Deposit(transfer) => move_money(session, transfer, "deposits").await,
        UsersVerb::Withdraw(transfer) => move_money(session, transfer, "withdrawals").await,
        UsersVerb::Mode { user, mode } => {
            let body = json!({"mode": TradingMode::from(*mode).name()});
            let answer = session.post(&format!("/admin/users/{user}/mode"), &body).await?;
            session.show(&answer, |json| table::thing(json, &USER))
        }
        UsersVerb::ExposureLimit { user, limit } => {
            let path = format!("/admin/users/{user}/exposure-limit");
            let answer = match limit.as_str() {
                "none" => {
                    let lifted = session.delete(&path).await?;
                    session.answer(&lifted)?
                }
                limit => session.post(&path, &json!({"limit": limit})).await?,
            };
            session.show(&answer, |json| table::thing(json, &USER))
        }
    }
}

async fn move_money(
    session: &mut Session,
    transfer: &TransferArgs,
    direction: &str,
) -> Result<(), AdminError> {
    let path = format!("/admin/users/{}/{direction}", transfer.user);
    let mut body = json!({"amount": transfer.amount});
    if let Some(reference) = &transfer.reference {
        body["reference"] = json!(reference);
    }
    let answer = session.post(&path, &body).await?;
    session.show(&answer, |json| table::thing(json, &BALANCE))
}
