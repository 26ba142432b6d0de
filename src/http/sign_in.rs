//! Signing in and out: passwords, invitations, sessions. A session is a key in a cookie that ends
//! by itself; the venue knows its hash only.

use super::call::{Call, user_no};
use super::cookies;
use super::form::Form;
use super::idempotency;
use super::keys::{self, ApiKey, KEY_TEXT_BYTES_MAX};
use super::members::bodies;
use super::parse::{Fault, Read, Written};
use super::passwords::{NewPassword, OldPassword};
use super::problem::{Kind, Problem};
use super::reply::Reply;
use super::second_factor::{self, Code, Proof};
use super::site::SignUp;
use super::visit::Visit;
use super::wire::account::BalanceJson;
use super::wire::site::{InvitationJson, InvitedJson, SessionJson, SiteJson};
use engine::Engine;
use engine::pending::Answer;
use exchange::command::{Command, KeyHash, Password, PasswordChange, Role};
use exchange::effect::Effect;
use exchange::ids::{Token, UserNo};
use exchange::reject::Reject;
use exchange::units::{Money, Sequence, TimeMs};

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

/// What an invitation's link carries.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket(pub KeyHash);

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ticket(..)")
    }
}

impl Written for Ticket {
    fn read(text: &str) -> Read<Ticket> {
        let short = text.len() <= KEY_TEXT_BYTES_MAX;
        short.then(|| Ticket(keys::hash(text.as_bytes()))).ok_or_else(|| Fault::invalid("is none"))
    }
}

