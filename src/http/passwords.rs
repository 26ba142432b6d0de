//! Passwords: hashed off the workers, few at a time and behind all other work, and tried a few
//! times only.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

use argon2::{Algorithm, Argon2, Params, Version};
use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use subtle::ConstantTimeEq;
use tokio::sync::{Semaphore, oneshot};

use super::parse::{Fault, Read, Written};
use super::problem::{FieldCode, Kind, Problem};
use super::tries::{Tries, network};
use engine::background;
use exchange::command::{KeyHash, Password, PasswordScheme};
use exchange::ids::Token;

/// Fewest characters of a password; length is all that counts.
const PASSWORD_CHARS_MIN: usize = 10;
/// Most bytes of one: more would only cost time.
const PASSWORD_BYTES_MAX: usize = 1024;
/// People who may wait for their password to be hashed.
const WAITING_MAX: usize = 64;
/// Wrong passwords for one name, and from one address, lately.
const TRIES_MAX: u32 = 10;
/// Names that are remembered with an address from which they were signed in.
const FAMILIAR_MAX: usize = 1 << 16;
/// Accounts made from one address lately.
const SIGN_UPS_MAX: u32 = 30;

/// A password to be set.
#[derive(Clone, PartialEq, Eq)]
pub struct NewPassword(pub String);

/// A password to be checked.
#[derive(Clone, PartialEq, Eq)]
pub struct OldPassword(pub String);

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

/// Whose tries are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Trier {
    Name(Token),
    /// Whoever tries a name where it was signed in before: strangers elsewhere do not count there.
    Familiar(Token, IpAddr),
    Address(IpAddr),
    /// Whoever makes accounts from there.
    Newcomers(IpAddr),
    /// Whoever comes from an identity provider that vouches for nobody.
    Strangers(IpAddr),
}

impl Trier {
    fn address(address: IpAddr) -> Trier {
        Trier::Address(network(address))
    }

    fn newcomers(address: IpAddr) -> Trier {
        Trier::Newcomers(network(address))
    }

    const fn most(self) -> u32 {
        match self {
            Trier::Name(_) | Trier::Familiar(..) | Trier::Address(_) => TRIES_MAX,
            Trier::Newcomers(_) | Trier::Strangers(_) => SIGN_UPS_MAX,
        }
    }
}

/// Hashes and checks passwords.
#[derive(Debug)]
pub struct Passwords {
    /// To the threads that hash, once anybody has asked.
    hashers: OnceLock<Sender<Hashing>>,
    waiting: Arc<Semaphore>,
    tries: Tries<Trier>,
    /// Where names were signed in.
    familiar: Mutex<BTreeSet<(Token, IpAddr)>>,
    /// Held while a name is given.
    pub naming: tokio::sync::Mutex<()>,
}

/// A password that is to be hashed, and whom to tell.
struct Hashing {
    password: String,
    scheme: PasswordScheme,
    salt: KeyHash,
    answer: oneshot::Sender<Option<KeyHash>>,
}

impl Default for Passwords {
    fn default() -> Passwords {
        let waiting = Arc::new(Semaphore::new(WAITING_MAX));
        let (hashers, tries, familiar) = (OnceLock::new(), Tries::default(), Mutex::default());
        Passwords { hashers, waiting, tries, familiar, naming: tokio::sync::Mutex::default() }
    }
}

impl Passwords {
    /// A password as it is journaled, under a new salt.
    ///
    /// # Errors
    /// Too many wait, or the system gives no random bytes.
    pub async fn hashed(&self, password: String) -> Result<Password, Problem> {
        let mut salt = [0; 32];
        let drawn = getrandom::fill(&mut salt);
        drawn.map_err(|_| Problem::internal("the system gave no random bytes"))?;
        let (scheme, salt) = (PasswordScheme::Argon2id19MiB, KeyHash(salt));
        let hashed = self.hash(password, scheme, salt).await?;
        Ok(Password { scheme, salt, hashed })
    }

    /// Whether this is the password; without one to compare with, it is not, after the same time.
    /// The try counts until it is [forgiven](Passwords::forgive): any number of them may be on
    /// their way at once.
    ///
    /// # Errors
    /// Too many wait, or the name or the address has had too many wrong tries.
    pub async fn check(
        &self,
        (name, address): (Token, Option<IpAddr>),
        password: String,
        known: Option<Password>,
    ) -> Result<bool, Problem> {
        let who = (name, address);
        self.admit(&[Some(self.trier(who)), address.map(Trier::address)])?;
        let scheme = known.map_or(PasswordScheme::Argon2id19MiB, |known| known.scheme);
        let salt = known.map_or(KeyHash([0; 32]), |known| known.salt);
        let hashed = self.hash(password, scheme, salt).await;
        // Where nobody looked at the password, it was no wrong one.
        let hashed = hashed.inspect_err(|_| self.forgive(who))?;
        let known = known.filter(|known| known.identity().is_none());
        Ok(known.is_some_and(|known| bool::from(known.hashed.0.ct_eq(&hashed.0))))
    }

