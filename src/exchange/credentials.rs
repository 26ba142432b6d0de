//! What people and programs are known by, as it is journaled: hashes, and what is sealed.

use super::ids::UserNo;
use super::rules::RECOVERY_CODES_MAX;
use super::table::{choice, part};
use super::units::TimeMs;

/// SHA-256 of an API key; the key itself is never journaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(pub [u8; 32]);

choice! {
    /// How a password was hashed, or what stands in its place. A stronger way gets a new row.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PasswordScheme by name {
        /// Argon2id over 19 MiB, twice, one lane; 32 bytes of salt and of hash.
        Argon2id19MiB = 1 "argon2id-19-2-1",
        /// There is none: an identity provider vouches for the person, whom the hash names.
        OpenId = 2 "openid",
    }
}

part! {
    /// A password as it is journaled; the password itself never is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Password {
        /// How it was hashed.
        pub scheme: PasswordScheme,
        /// Random, so that equal passwords have other hashes.
        pub salt: KeyHash,
        /// Its hash.
        pub hashed: KeyHash,
    }
}

impl Password {
    /// In the place of a password: whom an identity provider vouches for.
    pub const fn vouched(identity: KeyHash) -> Password {
        Password { scheme: PasswordScheme::OpenId, salt: KeyHash([0; 32]), hashed: identity }
    }

    /// Whom an identity provider vouches for, if one does.
    pub fn identity(&self) -> Option<KeyHash> {
        match self.scheme {
            PasswordScheme::Argon2id19MiB => None,
            PasswordScheme::OpenId => Some(self.hashed),
        }
    }
}

/// Hashes of the recovery codes that are left, each good once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryCodes(Vec<KeyHash>);

impl RecoveryCodes {
    /// These; `None` if there are more than [`RECOVERY_CODES_MAX`].
    pub fn new(codes: Vec<KeyHash>) -> Option<RecoveryCodes> {
        (codes.len() <= RECOVERY_CODES_MAX).then_some(RecoveryCodes(codes))
    }

    /// All of them.
    pub fn as_slice(&self) -> &[KeyHash] {
        &self.0
    }

    /// Uses one up; false if it is none of them.
    pub fn take(&mut self, code: KeyHash) -> bool {
        let place = self.0.iter().position(|other| *other == code);
        place.map(|place| self.0.remove(place)).is_some()
    }
}

part! {
    /// What a person shows beside a password: codes that follow from a secret and the time.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct SecondFactor {
        /// Random; with the password it gives the key under which the secret is sealed, so that the
        /// journal alone gives no codes.
        pub salt: KeyHash = "factor_salt",
        /// The secret under that key.
        pub sealed: KeyHash,
        /// When the last code that was used began to be good: it is good once.
        pub used: TimeMs,
        /// What the person has beside the codes.
        pub recovery: RecoveryCodes,
    }
}

part! {
    /// Another password of somebody with a second factor. The factor's secret is sealed under it
    /// anew in the same record, so that no crash comes between them, and a session begins, which
    /// afterwards would need a code.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct PasswordChange {
        /// Whose.
        pub user: UserNo,
        /// Salt of the password before.
        pub password_before: KeyHash,
        /// Salt of the factor before.
        pub factor_before: KeyHash,
        /// The password.
        pub password: Password,
        /// Salt of the factor now.
        pub factor_salt: KeyHash,
        /// Its secret under the password.
        pub sealed: KeyHash,
        /// Hash of what the browser carries from now on; all other sessions end.
        pub session: KeyHash,
        /// First moment at which it is over unless it is used.
        pub until: TimeMs,
        /// First moment at which it is over in any case.
        pub ends: TimeMs,
    }
}
