//! `admin venue`: what holds for everybody.

use clap::{Subcommand, ValueEnum};
use serde_json::json;

use super::session::{AdminError, Session};
use super::table;

/// What anybody may ask of the venue.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Mode {
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
pub enum VenueVerb {
    /// Say what may be asked, or change it: the kill switch
    #[command(after_help = "Examples:\n  openoutcry admin venue mode\n  \
                            openoutcry admin venue mode cancel-only")]
    Mode {
        /// What may be asked from now on
        #[arg(value_enum)]
        mode: Option<Mode>,
    },
}

/// Does it.
///
/// # Errors
/// [`AdminError`].
pub async fn run(session: &mut Session, verb: &VenueVerb) -> Result<(), AdminError> {
    let VenueVerb::Mode { mode } = verb;
    let path = "/admin/venue/mode";
    let answer = match mode {
        None => session.get(path).await?,
        Some(mode) => session.post(path, &json!({"mode": mode.name()})).await?,
    };
    session.show(&answer, |json| table::thing(json, &[("mode", "mode")]))
}
