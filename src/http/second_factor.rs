//! The second factor of signing in: codes of an authenticator, and recovery codes for who has lost
//! it. The venue keeps the secret sealed under the password, and of recovery codes their hashes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use data_encoding::BASE32_NOPAD;
use parking_lot::Mutex;

use super::call::{Call, user_no};
use super::form::Form;
use super::idempotency;
use super::keys;
use super::members::bodies;
use super::parse::{Fault, Read, Written};
use super::passwords::{OldPassword, Passwords};
use super::problem::{Kind, Problem};
use super::reply::Reply;
use super::site::Site;
use super::totp::{self, Secret};
use super::wire::site::{BegunFactorJson, FactorJson, QrJson, RecoveryCodesJson};
use exchange::command::{Command, KeyHash, Password, RecoveryCodes, SecondFactor};
use exchange::ids::{Token, UserNo};
use exchange::reject::Reject;
use exchange::rules::RECOVERY_CODES_MAX;
use exchange::units::TimeMs;
use views::sign_ins::PersonRow;

/// Digits of a code.
const DIGITS: usize = 6;
/// Most bytes of what may be a code.
const CODE_BYTES_MAX: usize = 64;
/// Random bytes of a recovery code: too many to try them against its hash.
const RECOVERY_BYTES: usize = 10;
/// How long a factor may wait for its first code, and how many may wait.
const WAITS_FOR: Duration = Duration::from_mins(15);
const WAITING_MAX: usize = 4096;

/// What somebody shows beside a password.
#[derive(Clone, PartialEq, Eq)]
pub enum Code {
    /// Of an authenticator.
    Digits(u32),
    /// The hash of a recovery code.
    Recovery(KeyHash),
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code(..)")
    }
}

impl Written for Code {
    fn read(text: &str) -> Read<Code> {
        if text.len() > CODE_BYTES_MAX {
            return Err(Fault::invalid("is no code"));
        }
        let bare: String = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
        if bare.len() == DIGITS
            && bare.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(digits) = bare.parse()
        {
            return Ok(Code::Digits(digits));
        }
        Ok(Code::Recovery(keys::hash(bare.to_ascii_lowercase().as_bytes())))
    }
}

bodies! {
    /// Who wants a second factor.
    struct Beginning {
        required { "current" => current: OldPassword }
    }

    /// A first code.
    struct Confirming {
        required { "code" => code: Code }
    }

    /// Who wants none any more.
    struct Ending {
        required { "current" => current: OldPassword, "code" => code: Code }
    }
}

/// By what somebody signs in, beside the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Nothing: there is no second factor.
    Password,
    /// A code, by when it began to be good.
    Code(TimeMs),
    /// A recovery code, by its hash.
    Recovery(KeyHash),
}

/// What was shown, if it is right; the exchange says whether it is still good.
///
/// # Errors
/// A code is needed and none was shown, or it is wrong, or too many people wait.
pub async fn proof(
    passwords: &Passwords,
    (person, factor): (&PersonRow, Option<&SecondFactor>),
    password: &str,
    code: Option<Code>,
    now: TimeMs,
) -> Result<Proof, Problem> {
    let Some(factor) = factor else { return Ok(Proof::Password) };
    let refused = || Problem::of(Reject::SecondFactorRefused);
    match code.ok_or(Problem::of(Reject::SecondFactorRequired))? {
        Code::Digits(digits) => {
            let seal = passwords.seal(password, person.password.scheme, factor.salt).await?;
            let secret = secret_of(&xor(&factor.sealed, &seal));
            totp::began(&secret, digits, now, factor.used).map(Proof::Code).ok_or_else(refused)
        }
        Code::Recovery(code) => {
            let known = factor.recovery.as_slice().contains(&code);
            known.then_some(Proof::Recovery(code)).ok_or_else(refused)
        }
    }
}

