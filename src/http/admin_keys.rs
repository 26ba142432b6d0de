//! The operator creates and revokes users' API keys (semantics 8).

use super::bounds::REVOKED_KEYS_SHOWN;
use super::call::{Call, user_no};
use super::keys::{ApiKey, START_KEY_LABEL};
use super::members::bodies;
use super::parse::{Fault, Name, Read, Written};
use super::problem::{FieldCode, FieldError, NOT_IN_FUTURE, Problem};
use super::reply::Reply;
use super::route::BASE;
use super::wire::account::{KeyJson, KeysJson, NewKeyJson};
use exchange::command::{Command, Role};
use exchange::ids::{KeyId, UserId, UserNo};
use exchange::reject::Reject;
use exchange::units::TimeMs;
use views::ReadModel;
use views::accounts::KeyRow;
use views::responses::StoredResponse;

/// `GET /admin/users/{userId}/keys`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("userId"))?;
    let (sequence, keys) = call.look(|view| {
        let user = user_no(view, id)?;
        let keys = shown_keys(view, user);
        let keys = keys
            .into_iter()
            .map(|row| KeyJson::of(row, call.shared.keyring.last_used(row.no)))
            .collect();
        Ok(KeysJson { keys })
    })?;
    Reply::list(sequence, keys, "keys", |all| &mut all.keys)
}

/// The keys of a user that a list shows, in order of creation: all in force, and the newest revoked
/// ones, at most [`REVOKED_KEYS_SHOWN`].
pub fn shown_keys(view: &ReadModel, user: UserNo) -> Vec<&KeyRow> {
    let revoked = view.accounts.revoked_keys(user).rev().take(REVOKED_KEYS_SHOWN);
    let mut shown: Vec<&KeyRow> = view.accounts.keys_in_force(user).chain(revoked).collect();
    shown.sort_unstable_by_key(|row| row.no);
    shown
}

/// `GET /admin/users/{userId}/keys/{keyId}`
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let (user, key) = call.read(|form| form.path("userId").zip(form.path("keyId")))?;
    let (sequence, key) = call.look(|view| {
        let row = key_of(view, user, key)?;
        Ok(KeyJson::of(row, call.shared.keyring.last_used(row.no)))
    })?;
    Reply::ok(sequence, &key)
}

bodies! {
    /// A new key.
    struct NewKey {
        required { "role" => role: Role, "label" => label: KeyLabel }
        optional { "expiresAt" => ends: TimeMs }
    }
}

/// `POST /admin/users/{userId}/keys`. Only this answer shows the key; the answer to a repetition
/// does not.
pub async fn create(call: Call) -> Result<Reply, Problem> {
    let (id, NewKey { role, label: KeyLabel(label), ends }) =
        call.read(|form| form.path("userId").zip(form.body()))?;
    refuse_past_end(&call, ends)?;
    let (_, user) = call.look(|view| user_no(view, id))?;
    let key = ApiKey::draw().map_err(|_| Problem::internal("the system gave no random bytes"))?;
    let command = Command::AddKey { user, role, label, hash: key.hash(), ends };
    let again = |view: &ReadModel, kept: &StoredResponse| {
        let StoredResponse::Key(key) = kept else { return None };
        view.accounts.key(*key).map(|row| (row.id, KeyJson::given(row)))
    };
    let written = call.submit_and_show(command, again).await?;
    let (key_id, row) = &written.shown;
    let location = format!("{BASE}/admin/users/{id}/keys/{key_id}");
    // For a repetition, the key drawn now is unused: the first one is in force, and only its hash
    // is known.
    let key = (!written.replayed).then(|| key.reveal());
    written.created(location, &NewKeyJson { key, row })
}

/// Refuses a key that would never open anything.
pub fn refuse_past_end(call: &Call, ends: Option<TimeMs>) -> Result<(), Problem> {
    if ends.is_none_or(|ends| call.engine.now() < ends) {
        return Ok(());
    }
    let (field, code) = ("expiresAt".to_owned(), FieldCode::NotInFuture);
    Err(Problem::invalid(vec![FieldError { field, code, detail: NOT_IN_FUTURE.into() }]))
}

/// A key's label. The label of the key set at start is reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLabel(pub String);

impl Written for KeyLabel {
    fn read(text: &str) -> Read<KeyLabel> {
        if text == START_KEY_LABEL {
            return Err(Fault::invalid("is reserved"));
        }
        Name::read(text).map(|Name(label)| KeyLabel(label))
    }
}

/// `DELETE /admin/users/{userId}/keys/{keyId}`
pub async fn revoke(call: Call) -> Result<Reply, Problem> {
    let (user, key) = call.read(|form| form.path("userId").zip(form.path("keyId")))?;
    let (_, (user, key)) =
        call.look(|view| key_of(view, user, key).map(|row| (row.user, row.no)))?;
    let answer = call.submit(Command::RevokeKey { user, key }).await?;
    Ok(Reply::no_content(answer.sequence()))
}

/// A key of this user.
fn key_of(view: &ReadModel, user: UserId, key: KeyId) -> Result<&KeyRow, Problem> {
    let user = user_no(view, user)?;
    let row = view.accounts.key_no(key).and_then(|key| view.accounts.key(key));
    row.filter(|row| row.user == user).ok_or_else(|| Problem::of(Reject::KeyNotFound))
}
