//! How people sign in: who is invited, who has which name and password, and who is signed in where.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::fault::Fault;
use super::fault::View;
use super::saved::{Sizes, hold, saved};
use exchange::command::{KeyHash, Password, Role, SecondFactor};
use exchange::effect::{Applied, Effect};
use exchange::ids::{KeyId, Token, UserNo};
use exchange::image::coding::BadImage;
use exchange::sign_in::Invitation;
use exchange::units::TimeMs;

/// A person who is signed in: a key that ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRow {
    /// Public id, in the same list as those of keys.
    pub id: KeyId,
    /// Hash of what the browser carries.
    pub hash: KeyHash,
    /// When it began.
    pub created_at: TimeMs,
    /// First moment at which it is over unless it is used.
    pub until: TimeMs,
    /// First moment at which it is over in any case.
    pub ends: TimeMs,
}

saved!(SessionRow { id, hash, created_at, until, ends });

/// What a user signs in with.
#[derive(Debug, Clone)]
pub struct PersonRow {
    /// User.
    pub user: UserNo,
    /// The name to sign in with.
    pub name: Token,
    /// What the person may do.
    pub role: Role,
    /// The password.
    pub password: Password,
    /// When it was set.
    pub set: TimeMs,
    /// Where the person is signed in, in the order of signing in.
    pub sessions: Vec<SessionRow>,
}

saved!(PersonRow { user, name, role, password, set, sessions });

/// Invitations, people and sessions.
#[derive(Debug, Default)]
pub struct SignIns {
    invitations: BTreeMap<UserNo, Invitation>,
    people: BTreeMap<UserNo, PersonRow>,
    /// By hash. Nothing keeps operators from inviting two users by the same.
    invited: BTreeSet<(KeyHash, UserNo)>,
    /// By the name in small letters, then as it is written.
    names: BTreeMap<(Token, Token), UserNo>,
    identities: FxHashMap<KeyHash, UserNo>,
    sessions: FxHashMap<KeyHash, UserNo>,
    factors: BTreeMap<UserNo, SecondFactor>,
}

saved!(
    SignIns { invitations, people, factors }
    made { invited, names, identities, sessions } by with_indexes
);

impl SignIns {
    /// Who signs in with this name.
    pub fn named(&self, name: Token) -> Option<&PersonRow> {
        self.person(*self.names.get(&written(name))?)
    }

    /// Whether a name is new to a user and differs at most in capital letters from somebody else's.
    pub fn confusing(&self, name: Token, user: Option<UserNo>) -> bool {
        if user.and_then(|user| self.person(user)).is_some_and(|person| person.name == name) {
            return false;
        }
        let small = small(name);
        let mut alike = self.names.range((small, capital(name))..=(small, small));
        alike.any(|(_, owner)| Some(*owner) != user)
    }

    /// For whom an identity provider vouches by this hash.
    pub fn vouched(&self, identity: KeyHash) -> Option<&PersonRow> {
        self.person(*self.identities.get(&identity)?)
    }

    /// What a user signs in with.
    pub fn person(&self, user: UserNo) -> Option<&PersonRow> {
        self.people.get(&user)
    }

    /// Whom an invitation is for, if it is not over at `now`: the first of several users.
    pub fn invited(&self, hash: KeyHash, now: TimeMs) -> Option<(UserNo, Invitation)> {
        let all = self.invited.range((hash, UserNo(0))..=(hash, UserNo(u32::MAX)));
        let mut rows = all.filter_map(|(_, user)| Some((*user, *self.invitations.get(user)?)));
        rows.find(|(_, row)| now < row.ends)
    }

    /// The session with this hash and its owner, if it is not over at `now`.
    pub fn session(&self, hash: KeyHash, now: TimeMs) -> Option<(&PersonRow, &SessionRow)> {
        let person = self.person(*self.sessions.get(&hash)?)?;
        let session = person.sessions.iter().find(|row| row.hash == hash)?;
        (now < session.until).then_some((person, session))
    }

    /// A user's second factor.
    pub fn factor(&self, user: UserNo) -> Option<&SecondFactor> {
        self.factors.get(&user)
    }

    /// Removes a user's invitation.
    fn uninvite(&mut self, user: UserNo) {
        if let Some(before) = self.invitations.remove(&user) {
            self.invited.remove(&(before.hash, user));
        }
    }