    /// Takes back the count of a try that was no wrong one.
    pub fn forgive(&self, who: (Token, Option<IpAddr>)) {
        self.tries.forgive(self.trier(who));
        if let Some(address) = who.1 {
            self.tries.forgive(Trier::address(address));
        }
    }

    /// Remembers where somebody has signed in: tries of the name are counted apart there, so that
    /// whoever guesses elsewhere does not lock its owner out.
    pub fn welcome(&self, (name, address): (Token, Option<IpAddr>)) {
        let Some(address) = address.map(network) else { return };
        let mut all = self.familiar.lock();
        if all.len() >= FAMILIAR_MAX && !all.contains(&(name, address)) {
            // Only whoever has a password fills it: any row goes.
            all.pop_first();
        }
        all.insert((name, address));
    }

    fn trier(&self, (name, address): (Token, Option<IpAddr>)) -> Trier {
        match address.map(network) {
            Some(address) if self.familiar.lock().contains(&(name, address)) => {
                Trier::Familiar(name, address)
            }
            _ => Trier::Name(name),
        }
    }

    /// The key under which something is sealed that only this password opens.
    ///
    /// # Errors
    /// Too many wait.
    pub async fn seal(
        &self,
        password: &str,
        scheme: PasswordScheme,
        salt: KeyHash,
    ) -> Result<KeyHash, Problem> {
        self.hash(password.to_owned(), scheme, salt).await
    }

    /// Counts an account that is to be made.
    ///
    /// # Errors
    /// Too many were made from this address.
    pub fn admit_newcomer(&self, address: Option<IpAddr>) -> Result<(), Problem> {
        self.admit(&[address.map(Trier::newcomers)])
    }

    /// Counts somebody who comes from an identity provider, until it vouches for them.
    ///
    /// # Errors
    /// Too many came from this address for whom it does not.
    pub fn admit_stranger(&self, address: Option<IpAddr>) -> Result<(), Problem> {
        self.admit(&[address.map(network).map(Trier::Strangers)])
    }

    /// Takes back the count of somebody for whom the provider vouches.
    pub fn is_no_stranger(&self, address: Option<IpAddr>) {
        if let Some(address) = address {
            self.tries.forgive(Trier::Strangers(network(address)));
        }
    }

    /// Counts a try of each, unless one of them has had too many.
    fn admit(&self, triers: &[Option<Trier>]) -> Result<(), Problem> {
        let triers: Vec<Trier> = triers.iter().flatten().copied().collect();
        self.tries.admit(&triers, Trier::most).map_err(|(trier, seconds)| {
            let detail = match trier {
                Trier::Name(_) | Trier::Familiar(..) | Trier::Address(_) => {
                    "too many wrong passwords"
                }
                Trier::Newcomers(_) => "too many new accounts from your address",
                Trier::Strangers(_) => "too many from your address whom nobody vouches for",
            };
            Problem { wait: Some(seconds), ..Problem::new(Kind::TooManyTries, detail) }
        })
    }

    async fn hash(
        &self,
        password: String,
        scheme: PasswordScheme,
        salt: KeyHash,
    ) -> Result<KeyHash, Problem> {
        let crowded = || Problem::new(Kind::Overloaded, "too many people are signing in");
        let _waits = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| crowded())?;
        let (answer, hashed) = oneshot::channel();
        let asked = Hashing { password, scheme, salt, answer };
        // Nobody answers if the threads have ended.
        drop(self.hashers.get_or_init(hashers).send(asked));
        let hashed = hashed.await.ok().flatten();
        hashed.ok_or_else(|| Problem::internal("a password could not be hashed"))
    }
}

/// Starts the threads that hash: on half of the cores at most.
fn hashers() -> Sender<Hashing> {
    let (asking, asked) = unbounded();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for number in 0..cores.div_ceil(2) {
        let asked = asked.clone();
        let started = Builder::new().name(format!("hash-{number}")).spawn(move || hash_all(&asked));
        if let Err(error) = started {
            tracing::error!(%error, "no thread to hash passwords");
        }
    }
    asking
}

/// Hashes passwords for as long as anybody may ask.
fn hash_all(asked: &Receiver<Hashing>) {
    // A hash takes a core for some twenty milliseconds.
    background::give_way();
    for Hashing { password, scheme, salt, answer } in asked {
        // Whoever has left needs none.
        if !answer.is_closed() {
            answer.send(hash(password.as_bytes(), scheme, salt)).unwrap_or_default();
        }
    }
}

/// The hash of a password.
fn hash(password: &[u8], scheme: PasswordScheme, salt: KeyHash) -> Option<KeyHash> {
    let params = match scheme {
        // Where there is none, finding that out takes as long.
        PasswordScheme::Argon2id19MiB | PasswordScheme::OpenId => {
            Params::new(19_456, 2, 1, Some(32)).ok()?
        }
    };
    let mut hashed = [0; 32];
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon.hash_password_into(password, &salt.0, &mut hashed).ok()?;
    Some(KeyHash(hashed))
}

#[cfg(test)]
#[path = "../../tests/unit/http/passwords.rs"]
mod tests;
