//! Signing in and out: passwords, invitations, sessions. A session is a key in a cookie that ends
//! by itself; the venue knows its hash only.

use super::call::{Call, user_no};
use super::cookies;
use super::form::Form;
use super::keys::{self, ApiKey, KEY_TEXT_BYTES_MAX};
use super::members::bodies;
use super::parse::{Fault, Read, Written};
use super::passwords::{PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN};
use super::problem::{FieldCode, Kind, Problem};
use super::reply::Reply;
use super::site::SignUp;
use super::visit::Visit;
use super::wire::account::BalanceJson;
use super::wire::site::{InvitationJson, InvitedJson, SessionJson, SiteJson};
use engine::Engine;
use exchange::command::{Command, KeyHash, Role};
use exchange::effect::Effect;
use exchange::ids::{Token, UserNo};
use exchange::reject::Reject;
use exchange::units::{Money, TimeMs};
use views::sign_ins::PersonRow;

const SECOND_MS: i64 = 1_000;
const HOUR_MS: i64 = 3_600 * SECOND_MS;
/// How long a session lasts without being used.
const IDLE_MS: i64 = 12 * HOUR_MS;
/// How long it lasts at most.
const SESSION_MS: i64 = 30 * 24 * HOUR_MS;
/// How long an invitation can be used.
pub const INVITATION_MS: i64 = 72 * HOUR_MS;
/// A session is extended when it was for the last time so long ago, so that using it costs few
/// records.
const EXTEND_AFTER_MS: i64 = HOUR_MS;

/// A password to be set.
#[derive(Clone, PartialEq, Eq)]
pub struct NewPassword(String);

/// A password to be checked.
#[derive(Clone, PartialEq, Eq)]
pub struct OldPassword(String);

/// What an invitation's link carries.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket(KeyHash);

impl std::fmt::Debug for NewPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NewPassword(..)")
    }
}

impl std::fmt::Debug for OldPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OldPassword(..)")
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ticket(..)")
    }
}

impl Written for NewPassword {
    fn read(text: &str) -> Read<NewPassword> {
        let long = text.chars().count() >= PASSWORD_CHARS_MIN && text.len() <= PASSWORD_BYTES_MAX;
        let (min, max) = (PASSWORD_CHARS_MIN, PASSWORD_BYTES_MAX);
        let detail = format!("must have at least {min} characters and at most {max} bytes");
        long.then(|| NewPassword(text.to_owned()))
            .ok_or_else(|| Fault::new(FieldCode::OutOfBounds, detail))
    }
}

impl Written for OldPassword {
    fn read(text: &str) -> Read<OldPassword> {
        let short = text.len() <= PASSWORD_BYTES_MAX;
        short
            .then(|| OldPassword(text.to_owned()))
            .ok_or_else(|| Fault::new(FieldCode::OutOfBounds, "is longer than any password"))
    }
}

impl Written for Ticket {
    fn read(text: &str) -> Read<Ticket> {
        let short = text.len() <= KEY_TEXT_BYTES_MAX;
        short.then(|| Ticket(keys::hash(text.as_bytes()))).ok_or_else(|| Fault::invalid("is none"))
    }
}

bodies! {
    /// A name and its password.
    struct Credentials {
        required { "profileName" => name: Token, "password" => password: OldPassword }
    }

    /// A new user's.
    struct Newcomer {
        required { "profileName" => name: Token, "password" => password: NewPassword }
    }

    /// An invitation.
    struct Invited {
        required { "token" => ticket: Ticket }
    }

    /// An invitation that is taken up.
    struct Accepting {
        required {
            "token" => ticket: Ticket,
            "profileName" => name: Token,
            "password" => password: NewPassword,
        }
    }

    /// A password that is changed.
    struct Change {
        required { "current" => current: OldPassword, "password" => password: NewPassword }
    }

    /// What an invited person may do.
    struct Inviting {
        optional { "role" => role: Role }
    }
}

/// A moment after the venue's present one.
fn after(now: TimeMs, ms: i64) -> TimeMs {
    TimeMs::new(now.get().saturating_add(ms)).unwrap_or(TimeMs::MAX)
}

fn refused() -> Problem {
    Problem::new(Kind::CredentialsRefused, "the name or the password is wrong")
}

