//! A venue's first records: its rules, its operator and the operator's key.
//!
//! Every step looks at what is there and does only what is missing, so a start that was cut off is
//! finished by the next one.

use crate::api::keys::{self, ApiKey, START_KEY_LABEL};
use crate::engine::Engine;
use crate::engine::pending::{Answer, Refusal};
use crate::exchange::command::{Command, KeyHash, Role};
use crate::exchange::effect::Effect;
use crate::exchange::ids::{KeyNo, UserNo};
use crate::exchange::rules::Rules;
use crate::exchange::units::Sequence;

use super::Failure;

/// The operator is the first user of every venue.
const OPERATOR: UserNo = UserNo(0);
const OPERATOR_NAME: &str = "operator";
const OPERATOR_PIC: &str = "https://assets.example.org/openoutcry/operator.png";

/// Opens the venue if it is new, and sees to the operator's key: `wanted`, or one already there,
/// or one drawn now. A key that is drawn is announced before it is journaled: should the start be
/// cut off between the two, the next one draws another, and no key is lost.
///
/// # Errors
/// The journal does not take the records, or the wanted key belongs to somebody else.
pub async fn bootstrap(
    engine: &Engine,
    wanted: Option<&str>,
    announce: impl FnOnce(&ApiKey) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if engine.read().watermark() == Sequence::ZERO {
        tell(engine, Command::OpenVenue(Rules::current())).await?;
    }
    if engine.read().accounts.user(OPERATOR).is_none() {
        let (profile_name, profile_pic) = (OPERATOR_NAME.to_owned(), OPERATOR_PIC.to_owned());
        tell(engine, Command::CreateUser { profile_name, profile_pic }).await?;
    }
    match wanted {
        Some(key) => set_key(engine, keys::hash(key.as_bytes())).await,
        None if has_operator_key(engine) => Ok(()),
        None => {
            let key = ApiKey::draw()
                .map_err(|error| Failure::Failed(format!("no operator key: {error}")))?;
            announce(&key)?;
            set_key(engine, key.hash()).await
        }
    }
}

/// Makes this the key that the command line sets; the one set before stops working.
async fn set_key(engine: &Engine, hash: KeyHash) -> Result<(), Failure> {
    let (known, revoked, set_before) = {
        let read_model = engine.read();
        let accounts = &read_model.accounts;
        let known = accounts.key_by_hash(&hash).map(|key| key.role);
        let revoked = accounts.revoked_keys(OPERATOR).any(|key| key.hash == hash);
        let before: Vec<KeyNo> = accounts
            .keys_in_force(OPERATOR)
            .filter(|key| key.label.as_ref() == START_KEY_LABEL)
            .filter(|key| key.hash != hash)
            .map(|key| key.no)
            .collect();
        (known, revoked, before)
    };
    match known {
        Some(Role::Operator) => {}
        Some(Role::Reader | Role::Trader) => {
            return Err(Failure::Usage("the operator key belongs to somebody else".to_owned()));
        }
        None => {
            let (user, role, label) = (OPERATOR, Role::Operator, START_KEY_LABEL.to_owned());
            tell(engine, Command::AddKey { user, role, label, hash }).await?;
            if revoked {
                tracing::warn!(
                    "the operator's key had been revoked or replaced, and is in force again"
                );
            }
        }
    }
    for key in set_before {
        tell(engine, Command::RevokeKey { user: OPERATOR, key }).await?;
        tracing::warn!("the operator's key was replaced; the one before opens nothing any more");
    }
    Ok(())
}

fn has_operator_key(engine: &Engine) -> bool {
    let read_model = engine.read();
    let mut keys = read_model.accounts.keys_in_force(OPERATOR);
    keys.any(|key| key.role == Role::Operator)
}

/// Submits a command that has to succeed.
async fn tell(engine: &Engine, command: Command) -> Result<Answer, Failure> {
    let answer = engine.submit(command).await.map_err(|refusal: Refusal| {
        Failure::Failed(format!("the venue cannot be opened: {refusal}"))
    })?;
    match answer.effects().first() {
        Some(Effect::Refused(reject)) => {
            Err(Failure::Failed(format!("the venue cannot be opened: {reject}")))
        }
        _ => Ok(answer),
    }
}
