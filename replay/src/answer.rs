//! What the tool answers, on which channel and with which exit code.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use openoutcry::exchange::invariant::Broken;
use openoutcry::exchange::units::{Overflow, Sequence};
use openoutcry::journal::block::Head;
use serde_json::{Value, json};

use crate::moment::rfc3339;

/// Exit code of an answer that is as it should be.
const SOUND: u8 = 0;
/// Exit code of a failure that says nothing about the journal.
const FAILED: u8 = 1;
/// Exit code of a journal at fault, and of two journals that are not the same.
const AT_FAULT: u8 = 3;

/// What a question came to.
pub enum Answer {
    /// Fields, printed one a line unless JSON is asked for.
    Fields(Value),
    /// A text for people and the same for programs.
    Told {
        /// For programs.
        value: Value,
        /// For people; ends with a line's end.
        text: String,
        /// Whether all is as it should be.
        sound: bool,
    },
    /// Everything was printed on the way.
    Streamed,
}

/// Why there is no answer: the journal itself is at fault, or the way to it.
pub enum Failure {
    /// The journal is damaged or leads to a state that cannot be; the fields say where.
    Damaged(Value),
    /// Something else.
    Failed(String),
    /// Whoever read the answer has gone; nobody is left to be told.
    ReaderLeft,
}

impl Failure {
    /// A failure that says nothing about the journal.
    pub fn failed(error: impl fmt::Display) -> Failure {
        Failure::Failed(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderLeft,
            _ => Failure::Failed(format!("cannot write the answer: {error}")),
        }
    }
}

impl From<Overflow> for Failure {
    fn from(error: Overflow) -> Failure {
        Failure::failed(error)
    }
}

impl From<Broken> for Failure {
    fn from(error: Broken) -> Failure {
        Failure::failed(error)
    }
}

/// Prints what a question came to. Answers, faults of the journal included, go to stdout; if
/// stdout is a stream of rows, what ended it goes to stderr.
pub fn print(result: Result<Answer, Failure>, json: bool, streams: bool) -> ExitCode {
    let (printed, code) = match result {
        Ok(Answer::Streamed) | Err(Failure::ReaderLeft) => (Ok(()), SOUND),
        Ok(Answer::Fields(value)) => (fields(&mut io::stdout().lock(), &value, json), SOUND),
        Ok(Answer::Told { value, text, sound }) => {
            let mut out = io::stdout().lock();
            let printed =
                if json { writeln!(out, "{value}") } else { out.write_all(text.as_bytes()) };
            (printed, if sound { SOUND } else { AT_FAULT })
        }
        Err(failure) => {
            let (value, code) = match failure {
                Failure::Damaged(value) => (value, AT_FAULT),
                Failure::Failed(error) => (json!({ "ok": false, "error": error }), FAILED),
                Failure::ReaderLeft => (Value::Null, SOUND),
            };
            let printed = if streams {
                fields(&mut io::stderr().lock(), &value, json)
            } else {
                fields(&mut io::stdout().lock(), &value, json)
            };
            (printed, code)
        }
    };
    match printed.map_err(Failure::from) {
        Ok(()) | Err(Failure::ReaderLeft) => ExitCode::from(code),
        Err(_) => ExitCode::from(FAILED),
    }
}

/// A line of JSON, or a line a field.
fn fields(out: &mut impl Write, value: &Value, json: bool) -> io::Result<()> {
    if json { writeln!(out, "{value}") } else { field_lines(out, "", value) }
}

fn field_lines(out: &mut impl Write, name: &str, value: &Value) -> io::Result<()> {
    match value {
        Value::Object(members) => members.iter().try_for_each(|(member, value)| {
            let dot = if name.is_empty() { "" } else { "." };
            field_lines(out, &format!("{name}{dot}{member}"), value)
        }),
        Value::String(text) => writeln!(out, "{name}: {text}"),
        Value::Null => writeln!(out, "{name}: none"),
        _ => writeln!(out, "{name}: {value}"),
    }
}

/// Where a journal, or a part of it, ends.
pub fn head_fields(head: &Head) -> Value {
    let begun = head.sequence > Sequence::ZERO;
    json!({
        "sequence": head.sequence.get(),
        "hash": head.hash.to_string(),
        "time_ms": head.time.get(),
        "time": begun.then(|| rfc3339(head.time)),
    })
}
