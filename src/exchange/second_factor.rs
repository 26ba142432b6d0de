//! The second factor of signing in: which codes are still good. Whether a code is right only its
//! secret tells, which is sealed; that a right one is used once is told here.

use super::command::{Command, KeyHash, PasswordChange, SecondFactor};
use super::effect::Effect;
use super::ids::UserNo;
use super::invariant::Broken;
use super::reject::Reject;
use super::sign_in::Session;
use super::units::TimeMs;
use super::{Exchange, Stamp, Stop};

impl Exchange {
    /// Executes a command about second factors.
    pub(super) fn dispatch_second_factor(
        &mut self,
        command: &Command,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        match command {
            Command::SetSecondFactor { user, password_salt, factor } => {
                self.set_second_factor(*user, *password_salt, factor, effects)
            }
            Command::SignInByCode { user, password_set, session, until, ends, used: shown } => {
                let session = Session { hash: *session, until: *until, ends: *ends };
                let (user, shown) = (*user, *shown);
                let role = self.admit_sign_in(user, *password_set, session)?;
                self.use_code(user, shown)?;
                effects.push(Effect::CodeUsed { user, used: shown });
                self.begin_session(user, role, session, at, effects);
                Ok(())
            }
            Command::SignInByRecovery {
                user,
                password_set,
                session,
                until,
                ends,
                recovery_code,
            } => {
                let session = Session { hash: *session, until: *until, ends: *ends };
                let (user, recovery_code) = (*user, *recovery_code);
                let role = self.admit_sign_in(user, *password_set, session)?;
                self.use_recovery_code(user, recovery_code)?;
                effects.push(Effect::RecoveryCodeUsed { user, recovery_code });
                self.begin_session(user, role, session, at, effects);
                Ok(())
            }
            Command::ClearSecondFactor { user } => {
                self.known_user(*user)?;
                let cleared = self.sign_ins.factors.remove(user);
                cleared.ok_or(Reject::SecondFactorNotFound)?;
                effects.push(Effect::SecondFactorCleared { user: *user });
                Ok(())
            }
            Command::ChangePassword(change) => self.change_password(change, at, effects),
            _ => Err(Stop::Broken(Broken::Dangling)),
        }
    }

    fn set_second_factor(
        &mut self,
        user: UserNo,
        password_salt: KeyHash,
        factor: &SecondFactor,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let person = self.sign_ins.person(user);
        let same = person.is_some_and(|person| person.password.salt == password_salt);
        if !same {
            return Err(Stop::Refused(Reject::PasswordChanged));
        }
        self.sign_ins.factors.insert(user, factor.clone());
        effects.push(Effect::SecondFactorSet { user, factor: factor.clone() });
        Ok(())
    }

    /// Codes that were used meanwhile stay used, and a factor that went is gone.
    fn change_password(
        &mut self,
        change: &PasswordChange,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let PasswordChange { user, password, factor_salt: salt, sealed, .. } = *change;
        let person = self.sign_ins.person(user).ok_or(Reject::PasswordChanged)?;
        let (name, role) = (person.name, person.role);
        self.sign_ins.admit(name, password, Some(user))?;
        if person.password.salt != change.password_before {
            return Err(Stop::Refused(Reject::PasswordChanged));
        }
        let factor = self.sign_ins.factors.get(&user);
        let factor = factor.filter(|factor| factor.salt == change.factor_before).cloned();
        let factor = factor.ok_or(Reject::SecondFactorNotFound)?;
        let session = Session { hash: change.session, until: change.until, ends: change.ends };
        self.session_free(session)?;
        self.put_password(user, (name, role), password, at, effects);
        let factor = SecondFactor { salt, sealed, ..factor };
        self.set_second_factor(user, password.salt, &factor, effects)?;
        self.begin_session(user, role, session, at, effects);
        Ok(())
    }

    /// A code is good once, and no code that was good before it is good after it.
    fn use_code(&mut self, user: UserNo, shown: TimeMs) -> Result<(), Reject> {
        let factor = self.sign_ins.factors.get_mut(&user).filter(|factor| factor.used < shown);
        factor.ok_or(Reject::SecondFactorRefused)?.used = shown;
        Ok(())
    }

    fn use_recovery_code(&mut self, user: UserNo, code: KeyHash) -> Result<(), Reject> {
        let factor = self.sign_ins.factors.get_mut(&user);
        let taken = factor.is_some_and(|factor| factor.recovery.take(code));
        if taken { Ok(()) } else { Err(Reject::SecondFactorRefused) }
    }
}
