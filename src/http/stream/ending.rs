//! Why a connection ends, as its client is told.

use crate::problem::Kind;
use exchange::units::Sequence;

/// Why a connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The client has left.
    Left,
    /// The server stops.
    Stopping,
    /// The key was revoked, or may not be used any more.
    BadKey,
    /// No key was sent in time.
    NoKey,
    /// The client reads too slowly; it has everything up to this record.
    Slow(Sequence),
    /// A message was too long.
    TooLarge,
    /// A message was not text.
    NotText,
    /// What came is no WebSocket.
    Broken,
}

impl Ending {
    /// Whether the client is told.
    pub fn speaks(&self) -> bool {
        *self != Ending::Left
    }

    /// The close code (RFC 6455, 7.4; from 4000 on our own).
    pub const fn code(&self) -> u16 {
        match self {
            Ending::Left => 1000,
            Ending::Stopping => 1001,
            Ending::Broken => 1002,
            Ending::NotText => 1003,
            Ending::TooLarge => 1009,
            Ending::BadKey => 4001,
            Ending::NoKey => 4002,
            Ending::Slow(_) => 4008,
        }
    }

    /// The same as a word.
    pub const fn word(&self) -> &'static str {
        match self {
            Ending::Left => "LEFT",
            Ending::Stopping => Kind::Stopping.code(),
            Ending::Broken => "PROTOCOL_ERROR",
            Ending::NotText => "NOT_TEXT",
            Ending::TooLarge => Kind::ContentTooLarge.code(),
            Ending::BadKey => Kind::InvalidApiKey.code(),
            Ending::NoKey => Kind::MissingApiKey.code(),
            Ending::Slow(_) => "SLOW_READER",
        }
    }

    /// The reason, a JSON object, in the 123 bytes that there are for it.
    pub fn reason(&self) -> String {
        let word = self.word();
        match self {
            Ending::Slow(sequence) => format!(r#"{{"code":"{word}","sequence":{sequence}}}"#),
            Ending::Stopping => {
                let seconds = Kind::Stopping.retry_after().unwrap_or(1);
                format!(r#"{{"code":"{word}","retryAfter":{seconds}}}"#)
            }
            _ => format!(r#"{{"code":"{word}"}}"#),
        }
    }
}