/// Salt and secret of the same factor, sealed under another password.
///
/// # Errors
/// Too many people wait, or the system gives no random bytes.
pub async fn resealed(
    passwords: &Passwords,
    factor: &SecondFactor,
    (before, known): (&str, Password),
    (after, password): (&str, Password),
) -> Result<(KeyHash, KeyHash), Problem> {
    let open = passwords.seal(before, known.scheme, factor.salt).await?;
    let salt = KeyHash(drawn()?);
    let seal = passwords.seal(after, password.scheme, salt).await?;
    Ok((salt, xor(&xor(&factor.sealed, &open), &seal)))
}

/// A factor that waits for its first code.
struct Begun {
    seed: KeyHash,
    salt: KeyHash,
    sealed: KeyHash,
    password_salt: KeyHash,
    since: Instant,
}

/// Factors that wait for their first codes, which nobody is asked for yet. They are not journaled:
/// who is interrupted begins anew.
#[derive(Default)]
pub struct BegunFactors(Mutex<BTreeMap<UserNo, Begun>>);

impl std::fmt::Debug for BegunFactors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BegunFactors(..)")
    }
}

impl BegunFactors {
    fn put(&self, user: UserNo, begun: Begun) -> Result<(), Problem> {
        let mut waiting = self.0.lock();
        waiting.retain(|_, other| other.since.elapsed() < WAITS_FOR);
        if waiting.len() >= WAITING_MAX {
            return Err(Problem::new(Kind::Overloaded, "too many begin a second factor"));
        }
        waiting.insert(user, begun);
        Ok(())
    }

    /// The factor of this user with this first code.
    fn confirmed(
        &self,
        user: UserNo,
        digits: u32,
        now: TimeMs,
        recovery: RecoveryCodes,
    ) -> Result<(KeyHash, SecondFactor), Problem> {
        let mut waiting = self.0.lock();
        let found = waiting.get(&user).filter(|begun| begun.since.elapsed() < WAITS_FOR);
        let found = found.ok_or(Problem::of(Reject::SecondFactorNotFound))?;
        let shown = totp::began(&secret_of(&found.seed), digits, now, TimeMs::default());
        let shown = shown.ok_or(Problem::of(Reject::SecondFactorRefused))?;
        let Begun { salt, sealed, password_salt, .. } = *found;
        waiting.remove(&user);
        Ok((password_salt, SecondFactor { salt, sealed, used: shown, recovery }))
    }
}

/// `GET /account/second-factor`
pub fn one(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let (sequence, shown) =
        call.look(|view| Ok(FactorJson::of(view.sign_ins.factor(call.caller.user))))?;
    Reply::ok(sequence, &shown)
}

