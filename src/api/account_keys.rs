//! The caller's own API keys. A key never gives, takes or replaces one that may do more than it may
//! itself, so that a stolen key opens nothing that it did not open before.

use super::admin_keys::{key_label, shown_keys};
use super::call::Call;
use super::form::text;
use super::keys::{ApiKey, START_KEY_LABEL};
use super::once;
use super::parse;
use super::problem::{Kind, Problem};
use super::reply::Reply;
use super::routes::BASE;
use super::trials;
use super::wire::account::{KeysJson, NewKeyJson, OwnKeyJson};
use crate::exchange::command::{Command, Role};
use crate::exchange::ids::{KeyId, KeyNo};
use crate::exchange::reject::Reject;
use crate::projection::ReadModel;
use crate::projection::accounts::KeyRow;
use crate::projection::answers::Kept;

/// Keys of one user in force at once, so that limits per key are limits of somebody. Several asked
/// for at the same moment may come to a few more; an operator gives as many as an operator wants.
const KEYS_MAX: usize = 32;

/// `GET /account/keys`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    call.form().finish(Some(()))?;
    let (sequence, keys) = call.look(|view| {
        let keys = shown_keys(view, call.caller.user);
        let told = |row: &KeyRow| OwnKeyJson::new(row, call.behind.keyring.last_used(row.no));
        Ok(KeysJson { keys: keys.map(told).collect() })
    })?;
    Reply::list(sequence, keys, "keys", |all| &mut all.keys)
}

/// `GET /account/keys/{keyId}`
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("keyId", parse::key_id);
    let id = form.finish(id)?;
    let (sequence, key) = call.look(|view| {
        let row = any_key(call, view, id)?;
        Ok(OwnKeyJson::new(row, call.behind.keyring.last_used(row.no)))
    })?;
    Reply::ok(sequence, &key)
}

/// `POST /account/keys`. The key is in this answer and nowhere else.
pub async fn create(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form_with_body();
    let scope = form.field("scope", text(parse::scope));
    let label = form.field("label", text(key_label));
    let (role, label) = form.finish(scope.zip(label))?;
    refuse_beyond(&call, role)?;
    let (sequence, live) = call.look(|view| {
        let keys = view.accounts.keys_of(call.caller.user);
        Ok(keys.filter(|row| row.revoked_at.is_none()).count())
    })?;
    // What was done is told again whatever has come since.
    if live >= KEYS_MAX && !trials::asked_before(&call).await? {
        let detail = format!("a user may have {KEYS_MAX} keys; take one away first");
        let problem = Problem::new(Kind::KeyLimit, detail);
        return Err(Problem { sequence: Some(sequence), ..problem });
    }
    let (reply, made) = give(&call, role, label).await?;
    if !reply.replayed {
        call.behind.keyring.share(&call.caller, made);
    }
    Ok(reply)
}

/// `DELETE /account/keys/{keyId}`
pub async fn revoke(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("keyId", parse::key_id);
    let id = form.finish(id)?;
    let (_, row) = call.look(|view| own_key(&call, view, id).cloned())?;
    refuse_beyond(&call, row.role)?;
    let command = Command::RevokeKey { user: call.caller.user, key: row.no };
    let answer = call.submit(command).await?;
    Ok(Reply::no_content(answer.sequence()))
}

/// `POST /account/keys/{keyId}/rotate`: a new key in the place of this one, which is journaled
/// first: whoever goes away before the answer has the old one still, and the list shows both. If
/// somebody else took the old one away meanwhile, the new one goes too, as nobody was told it. It
/// takes no `Idempotency-Key`: asked twice, it finds no key to replace.
pub async fn rotate(call: Call) -> Result<Reply, Problem> {
    once::refuse(call.once.as_deref())?;
    let mut form = call.form();
    let id = form.path("keyId", parse::key_id);
    let id = form.finish(id)?;
    let (_, old) = call.look(|view| own_key(&call, view, id).cloned())?;
    refuse_beyond(&call, old.role)?;
    if &*old.label == START_KEY_LABEL {
        let detail = "this key is the one that the server is started with; change it there";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    let user = call.caller.user;
    let (reply, made) = give(&call, old.role, old.label.to_string()).await?;
    match call.submit(Command::RevokeKey { user, key: old.no }).await {
        Ok(taken) => {
            call.behind.keyring.inherit(old.no, made);
            Ok(Reply { sequence: taken.sequence(), ..reply })
        }
        Err(problem) => {
            // Where that fails too, the list shows both.
            drop(call.submit(Command::RevokeKey { user, key: made }).await);
            Err(problem)
        }
    }
}

/// Gives a key; it is in this answer and nowhere else, not in the answer to a repetition either.
async fn give(call: &Call, role: Role, label: String) -> Result<(Reply, KeyNo), Problem> {
    let key = ApiKey::draw().map_err(|_| Problem::internal("the system gave no random bytes"))?;
    let (user, hash) = (call.caller.user, key.hash());
    let again = |view: &ReadModel, kept: &Kept| {
        let Kept::Key(key) = kept else { return None };
        view.accounts.key(*key).map(|row| (row.id, row.no, OwnKeyJson::given(row)))
    };
    let command = Command::AddKey { user, role, label, hash };
    let written = call.submit_and_show(command, again).await?;
    let (id, made, row) = &written.shown;
    let location = format!("{BASE}/account/keys/{id}");
    let key = (!written.replayed).then(|| key.reveal());
    Ok((written.created(location, &NewKeyJson { key, row })?, *made))
}

fn refuse_beyond(call: &Call, role: Role) -> Result<(), Problem> {
    if role <= call.caller.role {
        return Ok(());
    }
    let detail = "a key gives and takes no key that may do more than it may itself";
    Err(Problem::new(Kind::Forbidden, detail))
}

/// A key of the caller's, also one that was taken away.
fn any_key<'a>(call: &Call, view: &'a ReadModel, id: KeyId) -> Result<&'a KeyRow, Problem> {
    let row = view.accounts.key_no(id).and_then(|key| view.accounts.key(key));
    row.filter(|row| row.user == call.caller.user).ok_or_else(|| Problem::of(Reject::KeyNotFound))
}

/// A key of the caller's that is in force.
fn own_key<'a>(call: &Call, view: &'a ReadModel, id: KeyId) -> Result<&'a KeyRow, Problem> {
    let own = Some(any_key(call, view, id)?).filter(|row| row.revoked_at.is_none());
    own.ok_or_else(|| Problem::of(Reject::KeyNotFound))
}