bodies! {
    /// A name, its password, and a code where one is needed.
    struct Credentials {
        required { "profileName" => name: Token, "password" => password: OldPassword }
        optional { "code" => code: Code }
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

    /// Nothing more than that it is asked for.
    #[derive(Default)]
    struct Asking {}

    /// What an invited person may do.
    struct Inviting {
        optional { "role" => role: Role }
    }
}

/// A moment after the venue's present one.
fn after(now: TimeMs, ms: i64) -> TimeMs {
    TimeMs::new(now.get().saturating_add(ms)).unwrap_or(TimeMs::MAX)
}

/// `GET /venue`: what a page must know before anybody signs in.
pub async fn venue(visit: Visit) -> Result<Reply, Problem> {
    visit.read_nothing()?;
    let site = SiteJson::of(&visit.shared.site);
    Reply::ok(visit.engine.watermark(), &site)
}

/// `POST /session`: signs in.
pub async fn sign_in(visit: Visit) -> Result<Reply, Problem> {
    let Credentials { name, password: OldPassword(password), code } = visit.read()?;
    let (known, factor) = {
        let view = visit.engine.read();
        let known = view.sign_ins.named(name);
        let factor = known.and_then(|person| view.sign_ins.factor(person.user));
        (known.cloned(), factor.cloned())
    };
    let (passwords, who) = (&visit.shared.passwords, (name, visit.address));
    let secret = known.as_ref().map(|person| person.password);
    if !passwords.check(who, password.clone(), secret).await? {
        return Err(Problem::wrong_password());
    }
    let person = known.ok_or_else(Problem::wrong_password)?;
    let (shows, now) = ((&person, factor.as_ref()), visit.engine.now());
    let begun = match second_factor::proof(passwords, shows, &password, code, now).await {
        Ok(proof) => begin(&visit, person.user, person.set, proof).await,
        Err(problem) => Err(problem),
    };
    let refused = Kind::Refused(Reject::SecondFactorRefused);
    if begun.as_ref().err().is_none_or(|problem| problem.kind != refused) {
        passwords.forgive(who);
    }
    if begun.is_ok() {
        passwords.welcome(who);
    }
    begun
}

/// Begins a session of somebody whose password was set then.
pub async fn begin(
    visit: &Visit,
    user: UserNo,
    password_set: TimeMs,
    proof: Proof,
) -> Result<Reply, Problem> {
    let key = drawn()?;
    let (session, now) = (key.hash(), visit.engine.now());
    let (until, ends) = (after(now, IDLE_MS), after(now, SESSION_MS));
    let command = match proof {
        Proof::Password => Command::SignIn { user, password_set, session, until, ends },
        Proof::Code(shown) => {
            Command::SignInByCode { user, password_set, session, until, ends, used: shown }
        }
        Proof::Recovery(recovery_code) => {
            Command::SignInByRecovery { user, password_set, session, until, ends, recovery_code }
        }
    };
    let answer = visit.submit(command).await.map_err(|problem| match problem.kind {
        Kind::Refused(Reject::PasswordChanged) => Problem::wrong_password(),
        _ => problem,
    })?;
    begun(visit, answer.sequence(), &key)
}

/// The answer to whoever has begun a session.
fn begun(visit: &Visit, sequence: Sequence, key: &ApiKey) -> Result<Reply, Problem> {
    let shown = SessionJson::in_force(&visit.engine.read(), key.hash(), visit.engine.now());
    let shown = shown.ok_or_else(Problem::lacking_row)?;
    let cookie = Some(visit.cookie(key.reveal(), SESSION_MS / SECOND_MS)?);
    Ok(Reply { cookie, ..Reply::ok(sequence, &shown)? })
}

fn drawn() -> Result<ApiKey, Problem> {
    ApiKey::draw().map_err(|_| Problem::internal("the system gave no random bytes"))
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
    enrol(&visit, name, password).await
}

/// Carries out a command that gives a name to sign in with, unless people would take it for
/// somebody else's. One at a time: the exchange tells names apart by every letter, so of two such
/// that come at once it would take both.
pub async fn give_name(
    visit: &Visit,
    (name, user): (Token, Option<UserNo>),
    command: Command,
) -> Result<Answer, Problem> {
    let _alone = visit.shared.passwords.naming.lock().await;
    if visit.engine.read().sign_ins.confusing(name, user) {
        return Err(Problem::of(Reject::NameTaken));
    }
    visit.submit(command).await
}

/// Makes an account, with play money if there is any, and begins a session.
pub async fn enrol(visit: &Visit, name: Token, password: Password) -> Result<Reply, Problem> {
    let command = Command::SignUp { name, password };
    let answer = give_name(visit, (name, None), command).await?;
    let user = answer.effects().iter().find_map(|effect| match effect {
        Effect::PasswordSet { user, .. } => Some(*user),
        _ => None,
    });
    let user = user.ok_or_else(Problem::lacking_row)?;
    if let Some(amount) = visit.shared.site.faucet {
        visit.submit(Command::Deposit { user, amount }).await?;
    }
    begin(visit, user, answer.time(), Proof::Password).await
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
    let command = Command::SetPassword { user, invitation, name, password };
    let answer = give_name(&visit, (name, Some(user)), command).await?;
    begin(&visit, user, answer.time(), Proof::Password).await
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
    call.read(|_| Some(()))?;
    let session = call.caller.session();
    let none = || Problem::of(Reject::SessionNotFound);
    let session = Some(session.ok_or_else(none)?);
    let answer = call.submit(Command::SignOut { user: call.caller.user, session }).await?;
    let cookie = cookies::set("", 0, &call.shared.site);
    Ok(Reply { cookie, ..Reply::no_content(answer.sequence()) })
}

/// `POST /account/password`: sets another password. All sessions end; this one begins anew. A
/// second factor goes over to the new password.
pub async fn change(call: Call) -> Result<Reply, Problem> {
    idempotency::refuse(call.once.as_deref())?;
    let Change { current: OldPassword(current), password: NewPassword(next) } =
        call.read(Form::body)?;
    second_factor::by_session(&call)?;
    let user = call.caller.user;
    let (known, factor) = {
        let view = call.engine.read();
        (view.sign_ins.person(user).cloned(), view.sign_ins.factor(user).cloned())
    };
    let known = known.ok_or_else(Problem::wrong_password)?;
    let passwords = &call.shared.passwords;
    if !passwords.check((known.name, None), current.clone(), Some(known.password)).await? {
        return Err(Problem::wrong_password());
    }
    passwords.forgive((known.name, None));
    let password = passwords.hashed(next.clone()).await?;
    let Some(factor) = factor else {
        let (name, invitation) = (known.name, None);
        let command = Command::SetPassword { user, invitation, name, password };
        let answer = call.submit(command).await?;
        return begin(&Visit::of(&call), user, answer.time(), Proof::Password).await;
    };
    let (old, new) = ((current.as_str(), known.password), (next.as_str(), password));
    let (factor_salt, sealed) = second_factor::resealed(passwords, &factor, old, new).await?;
    let (key, now) = (drawn()?, call.engine.now());
    let change = PasswordChange {
        user,
        password_before: known.password.salt,
        factor_before: factor.salt,
        password,
        factor_salt,
        sealed,
        session: key.hash(),
        until: after(now, IDLE_MS),
        ends: after(now, SESSION_MS),
    };
    let answer = call.submit(Command::ChangePassword(Box::new(change))).await?;
    begun(&Visit::of(&call), answer.sequence(), &key)
}

/// `POST /account/faucet`: play money for whoever has less than the venue gives.
pub async fn faucet(call: Call) -> Result<Reply, Problem> {
    let Asking {} = call.read(Form::body_or_default)?;
    let none = || Problem::new(Kind::Forbidden, "this venue gives no play money");
    let amount = call.shared.site.faucet.ok_or_else(none)?;
    let user = call.caller.user;
    let _pouring = call.shared.faucet.lock().await;
    // What is at stake counts, and what is set aside for a withdrawal that can be taken back: who
    // has lost it may come again, who has only spent it may not.
    let (_, held) = call.look(|view| {
        let row = view.accounts.user(user).ok_or_else(Problem::lacking_row)?;
        let costs = view.positions.held(user).map(|row| row.cost);
        let all = costs.chain([row.balance.available, row.balance.reserved]);
        Ok(all.fold(0_i128, |sum, one| sum.saturating_add(one.get().into())))
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
    idempotency::refuse(call.once.as_deref())?;
    let (id, Inviting { role }) = call.read(|form| form.path("userId").zip(form.body()))?;
    let (_, user) = call.look(|view| user_no(view, id))?;
    let key = drawn()?;
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