/// `GET /venue`: what a page must know before anybody signs in.
pub async fn venue(visit: Visit) -> Result<Reply, Problem> {
    let site = SiteJson::of(&visit.shared.site);
    Reply::ok(visit.engine.watermark(), &site)
}

/// `POST /session`: signs in.
pub async fn sign_in(visit: Visit) -> Result<Reply, Problem> {
    let Credentials { name, password: OldPassword(password) } = visit.read()?;
    let known = visit.engine.read().sign_ins.named(name).cloned();
    let (who, secret) = ((name, visit.address), known.as_ref().map(|person| person.password));
    if !visit.shared.passwords.check(who, password, secret).await? {
        return Err(refused());
    }
    let PersonRow { user, set, .. } = known.ok_or_else(refused)?;
    begin(&visit, user, set).await
}

/// Begins a session of somebody whose password was set then.
async fn begin(visit: &Visit, user: UserNo, password_set: TimeMs) -> Result<Reply, Problem> {
    let key = ApiKey::draw().map_err(|_| Problem::internal("the system gave no random bytes"))?;
    let (session, now) = (key.hash(), visit.engine.now());
    let (until, ends) = (after(now, IDLE_MS), after(now, SESSION_MS));
    let answer = visit.submit(Command::SignIn { user, password_set, session, until, ends }).await;
    let answer = answer.map_err(|problem| match problem.kind {
        Kind::Refused(Reject::PasswordChanged) => refused(),
        _ => problem,
    })?;
    let shown = SessionJson::in_force(&visit.engine.read(), session, visit.engine.now());
    let shown = shown.ok_or_else(Problem::lacking_row)?;
    let cookie = Some(visit.cookie(key.reveal(), SESSION_MS / SECOND_MS)?);
    Ok(Reply { cookie, ..Reply::ok(answer.sequence(), &shown)? })
}