/// `POST /account/second-factor`: a secret for an authenticator. Nothing holds before its first
/// code.
pub async fn begin(call: Call) -> Result<Reply, Problem> {
    idempotency::refuse(call.once.as_deref())?;
    let Beginning { current: OldPassword(current) } = call.read(Form::body)?;
    let (user, passwords) = (call.caller.user, &call.shared.passwords);
    by_session(&call)?;
    let (known, holds) = {
        let view = call.engine.read();
        (view.sign_ins.person(user).cloned(), view.sign_ins.factor(user).is_some())
    };
    if holds {
        // Another in its place would take it away without its code.
        let detail = "a second factor holds already: end it first, which takes a code";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    let PersonRow { name, password, .. } = known.ok_or_else(Problem::wrong_password)?;
    if !passwords.check((name, None), current.clone(), Some(password)).await? {
        return Err(Problem::wrong_password());
    }
    passwords.forgive((name, None));
    let (seed, salt) = (KeyHash(drawn()?), KeyHash(drawn()?));
    let seal = passwords.seal(&current, password.scheme, salt).await?;
    let (sealed, since) = (xor(&seed, &seal), Instant::now());
    let begun = Begun { seed, salt, sealed, password_salt: password.salt, since };
    call.shared.begun_factors.put(user, begun)?;
    let secret = BASE32_NOPAD.encode(&secret_of(&seed));
    let uri = uri(&call.shared.site, name, &secret);
    let code = QrJson::of_text(&uri).ok_or_else(|| Problem::internal("no code holds a link"))?;
    Reply::ok(call.engine.watermark(), &BegunFactorJson::of(secret, uri, code))
}

/// `POST /account/second-factor/confirm`: from now on codes are asked for. Only this answer shows
/// the recovery codes.
pub async fn confirm(call: Call) -> Result<Reply, Problem> {
    idempotency::refuse(call.once.as_deref())?;
    let Confirming { code } = call.read(Form::body)?;
    by_session(&call)?;
    let Code::Digits(digits) = code else {
        return Err(Problem::of(Reject::SecondFactorRefused));
    };
    let user = call.caller.user;
    let codes = (0..RECOVERY_CODES_MAX).map(|_| Ok(written(&drawn()?)));
    let codes = codes.collect::<Result<Vec<String>, Problem>>()?;
    let hashes = codes.iter().map(|code| keys::hash(code.replace('-', "").as_bytes()));
    let recovery = RecoveryCodes::new(hashes.collect()).unwrap_or_default();
    let waiting = &call.shared.begun_factors;
    let (password_salt, factor) = waiting.confirmed(user, digits, call.engine.now(), recovery)?;
    let command = Command::SetSecondFactor { user, password_salt, factor };
    let answer = call.submit(command).await?;
    Reply::ok(answer.sequence(), &RecoveryCodesJson::of(codes))
}

/// `POST /account/second-factor/end`: for whoever shows password and code, or a recovery code,
/// once more. A browser that was left open is not enough.
pub async fn end(call: Call) -> Result<Reply, Problem> {
    idempotency::refuse(call.once.as_deref())?;
    let Ending { current: OldPassword(current), code } = call.read(Form::body)?;
    by_session(&call)?;
    let (user, passwords) = (call.caller.user, &call.shared.passwords);
    let (known, factor) = {
        let view = call.engine.read();
        (view.sign_ins.person(user).cloned(), view.sign_ins.factor(user).cloned())
    };
    let person = known.ok_or_else(Problem::wrong_password)?;
    if !passwords.check((person.name, None), current.clone(), Some(person.password)).await? {
        return Err(Problem::wrong_password());
    }
    let (shows, now) = ((&person, factor.as_ref()), call.engine.now());
    proof(passwords, shows, &current, Some(code), now).await?;
    passwords.forgive((person.name, None));
    let answer = call.submit(Command::ClearSecondFactor { user }).await?;
    Ok(Reply::no_content(answer.sequence()))
}

/// `DELETE /admin/users/{userId}/second-factor`: for who has lost it.
pub async fn clear_of(call: Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("userId"))?;
    let (_, user) = call.look(|view| user_no(view, id))?;
    let answer = call.submit(Command::ClearSecondFactor { user }).await?;
    Ok(Reply::no_content(answer.sequence()))
}

/// Refuses a key: a program has no second factor, and one that was stolen must not take it away.
pub(super) fn by_session(call: &Call) -> Result<(), Problem> {
    let detail = "only who has signed in may do this";
    call.caller.session().map(drop).ok_or_else(|| Problem::new(Kind::Forbidden, detail))
}

/// What an authenticator reads from a picture or a link.
fn uri(site: &Site, name: Token, secret: &str) -> String {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let (issuer, name) = (encoded(site.name()), encoded(name.as_str()));
    format!("otpauth://totp/{issuer}:{name}?secret={secret}&issuer={issuer}")
}

/// A recovery code in groups of four letters.
fn written(code: &[u8; RECOVERY_BYTES]) -> String {
    let letters = BASE32_NOPAD.encode(code).to_ascii_lowercase();
    let groups = letters.as_bytes().chunks(4).map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join("-")
}

fn drawn<const N: usize>() -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    let drawn = getrandom::fill(&mut bytes);
    drawn.map_err(|_| Problem::internal("the system gave no random bytes"))?;
    Ok(bytes)
}

fn secret_of(seed: &KeyHash) -> Secret {
    let mut secret = Secret::default();
    secret.iter_mut().zip(seed.0).for_each(|(to, from)| *to = from);
    secret
}

fn xor(one: &KeyHash, other: &KeyHash) -> KeyHash {
    let mut both = *one;
    both.0.iter_mut().zip(other.0).for_each(|(to, from)| *to ^= from);
    both
}
