//! The auditor's tool: proves, copies and rebuilds a journal without the server.
//!
//! Must not know: the engine, HTTP, clocks, threads.

mod source;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use openoutcry::exchange::Exchange;
use openoutcry::exchange::units::Sequence;
use openoutcry::journal::JournalError;
use openoutcry::journal::block::Head;
use openoutcry::journal::portable::{self, ExportError};
use openoutcry::journal::replay::{ReplayError, replay};
use serde_json::{Value, json};
use source::{Source, SourceError};

/// Rebuilds and proves an openoutcry journal without the server.
///
/// Exit codes: 0 it is as it should be; 1 it could not be read, or something else failed; 2 wrong
/// usage; 3 the journal is damaged, and the answer says where.
#[derive(Parser)]
#[command(name = "openoutcry-replay", version)]
struct Arguments {
    /// Answers as one line of JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    question: Question,
}

#[derive(Subcommand)]
enum Question {
    /// Checks every block: checksum, chain, density, every field.
    Verify {
        /// A data directory (no server may be running on it), or an exported file.
        journal: PathBuf,
    },
    /// Writes a data directory's blocks to a plain file, byte for byte as journaled.
    Export {
        /// The data directory.
        data: PathBuf,
        /// The file to make; an existing one is left alone.
        out: PathBuf,
    },
    /// Applies every record to an empty exchange; prints the digest of the state it leads to.
    Rebuild {
        /// A data directory (no server may be running on it), or an exported file.
        journal: PathBuf,
    },
}

/// What was wrong: with the journal itself, or with getting at it.
enum Failure {
    Damaged(Value),
    Failed(String),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let answer = match &arguments.question {
        Question::Verify { journal } => verify(journal),
        Question::Export { data, out } => export(data, out),
        Question::Rebuild { journal } => rebuild(journal),
    };
    let (value, code) = match answer {
        Ok(value) => (value, 0),
        Err(Failure::Failed(error)) => (json!({ "ok": false, "error": error }), 1),
        Err(Failure::Damaged(value)) => (value, 3),
    };
    if print(&value, arguments.json).is_err() { ExitCode::FAILURE } else { ExitCode::from(code) }
}

/// Answers go to stdout, in a line of JSON or a line a field.
fn print(value: &Value, json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match value.as_object().filter(|_| !json) {
        None => writeln!(out, "{value}"),
        Some(fields) => fields.iter().try_for_each(|(name, field)| match field.as_str() {
            Some(text) => writeln!(out, "{name}: {text}"),
            None => writeln!(out, "{name}: {field}"),
        }),
    }
}

fn verify(path: &Path) -> Result<Value, Failure> {
    let mut source = open(path)?;
    let mut counts = (0_u64, 0_u64);
    let mut head = Head::START;
    let mut walked = Ok(());
    for block in source.blocks() {
        match block {
            Ok(block) => {
                let records = u64::try_from(block.records().len()).unwrap_or(u64::MAX);
                counts = (counts.0.saturating_add(1), counts.1.saturating_add(records));
                head = block.head();
            }
            Err(error) => walked = Err(error),
        }
    }
    walked.map_err(|error| journal_failure(&error, source.offset(), &head))?;
    Ok(json!({
        "ok": true,
        "blocks": counts.0,
        "records": counts.1,
        "head": head_fields(&head),
        "refused_removed": source.cut().map(Sequence::get),
    }))
}

fn export(data: &Path, out: &Path) -> Result<Value, Failure> {
    let mut source = open(data)?;
    match portable::export(source.blocks(), out) {
        Ok(head) => Ok(json!({ "ok": true, "head": head_fields(&head) })),
        Err(ExportError::Journal(error)) => {
            Err(journal_failure(&error, source.offset(), &Head::START))
        }
        Err(ExportError::File(error)) => {
            Err(Failure::Failed(format!("cannot write {}: {error}", out.display())))
        }
    }
}

fn rebuild(path: &Path) -> Result<Value, Failure> {
    let mut source = open(path)?;
    let mut exchange = Exchange::new();
    let mut effects_count = 0_u64;
    let replayed = replay(source.blocks(), &mut exchange, |_, effects| {
        let count = u64::try_from(effects.len()).unwrap_or(u64::MAX);
        effects_count = effects_count.saturating_add(count);
    });
    let broken = |error: &dyn std::fmt::Display| {
        Failure::Damaged(json!({
            "ok": false,
            "error": error.to_string(),
            "record": exchange.sequence().get(),
        }))
    };
    let head = match replayed {
        Ok(head) => head,
        Err(ReplayError::Journal(error)) => {
            return Err(journal_failure(&error, source.offset(), &Head::START));
        }
        Err(error @ ReplayError::Broken { .. }) => return Err(broken(&error)),
    };
    exchange.check().map_err(|error| broken(&error))?;
    let digest = exchange.digest().map_err(|error| broken(&error))?;
    Ok(json!({
        "ok": true,
        "state": digest.to_string(),
        "effects": effects_count,
        "head": head_fields(&head),
    }))
}

fn open(path: &Path) -> Result<Source, Failure> {
    Source::open(path).map_err(|error| match error {
        SourceError::Damaged(error) => {
            Failure::Damaged(json!({ "ok": false, "error": error.to_string() }))
        }
        SourceError::Failed(error) => Failure::Failed(error),
    })
}

/// Damage says the block it is in, in a file also the byte at which that block begins.
fn journal_failure(error: &JournalError, offset: Option<u64>, sound: &Head) -> Failure {
    match error {
        JournalError::Damaged(damage) => Failure::Damaged(json!({
            "ok": false,
            "error": error.to_string(),
            "block": damage.block.get(),
            "offset": offset,
            "sound_until": sound.sequence.get(),
        })),
        _ => Failure::Failed(error.to_string()),
    }
}

fn head_fields(head: &Head) -> Value {
    json!({
        "sequence": head.sequence.get(),
        "hash": head.hash.to_string(),
        "time_ms": head.time.get(),
    })
}
