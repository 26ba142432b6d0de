//! The caller's own API keys. A key cannot create, revoke or replace a key with more rights than
//! itself, so a stolen key gives no access that it did not have before.

use super::admin_keys::{KeyLabel, refuse_past_end, shown_keys};
use super::auth::Via;
use super::call::{Call, own_key_no};
use super::entrance;
use super::form::Form;
use super::idempotency;
use super::keys::{ApiKey, START_KEY_LABEL};
use super::members::bodies;
use super::parse::Scope;
use super::problem::{Kind, Problem};
use super::reply::Reply;
use super::route::BASE;
use super::trials;
use super::wire::account::{KeysJson, NewKeyJson, OwnKeyJson};
use exchange::command::{Command, KeyHash, Role};
use exchange::ids::{KeyId, KeyNo, UserNo};
use exchange::reject::Reject;
use exchange::units::TimeMs;
use views::ReadModel;
use views::accounts::KeyRow;
use views::responses::StoredResponse;

/// Most keys in force of one user, all of which its list shows. Operators may create any number of
/// keys for a user.
const KEYS_MAX: usize = 32;
/// Keys that a user may create within 24 hours, rotations included: the venue remembers every key
/// for ever.
const KEYS_MADE_MAX: usize = 100;
/// 24 hours.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// `GET /account/keys`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let (sequence, keys) = call.look(|view| {
        let keys = shown_keys(view, call.caller.user);
        let to_json = |row: &KeyRow| {
            let json = OwnKeyJson::of(row, call.shared.keyring.last_used(row.no));
            json.current(call.caller.via == Via::Key(row.no))
        };
        let mut keys: Vec<OwnKeyJson> = keys.into_iter().map(to_json).collect();
        let (now, own) = (call.engine.now(), call.caller.session());
        let person = view.sign_ins.person(call.caller.user);
        keys.extend(person.into_iter().flat_map(|person| {
            let lasting = person.sessions.iter().filter(|row| now < row.until);
            lasting
                .map(|row| OwnKeyJson::of_session(row, person.role).current(own == Some(row.hash)))
        }));
        Ok(KeysJson { keys })
    })?;
    Reply::list(sequence, keys, "keys", |all| &mut all.keys)
}

/// `GET /account/keys/{keyId}`
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("keyId"))?;
    let (sequence, key) = call.look(|view| {
        let row = any_key(call, view, id)?;
        Ok(OwnKeyJson::of(row, call.shared.keyring.last_used(row.no)))
    })?;
    Reply::ok(sequence, &key)
}

bodies! {
    /// A new key.
    struct NewKey {
        required { "scope" => scope: Scope, "label" => label: KeyLabel }
        optional { "expiresAt" => ends: TimeMs }
    }
}

/// `POST /account/keys`. Only this answer shows the key.
pub async fn create(call: Call) -> Result<Reply, Problem> {
    let NewKey { scope: Scope(role), label: KeyLabel(label), ends } = call.read(Form::body)?;
    refuse_wider_scope(&call, role)?;
    refuse_past_end(&call, ends)?;
    let user = call.caller.user;
    let _creating = call.shared.key_creation.lock().await;
    let (_, refusal) = call.look(|view| {
        let in_force = view.accounts.keys_in_force(user).count();
        Ok(if in_force >= KEYS_MAX {
            Err(too_many(view))
        } else {
            refuse_beyond_daily_limit(&call, view)
        })
    })?;
    // A repetition of an executed request is answered even if the limit is reached by now.
    let asked = Command::AddKey { user, role, label: label.clone(), hash: KeyHash([0; 32]), ends };
    if let Err(refusal) = refusal
        && !trials::executed_before(&call, &asked).await?
    {
        return Err(refusal);
    }
    create_key(&call, role, label, ends).await.map(|created| created.reply)
}

fn too_many(view: &ReadModel) -> Problem {
    let detail = format!("a user may have {KEYS_MAX} keys; take one away first");
    let problem = Problem::new(Kind::KeyLimit, detail);
    Problem { sequence: Some(view.watermark()), ..problem }
}

/// Refuses another key to a user who has created too many within 24 hours.
fn refuse_beyond_daily_limit(call: &Call, view: &ReadModel) -> Result<(), Problem> {
    let now = call.engine.now().max(view.time()).get();
    let yesterday = TimeMs::new(now.saturating_sub(DAY_MS)).unwrap_or_default();
    if view.accounts.keys_given_since(call.caller.user, yesterday) < KEYS_MADE_MAX {
        return Ok(());
    }
    let detail = format!("a user may make {KEYS_MADE_MAX} keys in 24 hours");
    let problem = Problem::new(Kind::KeyLimit, detail);
    Err(Problem { sequence: Some(view.watermark()), ..problem })
}

