//! `admin users`: users, their money, their trading mode and their exposure limit.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::account::{self, AccountArgs, CancelArgs};
use super::session::{AdminError, Answer, Session, escaped};
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
    /// Find users by a part of their names
    Find {
        /// The part, whatever its case and accents
        name: String,
        /// Which part of the list.
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a user
    Show(UserArgs),
    /// Show a user's orders, positions, fills or ledger
    #[command(after_help = "Example:\n  openoutcry admin users account ann ledger --limit 20")]
    Account(AccountArgs),
    /// Cancel a user's orders
    Cancel(CancelArgs),
    /// Let a user do nothing but read; orders stay as they are
    Suspend(UserArgs),
    /// Let a user do everything again
    Resume(UserArgs),
    /// Create a user
    Create {
        /// The name that others see
        name: String,
        /// URL of the picture that others see
        #[arg(long, value_name = "URL")]
        picture: String,
    },
    /// Give a user another name; what the user signs in with stays
    Rename {
        /// The user's id or name
        user: String,
        /// The name that others see from now on
        name: String,
    },
    /// Pay money into a user's account
    #[command(after_help = "Example:\n  openoutcry admin users deposit 0190f1c2-... 1000.00")]
    Deposit(TransferArgs),
    /// Pay money out of a user's account, as far as it is available
    Withdraw(TransferArgs),
    /// Set a user's trading mode
    Mode {
        /// The user's id or name
        user: String,
        /// What the user may ask from now on
        mode: ModeName,
    },
    /// Limit a user's exposure: what is reserved, and what the contracts held cost
    #[command(after_help = "Examples:
  openoutcry admin users exposure-limit 0190f1c2-... 500.00
  openoutcry admin users exposure-limit 0190f1c2-... none")]
    ExposureLimit {
        /// The user's id or name
        user: String,
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

/// A user.
#[derive(Debug, Args)]
pub(crate) struct UserArgs {
    /// The user's id or name
    user: String,
}

/// Whose money, and how much.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    /// The user's id or name
    user: String,
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
    let answer = match verb {
        UsersVerb::List(page) => return list(session, "", page).await,
        UsersVerb::Find { name, page } => return list(session, name, page).await,
        UsersVerb::Account(args) => return account::show(session, args).await,
        UsersVerb::Cancel(args) => return account::cancel(session, args).await,
        UsersVerb::Deposit(transfer) => return move_money(session, transfer, "deposits").await,
        UsersVerb::Withdraw(transfer) => return move_money(session, transfer, "withdrawals").await,
        UsersVerb::Show(UserArgs { user }) => {
            let user = session.user(user).await?;
            session.get(&format!("/admin/users/{user}")).await?
        }
        UsersVerb::Create { name, picture } => {
            let body = json!({"profileName": name, "profilePic": picture});
            session.post("/admin/users", &body).await?
        }
        UsersVerb::Rename { user, name } => {
            let path = format!("/admin/users/{}", session.user(user).await?);
            session.patch(&path, &json!({"profileName": name})).await?
        }
        UsersVerb::Mode { user, mode } => set_mode(session, user, (*mode).into()).await?,
        UsersVerb::Suspend(UserArgs { user }) => {
            set_mode(session, user, TradingMode::ReadOnly).await?
        }
        UsersVerb::Resume(UserArgs { user }) => {
            set_mode(session, user, TradingMode::Normal).await?
        }
        UsersVerb::ExposureLimit { user, limit } => {
            let path = format!("/admin/users/{}/exposure-limit", session.user(user).await?);
            match limit.as_str() {
                "none" => {
                    let lifted = session.delete(&path).await?;
                    session.answer(&lifted)?
                }
                limit => session.post(&path, &json!({"limit": limit})).await?,
            }
        }
    };
    session.show(&answer, |json| table::thing(json, &USER))
}

/// Lists users, with a name only those whose names have it.
async fn list(session: &mut Session, name: &str, page: &PageArgs) -> Result<(), AdminError> {
    let name = if name.is_empty() { String::new() } else { format!("&name={}", escaped(name)) };
    let answer = session.get(&format!("/admin/users?{}{name}", page.query())).await?;
    session.show(&answer, |json| table::list(json, "users", &USERS))?;
    page.report_rest(&answer.json, "users");
    Ok(())
}

async fn set_mode(
    session: &mut Session,
    user: &str,
    mode: TradingMode,
) -> Result<Answer, AdminError> {
    let path = format!("/admin/users/{}/mode", session.user(user).await?);
    session.post(&path, &json!({"mode": mode.name()})).await
}

async fn move_money(
    session: &mut Session,
    transfer: &TransferArgs,
    direction: &str,
) -> Result<(), AdminError> {
    let path = format!("/admin/users/{}/{direction}", session.user(&transfer.user).await?);
    let mut body = json!({"amount": transfer.amount});
    if let Some(reference) = &transfer.reference {
        body["reference"] = json!(reference);
    }
    let answer = session.post(&path, &body).await?;
    session.show(&answer, |json| table::thing(json, &BALANCE))
}
