//! `admin keys`: lists, creates and revokes users' API keys.

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};
use uuid::Uuid;

use super::session::{AdminError, Session};
use super::table;

const NEW_KEY: [(&str, &str); 4] =
    [("key", "key"), ("key id", "keyId"), ("role", "role"), ("label", "label")];
const KEYS: [(&str, &str); 7] = [
    ("KEY ID", "keyId"),
    ("ROLE", "role"),
    ("CREATED", "createdAt"),
    ("LAST USED", "lastUsedAt"),
    ("REVOKED", "revokedAt"),
    ("EXPIRES", "expiresAt"),
    ("LABEL", "label"),
];
const REVOKED: [(&str, &str); 3] =
    [("key id", "keyId"), ("label", "label"), ("revoked", "revokedAt")];

const EXAMPLE: &str = "\
Example:
  openoutcry admin keys create 0190f1c2-... --role trader --label desk";

/// What a key may do.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum KeyRole {
    /// Read
    Reader,
    /// Read and trade
    Trader,
    /// Everything
    Operator,
    /// Read everything, and write nothing
    Auditor,
    /// Read the metrics, and nothing else
    Metrics,
    /// Pay money in and out
    Cashier,
    /// Make, change and publish events and markets
    Catalogue,
}

impl KeyRole {
    const fn name(self) -> &'static str {
        match self {
            KeyRole::Reader => "reader",
            KeyRole::Trader => "trader",
            KeyRole::Operator => "operator",
            KeyRole::Auditor => "auditor",
            KeyRole::Metrics => "metrics",
            KeyRole::Cashier => "cashier",
            KeyRole::Catalogue => "catalogue",
        }
    }
}

/// What can be done with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysVerb {
    /// List a user's keys, revoked ones too, without the secrets
    List {
        /// The user's id or name
        user: String,
    },
    /// Create a key; its secret is shown only once
    #[command(after_help = EXAMPLE)]
    Create {
        /// The user's id or name
        user: String,
        /// What it may do
        #[arg(long, value_enum, default_value = "trader")]
        role: KeyRole,
        /// What it is for, in the operator's words
        #[arg(long, value_name = "TEXT")]
        label: String,
        /// When it ends by itself, as 2030-01-31T18:00:00Z
        #[arg(long, value_name = "TIME")]
        expires_at: Option<String>,
    },
    /// Revoke a key
    Revoke {
        /// The user's id or name
        user: String,
        /// The key's id
        key_id: Uuid,
    },
}

/// Runs the command.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn run(session: &mut Session, verb: &KeysVerb) -> Result<(), AdminError> {
    let (KeysVerb::List { user } | KeysVerb::Create { user, .. } | KeysVerb::Revoke { user, .. }) =
        verb;
    let user = session.user(user).await?;
    match verb {
        KeysVerb::List { .. } => {
            let answer = session.get(&format!("/admin/users/{user}/keys")).await?;
            session.show(&answer, |json| table::list(json, "keys", &KEYS))
        }
        KeysVerb::Create { role, label, expires_at, .. } => {
            let mut body = json!({"role": role.name(), "label": label});
            if let Some(time) = expires_at {
                body["expiresAt"] = json!(time);
            }
            let answer = session.post(&format!("/admin/users/{user}/keys"), &body).await?;
            session.show(&answer, |json| table::thing(json, &NEW_KEY))?;
            if answer.json.get("key").is_some_and(Value::is_string) {
                return Ok(());
            }
            let key_id = table::cell(&answer.json, "keyId");
            Err(AdminError::Local(format!(
                "the key was made, but the answer that showed it was lost and nobody can show it \
                 again; revoke {key_id} and make another"
            )))
        }
        KeysVerb::Revoke { key_id, .. } => {
            let path = format!("/admin/users/{user}/keys/{key_id}");
            let refused = session.delete(&path).await?;
            let shown = session.get(&path).await;
            // A repeated DELETE may report that the key is not found; what matters is that it is
            // revoked.
            let gone = |json: &Value| json.get("revokedAt").is_some_and(Value::is_string);
            match shown {
                Ok(answer) if gone(&answer.json) => {
                    session.show(&answer, |json| table::thing(json, &REVOKED))
                }
                _ => session.answer(&refused).map(drop),
            }
        }
    }
}
