//! Writes a venue's first records: its rules, its operator and the operator's key.
//!
//! Each step checks the state and does only what is missing, so the next start completes an
//! interrupted one.

use engine::Engine;
use engine::pending::{Answer, Refusal};
use exchange::command::{Command, KeyHash, Role};
use exchange::effect::Effect;
use exchange::ids::{KeyNo, UserNo};
use exchange::rules::Rules;
use exchange::units::{Money, Sequence, TimeMs};
use http::keys::{self, ApiKey, START_KEY_LABEL};
use http::sign_in::INVITATION_MS;

use super::Failure;

/// The operator is the first user of every venue.
const OPERATOR: UserNo = UserNo(0);
const OPERATOR_NAME: &str = "operator";
const OPERATOR_PIC: &str = "https://assets.example.org/openoutcry/operator.png";

/// Opens the venue if it is new, and ensures an operator key: `wanted`, an existing one, or a new
/// random one. A new key is announced before it is journaled: if the start is interrupted in
/// between, or `announce` says that nobody saw it, the next start draws another key, and no unknown
/// key is in force.
///
/// # Errors
/// The journal rejects the records, or the wanted key is in force without the operator's role.
pub(crate) fn bootstrap(
    engine: &Engine,
    wanted: Option<&str>,
    announce: impl FnOnce(&ApiKey) -> bool,
) -> Result<(), Failure> {
    if engine.read().watermark() == Sequence::ZERO {
        submit_or_fail(engine, Command::OpenVenue(Rules::current()))?;
    }
    if engine.read().accounts.user(OPERATOR).is_none() {
        let (profile_name, profile_pic) = (OPERATOR_NAME.to_owned(), OPERATOR_PIC.to_owned());
        submit_or_fail(engine, Command::CreateUser { profile_name, profile_pic })?;
    }
    match wanted {
        Some(key) => set_key(engine, keys::hash(key.as_bytes())),
        None if has_operator_key(engine) => Ok(()),
        None => {
            let key = ApiKey::draw()
                .map_err(|error| Failure::Failed(format!("no operator key: {error}")))?;
            if announce(&key) {
                return set_key(engine, key.hash());
            }
            tracing::warn!(
                "the operator's key that was drawn could not be printed, and is not in force: \
                 restart, with a key in OPENOUTCRY_OPERATOR_KEY or a stdout that takes a line"
            );
            Ok(())
        }
    }
}

/// Invites the operator to set a password for the browser; returns what the link carries.
///
/// # Errors
/// The system gives no random bytes, or the journal rejects the record.
pub(crate) fn invite(engine: &Engine) -> Result<ApiKey, Failure> {
    let token =
        ApiKey::draw().map_err(|error| Failure::Failed(format!("no invitation: {error}")))?;
    let ends = engine.now().get().saturating_add(INVITATION_MS);
    let (user, role, invitation) = (OPERATOR, Role::Operator, token.hash());
    let ends = TimeMs::new(ends).unwrap_or(TimeMs::MAX);
    submit_or_fail(engine, Command::Invite { user, role, invitation, ends })?;
    Ok(token)
}

/// Puts the configured operator key in force and revokes the one configured before.
fn set_key(engine: &Engine, hash: KeyHash) -> Result<(), Failure> {
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
        Some(_) => {
            return Err(Failure::Usage(
                "the key in OPENOUTCRY_OPERATOR_KEY is another user's, and no operator's; choose \
                 another, or unset the variable"
                    .to_owned(),
            ));
        }
        None => {
            let (user, role, label) = (OPERATOR, Role::Operator, START_KEY_LABEL.to_owned());
            submit_or_fail(engine, Command::AddKey { user, role, label, hash, ends: None })?;
            if revoked {
                tracing::warn!(
                    "the operator's key had been revoked or replaced, and is in force again"
                );
            }
        }
    }
    for key in set_before {
        submit_or_fail(engine, Command::RevokeKey { user: OPERATOR, key })?;
        tracing::warn!("the operator's key was replaced; the one before opens nothing any more");
    }
    Ok(())
}

/// Has the venue follow the setting of the rule of two persons, and says if nobody could confirm.
///
/// # Errors
/// The journal rejects the record.
pub(crate) fn two_persons(engine: &Engine, above: Option<Money>) -> Result<(), Failure> {
    if engine.read().proposals.above() != above {
        submit_or_fail(engine, Command::SetTwoPersons { above })?;
        let above = above.map_or_else(|| "off".to_owned(), |above| above.to_string());
        tracing::warn!(above, "the rule of two persons is set");
    }
    if above.is_some() && operators_count(engine) < 2 {
        tracing::warn!(
            "two persons are asked for and only one is an operator: nothing they propose \
                        can be confirmed until there is another"
        );
    }
    Ok(())
}

/// Users who are operators, by a key or as people who sign in.
fn operators_count(engine: &Engine) -> usize {
    let model = engine.read();
    let is_operator = |user: UserNo| {
        let mut keys = model.accounts.keys_in_force(user);
        let person = model.sign_ins.person(user);
        keys.any(|key| key.role == Role::Operator)
            || person.is_some_and(|person| person.role == Role::Operator)
    };
    model.accounts.users_newest_first().filter(|row| is_operator(row.no)).take(2).count()
}

fn has_operator_key(engine: &Engine) -> bool {
    let read_model = engine.read();
    let mut keys = read_model.accounts.keys_in_force(OPERATOR);
    keys.any(|key| key.role == Role::Operator)
}

/// Submits a command; a refusal is a failure.
fn submit_or_fail(engine: &Engine, command: Command) -> Result<Answer, Failure> {
    let answer = engine.ask(command).map_err(|refusal: Refusal| {
        Failure::Failed(format!("the venue cannot be opened: {refusal}"))
    })?;
    match answer.effects().first() {
        Some(Effect::Refused(reject)) => {
            Err(Failure::Failed(format!("the venue cannot be opened: {reject}")))
        }
        _ => Ok(answer),
    }
}
