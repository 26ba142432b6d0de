//! How people sign in: invitations, passwords by their hash, and sessions. A session is a key that
//! ends by itself; it is remembered only while it lasts, so that signing in every day takes no
//! memory.

use std::collections::{BTreeMap, BTreeSet};

use super::command::{Command, KeyHash, Password, Role, SecondFactor};
use super::effect::Effect;
use super::ids::{Token, UserNo};
use super::image::coding::{BadImage, ImageSink, ImageSource, Imaged};
use super::reject::Reject;
use super::rules::SESSIONS_MAX;
use super::units::TimeMs;
use super::{Exchange, Stamp, Stop};

/// A link with which a person sets a first password, or a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invitation {
    /// What the person may do.
    pub role: Role,
    /// Hash of what the link carries.
    pub hash: KeyHash,
    /// First moment at which it is over.
    pub ends: TimeMs,
}

/// A person who is signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// Hash of what the browser carries.
    pub hash: KeyHash,
    /// First moment at which it is over unless it is used.
    pub until: TimeMs,
    /// First moment at which it is over in any case.
    pub ends: TimeMs,
}

/// What a user signs in with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The name to sign in with, of one user only.
    pub name: Token,
    /// What the person may do.
    pub role: Role,
    /// The password.
    pub password: Password,
    /// When it was set.
    pub set: TimeMs,
    /// Where the person is signed in.
    pub sessions: Vec<Session>,
}

/// Everybody who was invited or signs in.
#[derive(Debug, Clone, Default)]
pub struct SignIns {
    invitations: BTreeMap<UserNo, Invitation>,
    people: BTreeMap<UserNo, Person>,
    /// Whose each name is.
    names: BTreeMap<Token, UserNo>,
    /// For whom an identity provider vouches, by what the password's hash names.
    identities: BTreeMap<KeyHash, UserNo>,
    /// Hashes of all sessions.
    sessions: BTreeSet<KeyHash>,
    /// Second factors of people who have one.
    pub(super) factors: BTreeMap<UserNo, SecondFactor>,
}

impl SignIns {
    /// Whether nobody was ever invited or signed up.
    pub fn is_empty(&self) -> bool {
        self.invitations.is_empty() && self.people.is_empty()
    }

    /// The users who are in it, some twice.
    pub(super) fn users(&self) -> impl Iterator<Item = UserNo> {
        self.invitations.keys().chain(self.people.keys()).copied()
    }

    /// What a user signs in with.
    pub(super) fn person(&self, user: UserNo) -> Option<&Person> {
        self.people.get(&user)
    }

    /// Whether somebody else has the name.
    fn taken(&self, name: Token, user: Option<UserNo>) -> bool {
        self.names.get(&name).is_some_and(|owner| Some(*owner) != user)
    }

    /// Refuses a name or an identity of somebody else's.
    pub(super) fn admit(
        &self,
        name: Token,
        password: Password,
        user: Option<UserNo>,
    ) -> Result<(), Reject> {
        if self.taken(name, user) {
            return Err(Reject::NameTaken);
        }
        let whose = password.identity().and_then(|identity| self.identities.get(&identity));
        let taken = whose.is_some_and(|owner| Some(*owner) != user);
        if taken { Err(Reject::IdentityTaken) } else { Ok(()) }
    }

    /// Ends a user's sessions but those that `stay`; returns how many did.
    fn end(&mut self, user: UserNo, stay: impl Fn(&Session) -> bool) -> usize {
        let SignIns { people, sessions, .. } = self;
        let Some(person) = people.get_mut(&user) else { return 0 };
        let ended = person.sessions.extract_if(.., |session| !stay(session));
        ended.map(|session| sessions.remove(&session.hash)).count()
    }

    /// Sets what a user signs in with. All of the user's sessions end, and the second factor, whose
    /// secret is sealed under the password before.
    fn set(&mut self, user: UserNo, person: Person) {
        self.end(user, |_| false);
        self.factors.remove(&user);
        if let Some(before) = self.people.get(&user) {
            self.names.remove(&before.name);
            if let Some(identity) = before.password.identity() {
                self.identities.remove(&identity);
            }
        }
        self.names.insert(person.name, user);
        if let Some(identity) = person.password.identity() {
            self.identities.insert(identity, user);
        }
        self.people.insert(user, person);
    }
}