/// `POST /signup`: makes an account, where everybody may, with play money if there is any.
pub async fn sign_up(visit: Visit) -> Result<Reply, Problem> {
    let Newcomer { name, password: NewPassword(password) } = visit.read()?;
    if visit.shared.site.sign_up != SignUp::Open {
        let detail = "this venue is by invitation";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    visit.shared.passwords.admit_newcomer(visit.address)?;
    let password = visit.shared.passwords.hashed(password).await?;
    let answer = visit.submit(Command::SignUp { name, password }).await?;
    let user = answer.effects().iter().find_map(|effect| match effect {
        Effect::PasswordSet { user, .. } => Some(*user),
        _ => None,
    });
    let user = user.ok_or_else(Problem::lacking_row)?;
    if let Some(amount) = visit.shared.site.faucet {
        visit.submit(Command::Deposit { user, amount }).await?;
    }
    begin(&visit, user, answer.time()).await
}

/// `POST /invitations/open`: whose invitation this is. Changes nothing.
pub async fn invited(visit: Visit) -> Result<Reply, Problem> {
    let Invited { ticket: Ticket(hash) } = visit.read()?;
    let view = visit.engine.read();
    let found = view.sign_ins.invited(hash, visit.engine.now());
    let (user, invitation) = found.ok_or(Problem::of(Reject::InvitationNotFound))?;
    let row = view.accounts.user(user).ok_or_else(Problem::lacking_row)?;
    Reply::ok(view.watermark(), &InvitedJson::of(row, &invitation))
}

/// `POST /invitations/accept`: sets the password of whoever was invited, and signs in.
pub async fn accept(visit: Visit) -> Result<Reply, Problem> {
    let Accepting { ticket: Ticket(hash), name, password: NewPassword(password) } = visit.read()?;
    let found = visit.engine.read().sign_ins.invited(hash, visit.engine.now());
    let (user, _) = found.ok_or(Problem::of(Reject::InvitationNotFound))?;
    let password = visit.shared.passwords.hashed(password).await?;
    let invitation = Some(hash);
    let answer = visit.submit(Command::SetPassword { user, invitation, name, password }).await?;
    begin(&visit, user, answer.time()).await
}

/// `GET /session`: who is asking.
pub fn who(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let (sequence, shown) = call.look(|view| {
        let session = call.caller.session();
        let shown = match session {
            Some(session) => SessionJson::in_force(view, session, call.engine.now()),
            None => SessionJson::of_key(view, &call.caller),
        };
        shown.ok_or_else(Problem::lacking_row)
    })?;
    Reply::ok(sequence, &shown)
}

/// `DELETE /session`: signs out.
pub async fn sign_out(call: Call) -> Result<Reply, Problem> {
    let session = call.caller.session();
    let none = || Problem::of(Reject::SessionNotFound);
    let session = Some(session.ok_or_else(none)?);
    let answer = call.submit(Command::SignOut { user: call.caller.user, session }).await?;
    let cookie = cookies::set("", 0, &call.shared.site);
    Ok(Reply { cookie, ..Reply::no_content(answer.sequence()) })
}

/// `POST /account/password`: sets another password. All sessions end; this one begins anew.
pub async fn change(call: Call) -> Result<Reply, Problem> {
    let Change { current: OldPassword(current), password: NewPassword(password) } =
        call.read(Form::body)?;
    let user = call.caller.user;
    let known = call.engine.read().sign_ins.person(user).cloned();
    let known = known.ok_or_else(refused)?;
    let passwords = &call.shared.passwords;
    if !passwords.check((known.name, None), current, Some(known.password)).await? {
        return Err(refused());
    }
    let password = passwords.hashed(password).await?;
    let (name, invitation) = (known.name, None);
    let command = Command::SetPassword { user, invitation, name, password };
    let answer = call.submit(command).await?;
    let visit = Visit {
        shared: call.shared.clone(),
        engine: call.engine.clone(),
        address: None,
        body: bytes::Bytes::new(),
    };
    begin(&visit, user, answer.time()).await
}

/// `POST /account/faucet`: play money for whoever has less than the venue gives.
pub async fn faucet(call: Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let none = || Problem::new(Kind::Forbidden, "this venue gives no play money");
    let amount = call.shared.site.faucet.ok_or_else(none)?;
    let user = call.caller.user;
    let _pouring = call.shared.faucet.lock().await;
    // What is at stake counts: who has lost it may come again, who has only spent it may not.
    let (_, held) = call.look(|view| {
        let row = view.accounts.user(user).ok_or_else(Problem::lacking_row)?;
        Ok(view.exposure(user).get().saturating_add(row.balance.available.get().into()))
    })?;
    let short = i128::from(amount.get()).saturating_sub(held);
    let short = i64::try_from(short).unwrap_or_default();
    if short <= 0 {
        let detail = "you have as much play money as there is for one";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    let command = Command::Deposit { user, amount: Money::new(short) };
    let written = call
        .submit_and_look(
            command,
            move |view, _| view.accounts.user(user).map(|row| row.balance),
            move |view, _| view.accounts.user(user).map(|row| row.balance),
        )
        .await?;
    let currency = call.engine.read().accounts.currency().to_owned();
    written.reply(&BalanceJson::of(written.shown, &currency))
}

/// `POST /admin/users/{userId}/invitations`: an invitation, whose text only this answer shows.
pub async fn invite(call: Call) -> Result<Reply, Problem> {
    let (id, Inviting { role }) = call.read(|form| form.path("userId").zip(form.body()))?;
    let (_, user) = call.look(|view| user_no(view, id))?;
    let key = ApiKey::draw().map_err(|_| Problem::internal("the system gave no random bytes"))?;
    let (role, ends) = (role.unwrap_or(Role::Trader), after(call.engine.now(), INVITATION_MS));
    let command = Command::Invite { user, role, invitation: key.hash(), ends };
    let answer = call.submit(command).await?;
    let shown = InvitationJson::of(key.reveal(), ends);
    Ok(Reply { status: hyper::StatusCode::CREATED, ..Reply::ok(answer.sequence(), &shown)? })
}

/// Extends a session that is being used, if that was not done for a while. Nobody waits for it.
pub fn extend(engine: &Engine, user: UserNo, session: KeyHash) {
    let now = engine.now();
    let until = after(now, IDLE_MS);
    let due = engine.read().sign_ins.session(session, now).is_some_and(|(_, row)| {
        until.min(row.ends).get().saturating_sub(row.until.get()) > EXTEND_AFTER_MS
    });
    if due {
        drop(engine.begin(Command::ExtendSession { user, session, until }));
    }
}