/// `DELETE /account/keys/{keyId}`
pub async fn revoke(call: Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("keyId"))?;
    let user = call.caller.user;
    let (_, session) = call.look(|view| Ok(session_of(view, user, id)))?;
    if let Some((session, role)) = session {
        refuse_wider_scope(&call, role)?;
        let session = Some(session);
        let answer = call.submit(Command::SignOut { user, session }).await?;
        return Ok(Reply::no_content(answer.sequence()));
    }
    let (_, row) = call.look(|view| own_key(&call, view, id).cloned())?;
    refuse_wider_scope(&call, row.role)?;
    let command = Command::RevokeKey { user: call.caller.user, key: row.no };
    let answer = call.submit(command).await?;
    Ok(Reply::no_content(answer.sequence()))
}

/// A session of the user's, by its id in the list of keys, and what it may do.
fn session_of(view: &ReadModel, user: UserNo, id: KeyId) -> Option<(KeyHash, Role)> {
    let person = view.sign_ins.person(user)?;
    let row = person.sessions.iter().find(|row| row.id == id)?;
    Some((row.hash, person.role))
}

/// `POST /account/keys/{keyId}/rotate`: replaces this key by a new one. The new key is journaled
/// first: if the connection is lost before the answer, the old key still works and the list shows
/// both. If the old key was revoked by another request meanwhile, the new one, which nobody has
/// seen, is revoked too. It takes no `Idempotency-Key`: a repetition could not show the key again.
pub async fn rotate(call: Call) -> Result<Reply, Problem> {
    idempotency::refuse(call.once.as_deref())?;
    let id = call.read(|form| form.path("keyId"))?;
    let (_, old) = call.look(|view| own_key(&call, view, id).cloned())?;
    refuse_wider_scope(&call, old.role)?;
    if &*old.label == START_KEY_LABEL {
        let detail = "this key is the one that the server is started with; change it there";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    let user = call.caller.user;
    let _creating = call.shared.key_creation.lock().await;
    call.look(|view| refuse_beyond_daily_limit(&call, view))?;
    let label = old.label.to_string();
    let CreatedKey { reply, made } = create_key(&call, old.role, label, old.ends).await?;
    match call.submit(Command::RevokeKey { user, key: old.no }).await {
        Ok(revoked) => Ok(Reply { sequence: revoked.sequence(), ..reply }),
        Err(problem) => {
            // If this fails too, the list shows both keys.
            drop(call.submit(Command::RevokeKey { user, key: made }).await);
            Err(problem)
        }
    }
}

/// A created key.
struct CreatedKey {
    reply: Reply,
    made: KeyNo,
}

/// Creates a key. Only this answer shows it; the answer to a repetition does not.
async fn create_key(
    call: &Call,
    role: Role,
    label: String,
    ends: Option<TimeMs>,
) -> Result<CreatedKey, Problem> {
    let key = ApiKey::draw().map_err(|_| Problem::internal("the system gave no random bytes"))?;
    let (user, hash) = (call.caller.user, key.hash());
    let show = move |view: &ReadModel, kept: &StoredResponse| {
        let StoredResponse::Key(key) = kept else { return None };
        view.accounts.key(*key).map(|row| (row.id, row.no, OwnKeyJson::given(row)))
    };
    let command = Command::AddKey { user, role, label, hash, ends };
    let written = call.submit_and_show(command, show).await?;
    let (id, made, row) = &written.shown;
    let location = format!("{BASE}/account/keys/{id}");
    let key = (!written.replayed).then(|| key.reveal());
    let reply = written.created(location, &NewKeyJson { key, row })?;
    Ok(CreatedKey { reply, made: *made })
}

/// Refuses keys of a wider scope, and operators' where operators have an entrance of their own.
fn refuse_wider_scope(call: &Call, role: Role) -> Result<(), Problem> {
    if !Role::Trader.covers(role) && call.origin.elsewhere {
        return Err(entrance::elsewhere());
    }
    if call.caller.role.covers(role) {
        return Ok(());
    }
    let detail = "a key gives and takes no key that may do more than it may itself";
    Err(Problem::new(Kind::Forbidden, detail))
}

/// A key of the caller, revoked ones included.
fn any_key<'a>(call: &Call, view: &'a ReadModel, id: KeyId) -> Result<&'a KeyRow, Problem> {
    let key = own_key_no(view, call.caller.user, id)?;
    view.accounts.key(key).ok_or_else(Problem::lacking_row)
}

/// A key of the caller that is in force.
fn own_key<'a>(call: &Call, view: &'a ReadModel, id: KeyId) -> Result<&'a KeyRow, Problem> {
    let own = Some(any_key(call, view, id)?).filter(|row| row.revoked_at.is_none());
    own.ok_or_else(|| Problem::of(Reject::KeyNotFound))
}
