//! The tool's answers: their channels and exit codes.
//!
//! Answers go to stdout, including faults of a journal. With `--json` everything on stdout is JSON,
//! errors included; without it, errors that say nothing about the journal go to stderr. If stdout
//! is a stream of rows, the error that ended it goes to stderr.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use exchange::invariant::Broken;
use exchange::units::{Overflow, Sequence};
use journal::block::Head;
use serde_json::{Value, json};

use crate::moment::rfc3339;

/// Exit code of a good answer.
const SOUND: u8 = 0;
/// Exit code of a failure that says nothing about the journal.
const FAILED: u8 = 1;
/// Exit code of an invalid command line.
const MISUSED: u8 = 2;
/// Exit code for a faulty journal, and for two journals that differ.
const AT_FAULT: u8 = 3;

/// The answer to a command.
pub enum Answer {
    /// Fields, printed one per line unless JSON is requested.
    Fields(Value),
    /// The same answer as text and as JSON.
    Text {
        /// The JSON form.
        value: Value,
        /// The text form; ends with a line break.
        text: String,
        /// Whether the journal is good; decides the exit code.
        sound: bool,
    },
    /// Everything was printed already.
    Streamed,
}

/// Why there is no answer: the journal is faulty, or it could not be read.
#[derive(Debug)]
pub enum Failure {
    /// The journal is damaged or leads to an invalid state; the fields say where.
    Damaged(Value),
    /// Something else.
    Failed(String),
    /// The reader of stdout closed it; there is nobody to report to.
    ReaderLeft,
}

impl Failure {
    /// A failure that says nothing about the journal.
    pub fn failed(error: impl fmt::Display) -> Failure {
        Failure::Failed(error.to_string())
    }

    /// The requested item is not in the journal, or not yet at that moment.
    pub fn not_found(what: impl fmt::Display) -> Failure {
        Failure::Failed(format!("NOT_FOUND: {what}"))
    }

    /// A file could not be read.
    pub fn reading(path: &Path, error: &io::Error) -> Failure {
        Failure::Failed(format!("CANNOT_READ: {}: {error}", path.display()))
    }

    /// The output file exists already.
    pub fn taken(path: &Path) -> Failure {
        Failure::writing(path, "it is there already and is left alone")
    }

    /// A file could not be written.
    pub fn writing(path: &Path, error: impl fmt::Display) -> Failure {
        Failure::Failed(format!("CANNOT_WRITE: {}: {error}", path.display()))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderLeft,
            _ => Failure::Failed(format!("CANNOT_WRITE: the answer: {error}")),
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

/// The code of an error: at its start, as in `OPEN_LOCKED: ...`, or after the position, as in
/// `journal damaged in the block of record 8: BLOCK_CHECKSUM: ...`.
fn code_of(error: &str) -> &str {
    let shouted = |code: &&str| {
        let letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        code.len() > 2 && code.bytes().all(letter)
    };
    error.split(':').map(str::trim_start).find(shouted).unwrap_or("FAILED")
}

/// Adds the code to an error's fields.
fn with_code(mut value: Value) -> Value {
    let error = value.get("error").and_then(Value::as_str).unwrap_or_default();
    let code = code_of(error).to_owned();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("code".to_owned(), code.into());
    }
    value
}

/// Prints the answer or failure; returns the exit code.
pub fn print(result: Result<Answer, Failure>, json: bool, streams: bool) -> ExitCode {
    let (printed, code) = match result {
        Ok(Answer::Streamed) | Err(Failure::ReaderLeft) => (Ok(()), SOUND),
        Ok(Answer::Fields(value)) => (fields(&mut io::stdout().lock(), &value, json), SOUND),
        Ok(Answer::Text { value, text, sound }) => {
            let mut out = io::stdout().lock();
            let printed =
                if json { writeln!(out, "{value}") } else { out.write_all(text.as_bytes()) };
            (printed, if sound { SOUND } else { AT_FAULT })
        }
        Err(Failure::Damaged(value)) => {
            let value = with_code(value);
            let printed = if streams {
                fields(&mut io::stderr().lock(), &value, json)
            } else {
                fields(&mut io::stdout().lock(), &value, json)
            };
            (printed, AT_FAULT)
        }
        Err(Failure::Failed(error)) => (complain(&error, json, streams), FAILED),
    };
    match printed.and_then(|()| io::stdout().flush()).map_err(Failure::from) {
        Err(Failure::Failed(error)) if code == SOUND => {
            // If stderr does not take it either, there is still the exit code.
            drop(complain(&error, false, true));
            ExitCode::from(FAILED)
        }
        // What is known of the journal counts, said or not.
        _ => ExitCode::from(code),
    }
}

/// Prints what the parser of the command line has to say, help or an error; returns the exit code.
pub fn usage(said: &clap::Error) -> ExitCode {
    let printed = said.print().and_then(|()| io::stdout().flush()).map_err(Failure::from);
    match printed {
        Err(Failure::Failed(error)) if !said.use_stderr() => {
            drop(complain(&error, false, true));
            ExitCode::from(FAILED)
        }
        _ => u8::try_from(said.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

/// Reports an invalid command line.
pub fn misuse(error: &str) -> ExitCode {
    let value = json!({ "ok": false, "error": error.trim_end(), "code": "USAGE" });
    // A closed stdout leaves no way to report the failure.
    drop(writeln!(io::stdout().lock(), "{value}"));
    ExitCode::from(MISUSED)
}

/// Prints why there is no answer.
fn complain(error: &str, json: bool, streams: bool) -> io::Result<()> {
    let value = with_code(json!({ "ok": false, "error": error }));
    match (json, streams) {
        (false, _) => writeln!(io::stderr().lock(), "openoutcry-replay: {error}"),
        (true, true) => writeln!(io::stderr().lock(), "{value}"),
        (true, false) => writeln!(io::stdout().lock(), "{value}"),
    }
}

/// Prints one line of JSON, or one line per field.
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

/// The head of a journal or of a part of it.
pub fn head_fields(head: &Head) -> Value {
    let begun = head.sequence > Sequence::ZERO;
    json!({
        "sequence": head.sequence.get(),
        "hash": head.hash.to_string(),
        "time_ms": head.time.get(),
        "time": begun.then(|| rfc3339(head.time)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_a_code() {
        assert_eq!(code_of("OPEN_LOCKED: somebody has it open"), "OPEN_LOCKED");
        for plain in ["", "no such file", "X: y", "Os error: 2"] {
            assert_eq!(code_of(plain), "FAILED", "{plain}");
        }
        let value = with_code(json!({ "ok": false, "error": "NOT_FOUND: record 9 made nothing" }));
        assert_eq!(value["code"], "NOT_FOUND");
        let error = "journal damaged in the block of record 8: BLOCK_CHECKSUM: its bytes changed";
        assert_eq!(with_code(json!({ "error": error }))["code"], "BLOCK_CHECKSUM");
    }
}
