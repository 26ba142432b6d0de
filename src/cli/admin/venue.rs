//! `admin venue`: the venue's mode and its fees.

use clap::{Subcommand, ValueEnum};
use serde_json::json;

use super::session::{AdminError, Session};
use super::table;
use super::users::BALANCE;

/// The columns that are shown.
const MODE: [(&str, &str); 1] = [("mode", "mode")];
const FEES: [(&str, &str); 4] = [
    ("collected", "collected"),
    ("taken", "taken"),
    ("balance", "balance"),
    ("currency", "currency"),
];

/// What anybody may ask of the venue.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Mode {
    /// Everything
    Normal,
    /// Take orders back, but place and change none
    CancelOnly,
    /// Read
    ReadOnly,
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Mode::Normal => "normal",
            Mode::CancelOnly => "cancel-only",
            Mode::ReadOnly => "read-only",
        }
    }
}

/// What can be done with the venue.
#[derive(Debug, Subcommand)]
pub(crate) enum VenueVerb {
    /// Show or set the venue's trading mode: the kill switch
    #[command(after_help = "Examples:\n  openoutcry admin venue mode\n  \
                            openoutcry admin venue mode cancel-only")]
    Mode {
        /// What may be asked from now on
        #[arg(value_enum)]
        mode: Option<Mode>,
    },
    /// Show the fees earned, and how much of them was taken
    Fees,
    /// Move earned fees to your own account
    #[command(after_help = "Examples:\n  openoutcry admin venue fees\n  \
                            openoutcry admin venue take-fees 12.50")]
    TakeFees {
        /// How much, such as 12.50
        #[arg(value_name = "AMOUNT")]
        amount: String,
    },
}

/// Runs the command.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn run(session: &mut Session, verb: &VenueVerb) -> Result<(), AdminError> {
    let path = "/admin/venue/mode";
    let (answer, shown) = match verb {
        VenueVerb::Mode { mode: None } => (session.get(path).await?, &MODE[..]),
        VenueVerb::Mode { mode: Some(mode) } => {
            (session.post(path, &json!({"mode": mode.name()})).await?, &MODE[..])
        }
        VenueVerb::Fees => (session.get("/admin/fees").await?, &FEES[..]),
        VenueVerb::TakeFees { amount } => {
            let asked = json!({"amount": amount});
            let path = "/admin/fees/withdrawals";
            session.confirm(path, &asked, &BALANCE).await?;
            (session.post(path, &asked).await?, &BALANCE[..])
        }
    };
    session.show(&answer, |json| table::thing(json, shown))
}
