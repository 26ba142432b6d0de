//! Signing in, written a second time: lists of invitations and of people.

use exchange::command::{
    Command, KeyHash, Password, PasswordChange, PasswordScheme, RecoveryCodes, Role, SecondFactor,
};
use exchange::effect::Effect;
use exchange::ids::{Token, UserNo};
use exchange::reject::Reject;
use exchange::units::TimeMs;

use super::Naive;

#[derive(Clone)]
pub struct Invited {
    pub user: UserNo,
    pub role: Role,
    pub hash: KeyHash,
    pub ends: TimeMs,
}

#[derive(Clone)]
pub struct Person {
    pub user: UserNo,
    pub role: Role,
    pub name: Token,
    pub set: TimeMs,
    /// Hash, end if unused, end.
    pub sessions: Vec<(KeyHash, TimeMs, TimeMs)>,
    pub password: Password,
    pub factor: Option<SecondFactor>,
}

impl Naive {
    #[allow(clippy::too_many_lines, reason = "a line for each thing that a command does")]
    pub(super) fn sign_in_command(&mut self, command: &Command) -> Result<(), Reject> {
        match *command {
            Command::Invite { user, role, invitation: hash, ends } => {
                self.known_user(user)?;
                self.invited.retain(|row| row.user != user);
                self.invited.push(Invited { user, role, hash, ends });
                self.emit(Effect::Invited { user, role, invitation: hash, ends });
            }
            Command::SignUp { name, password } => {
                self.name_free(name, password, None)?;
                let user = UserNo(self.users_count);
                self.users_count += 1;
                let (profile_name, profile_pic) = (name.as_str().to_owned(), String::new());
                self.emit(Effect::UserCreated { user, profile_name, profile_pic });
                self.person(user, Role::Trader, name, password);
            }
            Command::SetPassword { user, invitation, name, password } => {
                self.known_user(user)?;
                let role = self.role_of(user, invitation)?;
                self.name_free(name, password, Some(user))?;
                self.invited.retain(|row| row.user != user);
                self.person(user, role, name, password);
            }
            Command::SignIn { user, password_set, session, until, ends } => {
                let person = self.showing(user, password_set, session)?;
                if person.factor.is_some() {
                    return Err(Reject::SecondFactorRequired);
                }
                self.session(user, session, until, ends);
            }
            Command::SignInByCode { user, password_set, session, until, ends, used } => {
                let factor = &mut self.showing(user, password_set, session)?.factor;
                match factor {
                    Some(factor) if factor.used < used => factor.used = used,
                    _ => return Err(Reject::SecondFactorRefused),
                }
                self.emit(Effect::CodeUsed { user, used });
                self.session(user, session, until, ends);
            }
            Command::SignInByRecovery {
                user,
                password_set,
                session,
                until,
                ends,
                recovery_code,
            } => {
                let factor = &mut self.showing(user, password_set, session)?.factor;
                let codes = &mut factor.as_mut().ok_or(Reject::SecondFactorRefused)?.recovery;
                let left = codes.as_slice().iter().filter(|code| **code != recovery_code);
                let left: Vec<KeyHash> = left.copied().collect();
                if left.len() == codes.as_slice().len() {
                    return Err(Reject::SecondFactorRefused);
                }
                *codes = RecoveryCodes::new(left).unwrap();
                self.emit(Effect::RecoveryCodeUsed { user, recovery_code });
                self.session(user, session, until, ends);
            }
            Command::ClearSecondFactor { user } => {
                self.known_user(user)?;
                let person = self.people.iter_mut().find(|row| row.user == user);
                let factor = person.and_then(|row| row.factor.take());
                factor.ok_or(Reject::SecondFactorNotFound)?;
                self.emit(Effect::SecondFactorCleared { user });
            }
            Command::ExtendSession { user, session, until } => {
                let now = self.now;
                let mine = self.people.iter_mut().filter(|row| row.user == user);
                let mut sessions = mine.flat_map(|row| &mut row.sessions);
                let found = sessions.find(|row| row.0 == session && row.1 > now);
                let found = found.ok_or(Reject::SessionNotFound)?;
                found.1 = until.min(found.2);
                let until = found.1;
                self.emit(Effect::SessionExtended { user, session, until });
            }
            Command::SignOut { user, session } => {
                let person = self.people.iter_mut().find(|row| row.user == user);
                let person = person.ok_or(Reject::SessionNotFound)?;
                let before = person.sessions.len();
                person.sessions.retain(|row| session.is_some() && Some(row.0) != session);
                if person.sessions.len() == before {
                    return Err(Reject::SessionNotFound);
                }
                self.emit(Effect::SignedOut { user, session });
            }
            _ => unreachable!("only commands about signing in come here"),
        }
        Ok(())
    }