impl Exchange {
    /// Executes a command about signing in.
    pub(super) fn dispatch_sign_in(
        &mut self,
        command: &Command,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        match *command {
            Command::Invite { user, role, invitation: hash, ends } => {
                self.invite(user, Invitation { role, hash, ends }, effects)
            }
            Command::SignUp { name, password } => self.sign_up(name, password, at, effects),
            Command::SetPassword { user, invitation, name, password } => {
                self.set_password(user, invitation, (name, password), at, effects)
            }
            Command::SignIn { user, password_set, session, until, ends } => {
                let session = Session { hash: session, until, ends };
                self.sign_in(user, password_set, session, at, effects)
            }
            Command::ExtendSession { user, session, until } => {
                self.extend_session(user, session, until, at, effects)
            }
            Command::SignOut { user, session } => self.sign_out(user, session, effects),
            _ => self.dispatch_second_factor(command, at, effects),
        }
    }

    fn invite(
        &mut self,
        user: UserNo,
        invitation: Invitation,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        self.sign_ins.invitations.insert(user, invitation);
        let Invitation { role, hash: invitation, ends } = invitation;
        effects.push(Effect::Invited { user, role, invitation, ends });
        Ok(())
    }

    /// Creates a user who signs in with this.
    fn sign_up(
        &mut self,
        name: Token,
        password: Password,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.sign_ins.admit(name, password, None)?;
        let user = UserNo::next(self.ledger.users_count()).ok_or(Reject::VenueFull)?;
        self.create_user(name.as_str(), "", effects)?;
        self.put_password(user, (name, Role::Trader), password, at, effects);
        Ok(())
    }

    /// Sets a user's name and password: with an invitation, which is over then, or, for whoever has
    /// a password already, without.
    fn set_password(
        &mut self,
        user: UserNo,
        invitation: Option<KeyHash>,
        (name, password): (Token, Password),
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        let role = match invitation {
            Some(hash) => {
                let found = self.sign_ins.invitations.get(&user);
                let found = found.filter(|found| found.hash == hash && at.time < found.ends);
                found.ok_or(Reject::InvitationNotFound)?.role
            }
            None => self.sign_ins.people.get(&user).ok_or(Reject::InvitationNotFound)?.role,
        };
        self.sign_ins.admit(name, password, Some(user))?;
        self.sign_ins.invitations.remove(&user);
        self.put_password(user, (name, role), password, at, effects);
        Ok(())
    }

    pub(super) fn put_password(
        &mut self,
        user: UserNo,
        (name, role): (Token, Role),
        password: Password,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) {
        let person = Person { name, role, password, set: at.time, sessions: Vec::new() };
        self.sign_ins.set(user, person);
        effects.push(Effect::PasswordSet { user, role, name, password });
    }

    /// Begins a session, of whoever showed the password that was set at `password_set`, if that is
    /// enough.
    fn sign_in(
        &mut self,
        user: UserNo,
        password_set: TimeMs,
        session: Session,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let role = self.admit_sign_in(user, password_set, session)?;
        if self.sign_ins.factors.contains_key(&user) {
            return Err(Stop::Refused(Reject::SecondFactorRequired));
        }
        self.begin_session(user, role, session, at, effects);
        Ok(())
    }

    /// What a user may do who has shown the password that was set then.
    pub(super) fn admit_sign_in(
        &self,
        user: UserNo,
        password_set: TimeMs,
        session: Session,
    ) -> Result<Role, Reject> {
        let person = self.sign_ins.person(user).filter(|person| person.set == password_set);
        let role = person.ok_or(Reject::PasswordChanged)?.role;
        self.session_free(session).map(|()| role)
    }

    /// Refuses a session that is another's.
    pub(super) fn session_free(&self, session: Session) -> Result<(), Reject> {
        let taken = self.sign_ins.sessions.contains(&session.hash);
        if taken { Err(Reject::KeyTaken) } else { Ok(()) }
    }