    /// Removes a user's sessions but those that `stay`.
    fn end(&mut self, user: UserNo, stay: impl Fn(&SessionRow) -> bool) {
        let SignIns { people, sessions, .. } = self;
        let Some(person) = people.get_mut(&user) else { return };
        for gone in person.sessions.extract_if(.., |row| !stay(row)) {
            sessions.remove(&gone.hash);
        }
    }

    /// With the indexes.
    fn with_indexes(mut self, sizes: Sizes) -> Result<SignIns, BadImage> {
        for (user, invitation) in &self.invitations {
            sizes.has_user(*user)?;
            self.invited.insert((invitation.hash, *user));
        }
        let known = self.factors.keys().all(|user| self.people.contains_key(user));
        hold(known, "a second factor of nobody")?;
        for (user, person) in &self.people {
            sizes.has_user(*user)?;
            let other = self.names.insert(written(person.name), *user);
            hold(other.is_none() && person.user == *user, "a name of two users")?;
            if let Some(identity) = person.password.identity() {
                let other = self.identities.insert(identity, *user);
                hold(other.is_none(), "an identity of two users")?;
            }
            for session in &person.sessions {
                let other = self.sessions.insert(session.hash, *user);
                hold(other.is_none(), "a session of two users")?;
            }
        }
        Ok(self)
    }
}

/// The key of a name.
fn written(name: Token) -> (Token, Token) {
    (small(name), name)
}

fn small(name: Token) -> Token {
    Token::new(&name.as_str().to_ascii_lowercase()).unwrap_or(name)
}

/// No name that differs in capital letters alone sorts before it.
fn capital(name: Token) -> Token {
    Token::new(&name.as_str().to_ascii_uppercase()).unwrap_or(name)
}

impl View for SignIns {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::Invited { user, role, invitation: hash, ends } => {
                let invitation = Invitation { role: *role, hash: *hash, ends: *ends };
                self.uninvite(*user);
                self.invited.insert((*hash, *user));
                self.invitations.insert(*user, invitation);
            }
            Effect::PasswordSet { user, role, name, password } => {
                self.end(*user, |_| false);
                self.uninvite(*user);
                self.factors.remove(user);
                if let Some(before) = self.people.get(user) {
                    self.names.remove(&written(before.name));
                    if let Some(identity) = before.password.identity() {
                        self.identities.remove(&identity);
                    }
                }
                self.names.insert(written(*name), *user);
                if let Some(identity) = password.identity() {
                    self.identities.insert(identity, *user);
                }
                let (user, name, role, password) = (*user, *name, *role, *password);
                let (set, sessions) = (at.time, Vec::new());
                self.people.insert(user, PersonRow { user, name, role, password, set, sessions });
            }
            Effect::SignedIn { user, session, until, ends, .. } => {
                self.end(*user, |row| row.until > at.time);
                let row = SessionRow {
                    id: KeyId::derive(at.time, at.sequence, 0),
                    hash: *session,
                    created_at: at.time,
                    until: *until,
                    ends: *ends,
                };
                let person = self.people.get_mut(user).ok_or(Fault::UnknownUser(*user))?;
                person.sessions.push(row);
                self.sessions.insert(*session, *user);
            }
            Effect::SessionExtended { user, session, until } => {
                let person = self.people.get_mut(user).ok_or(Fault::UnknownUser(*user))?;
                let found = person.sessions.iter_mut().find(|row| row.hash == *session);
                found.ok_or(Fault::UnknownUser(*user))?.until = *until;
            }
            Effect::SignedOut { user, session } => {
                self.end(*user, |row| session.is_some_and(|session| row.hash != session));
            }
            Effect::SecondFactorSet { user, factor } => {
                self.factors.insert(*user, factor.clone());
            }
            Effect::CodeUsed { user, used } => {
                self.factors.get_mut(user).ok_or(Fault::UnknownUser(*user))?.used = *used;
            }
            Effect::RecoveryCodeUsed { user, recovery_code } => {
                let factor = self.factors.get_mut(user).ok_or(Fault::UnknownUser(*user))?;
                factor.recovery.take(*recovery_code);
            }
            Effect::SecondFactorCleared { user } => {
                self.factors.remove(user);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/sign_ins.rs"]
mod tests;