    pub(super) fn second_factor(
        &mut self,
        user: UserNo,
        password_salt: KeyHash,
        factor: &SecondFactor,
    ) -> Result<(), Reject> {
        let person = self.people.iter_mut().find(|row| row.user == user);
        let person = person.filter(|row| row.password.salt == password_salt);
        person.ok_or(Reject::PasswordChanged)?.factor = Some(factor.clone());
        self.emit(Effect::SecondFactorSet { user, factor: factor.clone() });
        Ok(())
    }

    pub(super) fn change_password(&mut self, change: &PasswordChange) -> Result<(), Reject> {
        let PasswordChange { user, password, session, until, ends, .. } = *change;
        let mine = self.people.iter().find(|row| row.user == user);
        let before = mine.ok_or(Reject::PasswordChanged)?.clone();
        let Person { name, role, set, factor, .. } = before;
        self.name_free(name, password, Some(user))?;
        if before.password.salt != change.password_before {
            return Err(Reject::PasswordChanged);
        }
        let factor = factor.filter(|factor| factor.salt == change.factor_before);
        let mut factor = factor.ok_or(Reject::SecondFactorNotFound)?;
        self.showing(user, set, session)?;
        self.person(user, role, name, password);
        (factor.salt, factor.sealed) = (change.factor_salt, change.sealed);
        self.second_factor(user, password.salt, &factor)?;
        self.session(user, session, until, ends);
        Ok(())
    }

    fn showing(
        &mut self,
        user: UserNo,
        password_set: TimeMs,
        session: KeyHash,
    ) -> Result<&mut Person, Reject> {
        let taken = |row: &Person| row.sessions.iter().any(|row| row.0 == session);
        let taken = self.people.iter().any(taken);
        let person = self.people.iter_mut().find(|row| row.user == user);
        let person = person.filter(|row| row.set == password_set).ok_or(Reject::PasswordChanged)?;
        if taken { Err(Reject::KeyTaken) } else { Ok(person) }
    }

    fn session(&mut self, user: UserNo, session: KeyHash, until: TimeMs, ends: TimeMs) {
        let now = self.now;
        let person = self.people.iter_mut().find(|row| row.user == user).unwrap();
        let role = person.role;
        person.sessions.retain(|(_, until, _)| *until > now);
        let mut gone = None;
        if person.sessions.len() == 16 {
            let first = person.sessions.iter().map(|row| row.1).min().unwrap();
            let place = person.sessions.iter().position(|row| row.1 == first).unwrap();
            gone = Some(person.sessions.remove(place).0);
        }
        person.sessions.push((session, until, ends));
        if gone.is_some() {
            self.emit(Effect::SignedOut { user, session: gone });
        }
        self.emit(Effect::SignedIn { user, role, session, until, ends });
    }

    fn role_of(&self, user: UserNo, invitation: Option<KeyHash>) -> Result<Role, Reject> {
        let role = match invitation {
            Some(hash) => {
                let mut mine = self.invited.iter().filter(|row| row.user == user);
                mine.find(|row| row.hash == hash && self.now < row.ends).map(|row| row.role)
            }
            None => self.people.iter().find(|row| row.user == user).map(|row| row.role),
        };
        role.ok_or(Reject::InvitationNotFound)
    }

    fn name_free(
        &self,
        name: Token,
        password: Password,
        user: Option<UserNo>,
    ) -> Result<(), Reject> {
        let mut others = self.people.iter().filter(|row| Some(row.user) != user);
        if others.clone().any(|row| row.name == name) {
            return Err(Reject::NameTaken);
        }
        let vouched = password.scheme == PasswordScheme::OpenId;
        let taken = vouched && others.any(|row| row.password == password);
        if taken { Err(Reject::IdentityTaken) } else { Ok(()) }
    }

    fn person(&mut self, user: UserNo, role: Role, name: Token, password: Password) {
        self.people.retain(|row| row.user != user);
        let (set, sessions) = (self.now, Vec::new());
        self.people.push(Person { user, role, name, set, sessions, password, factor: None });
        self.emit(Effect::PasswordSet { user, role, name, password });
    }
}
