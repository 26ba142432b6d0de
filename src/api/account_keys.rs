//! The caller's own API keys. A key never gives, takes or replaces one that may do more than it may
//! itself, so that a stolen key opens nothing that it did not open before.

use super::admin_keys::{key_label, shown_keys};
use super::call::Call;
use super::form::text;
use super::idempotency;
use super::keys::{ApiKey, START_KEY_LABEL};
use super::parse;
use super::problem::{Kind, Problem};
use super::reply::Reply;
use super::routes::BASE;
use super::trials;
use super::wire::account::{KeysJson, NewKeyJson, OwnKeyJson};
use crate::engine::clock;
use crate::exchange::command::{Command, Role};
use crate::exchange::ids::{KeyId, KeyNo, UserNo};
use crate::exchange::reject::Reject;
use crate::exchange::units::TimeMs;
use crate::projection::ReadModel;
use crate::projection::accounts::KeyRow;
use crate::projection::responses::StoredResponse;

/// Keys of one user in force at once, so that limits per key are limits of somebody. An operator
/// gives as many as an operator wants.
const KEYS_MAX: usize = 32;
/// Keys that a user may make in a day, others' places included: each is remembered for good.
const KEYS_MADE_MAX: usize = 100;
/// That day.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// `GET /account/keys`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    call.form().finish(Some(()))?;
    let (sequence, keys) = call.look(|view| {
        let keys = shown_keys(view, call.caller.user);
        let told = |row: &KeyRow| OwnKeyJson::new(row, call.shared.keyring.last_used(row.no));
        Ok(KeysJson { keys: keys.into_iter().map(told).collect() })
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
        Ok(OwnKeyJson::new(row, call.shared.keyring.last_used(row.no)))
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
    let user = call.caller.user;
    let (_, refusal) = call.look(|view| {
        let in_force = view.accounts.keys_in_force(user).count();
        Ok(if in_force >= KEYS_MAX { Err(too_many(view)) } else { refuse_many_a_day(view, user) })
    })?;
    // What was done is told again whatever has come since.
    if let Err(refusal) = refusal
        && !trials::asked_before(&call).await?
    {
        return Err(refusal);
    }
    let Given { reply, made, in_force } = give(&call, role, label).await?;
    if reply.replayed {
        return Ok(reply);
    }
    if in_force > KEYS_MAX {
        // Several were asked for at one moment. Nobody was told this one.
        call.submit(Command::RevokeKey { user, key: made }).await?;
        return Err(call.look(|view| Ok(too_many(view)))?.1);
    }
    call.shared.keyring.share(&call.caller, made);
    Ok(reply)
}

fn too_many(view: &ReadModel) -> Problem {
    let detail = format!("a user may have {KEYS_MAX} keys; take one away first");
    let problem = Problem::new(Kind::KeyLimit, detail);
    Problem { sequence: Some(view.watermark()), ..problem }
}

/// Refuses another key to whoever has made very many within a day.
fn refuse_many_a_day(view: &ReadModel, user: UserNo) -> Result<(), Problem> {
    let now = clock::now().max(view.time()).get();
    let yesterday = TimeMs::new(now.saturating_sub(DAY_MS)).unwrap_or_default();
    if view.accounts.keys_given_since(user, yesterday) < KEYS_MADE_MAX {
        return Ok(());
    }
    let detail = format!("a user may make {KEYS_MADE_MAX} keys in 24 hours");
    let problem = Problem::new(Kind::KeyLimit, detail);
    Err(Problem { sequence: Some(view.watermark()), ..problem })
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
    idempotency::refuse(call.once.as_deref())?;
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
    call.look(|view| refuse_many_a_day(view, user))?;
    let Given { reply, made, .. } = give(&call, old.role, old.label.to_string()).await?;
    match call.submit(Command::RevokeKey { user, key: old.no }).await {
        Ok(taken) => {
            call.shared.keyring.inherit(old.no, made);
            Ok(Reply { sequence: taken.sequence(), ..reply })
        }
        Err(problem) => {
            // Where that fails too, the list shows both.
            drop(call.submit(Command::RevokeKey { user, key: made }).await);
            Err(problem)
        }
    }
}

/// A key that was given.
struct Given {
    reply: Reply,
    made: KeyNo,
    /// The user's keys in force with it.
    in_force: usize,
}

/// Gives a key; it is in this answer and nowhere else, not in the answer to a repetition either.
async fn give(call: &Call, role: Role, label: String) -> Result<Given, Problem> {
    let key = ApiKey::draw().map_err(|_| Problem::internal("the system gave no random bytes"))?;
    let (user, hash) = (call.caller.user, key.hash());
    let show = move |view: &ReadModel, kept: &StoredResponse| {
        let StoredResponse::Key(key) = kept else { return None };
        let in_force = view.accounts.keys_in_force(user).count();
        view.accounts.key(*key).map(|row| (row.id, (row.no, in_force), OwnKeyJson::given(row)))
    };
    let command = Command::AddKey { user, role, label, hash };
    let written = call.submit_and_show(command, show).await?;
    let (id, (made, in_force), row) = &written.shown;
    let location = format!("{BASE}/account/keys/{id}");
    let key = (!written.replayed).then(|| key.reveal());
    let reply = written.created(location, &NewKeyJson { key, row })?;
    Ok(Given { reply, made: *made, in_force: *in_force })
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