    /// Begins a session; if there are too many, the one that would end first is over.
    pub(super) fn begin_session(
        &mut self,
        user: UserNo,
        role: Role,
        session: Session,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) {
        let session = Session { until: session.until.min(session.ends), ..session };
        self.sign_ins.end(user, |other| other.until > at.time);
        let sessions = self.sign_ins.people.get(&user).map_or(&[][..], |person| &person.sessions);
        if sessions.len() >= SESSIONS_MAX
            && let Some(first) = sessions.iter().min_by_key(|other| other.until).copied()
        {
            self.sign_ins.end(user, |other| other.hash != first.hash);
            effects.push(Effect::SignedOut { user, session: Some(first.hash) });
        }
        self.sign_ins.sessions.insert(session.hash);
        if let Some(person) = self.sign_ins.people.get_mut(&user) {
            person.sessions.push(session);
        }
        let Session { hash, until, ends } = session;
        effects.push(Effect::SignedIn { user, role, session: hash, until, ends });
    }

    /// Lets a session last longer, as its owner uses it.
    fn extend_session(
        &mut self,
        user: UserNo,
        session: KeyHash,
        until: TimeMs,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let person = self.sign_ins.people.get_mut(&user);
        let mut sessions = person.into_iter().flat_map(|person| &mut person.sessions);
        let found = sessions.find(|found| found.hash == session && found.until > at.time);
        let found = found.ok_or(Reject::SessionNotFound)?;
        found.until = until.min(found.ends);
        effects.push(Effect::SessionExtended { user, session, until: found.until });
        Ok(())
    }

    /// Ends a session, or all of a user's.
    fn sign_out(
        &mut self,
        user: UserNo,
        session: Option<KeyHash>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let stays = |other: &Session| session.is_some_and(|session| other.hash != session);
        if self.sign_ins.end(user, stays) == 0 {
            return Err(Stop::Refused(Reject::SessionNotFound));
        }
        effects.push(Effect::SignedOut { user, session });
        Ok(())
    }
}

impl Imaged for SignIns {
    fn write(&self, sink: &mut impl ImageSink) {
        // Factors follow at the end of an image, where there are any.
        let SignIns { invitations, people, names: _, identities: _, sessions: _, factors: _ } =
            self;
        let invitations: Vec<_> = invitations.iter().map(|(user, row)| (*user, *row)).collect();
        invitations.write(sink);
        let people: Vec<_> = people.iter().map(|(user, row)| (*user, row.clone())).collect();
        people.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let invitations: Vec<(UserNo, Invitation)> = Imaged::read(source)?;
        let people: Vec<(UserNo, Person)> = Imaged::read(source)?;
        let mut read = SignIns { invitations: ascending(invitations)?, ..SignIns::default() };
        read.people = ascending(people)?;
        for (user, person) in &read.people {
            let mut sound = person.sessions.len() <= SESSIONS_MAX;
            sound &= read.names.insert(person.name, *user).is_none();
            let identity = person.password.identity();
            sound &= identity.is_none_or(|hash| read.identities.insert(hash, *user).is_none());
            sound &= person.sessions.iter().all(|session| read.sessions.insert(session.hash));
            if !sound {
                return Err(BadImage::Contradiction("a name, identity or session of two users"));
            }
        }
        Ok(read)
    }
}

impl SignIns {
    /// Writes the second factors.
    pub(super) fn write_factors(&self, sink: &mut impl ImageSink) {
        let rows = self.factors.iter();
        rows.map(|(user, row)| (*user, row.clone())).collect::<Vec<_>>().write(sink);
    }

    /// Reads them; there is at least one, each of somebody who signs in.
    pub(super) fn read_factors(&mut self, source: &mut impl ImageSource) -> Result<(), BadImage> {
        self.factors = ascending(Imaged::read(source)?)?;
        let known = self.factors.keys().all(|user| self.people.contains_key(user));
        if known && !self.factors.is_empty() {
            return Ok(());
        }
        Err(BadImage::Contradiction("a second factor of nobody"))
    }
}

impl<T: Imaged> Imaged for (UserNo, T) {
    fn write(&self, sink: &mut impl ImageSink) {
        self.0.write(sink);
        self.1.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Ok((Imaged::read(source)?, Imaged::read(source)?))
    }
}

/// Rows by user, which an image has in the users' order.
fn ascending<T>(rows: Vec<(UserNo, T)>) -> Result<BTreeMap<UserNo, T>, BadImage> {
    if !rows.is_sorted_by(|(one, _), (other, _)| one < other) {
        return Err(BadImage::Contradiction("people out of order"));
    }
    Ok(rows.into_iter().collect())
}
