//! `diff`: the first record in which two journals differ.

use std::convert::Infallible;
use std::path::Path;

use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::units::Sequence;
use journal::block::{Block, Head};
use journal::replay::{self, ReplayFault, Replayer};
use journal::{Blocks, Durable, JournalError};
use serde_json::{Value, json};

use crate::answer::{Answer, Failure, head_fields};
use crate::dump::Scribe;
use crate::moment::rfc3339;
use crate::pass::{Sound, journal_failure, replay_failure, size};
use crate::progress::Progress;
use crate::source::Source;

/// A journal's records one by one with their effects, one block in memory at a time. Each block is
/// checked against its recorded results before its records are returned.
struct Records<'a> {
    blocks: Blocks<'a>,
    replayer: Replayer,
    block: Option<Durable<Block>>,
    effects: Vec<Effect>,
    ends: Ends,
    next: usize,
    sound: Sound,
    /// Bytes of the blocks before the next one.
    bytes: u64,
}

/// The end of each record's effects in [`Records::effects`].
#[derive(Default)]
struct Ends(Vec<usize>);

impl replay::Listener for Ends {
    type Stop = Infallible;

    fn after(
        &mut self,
        _exchange: &Exchange,
        _record: &Record,
        effects: &[Effect],
    ) -> Result<(), Infallible> {
        let before = self.0.last().copied().unwrap_or(0);
        self.0.push(before.saturating_add(effects.len()));
        Ok(())
    }
}

/// A journal is faulty.
enum Unsound {
    Journal(JournalError),
    /// A fault in the block with this first sequence number.
    Fault(ReplayFault, Sequence),
}

impl<'a> Records<'a> {
    fn of(blocks: Blocks<'a>) -> Records<'a> {
        let (effects, ends) = (Vec::new(), Ends::default());
        let (replayer, sound) = (Replayer::new(), Sound::START);
        Records { blocks, replayer, block: None, effects, ends, next: 0, sound, bytes: 0 }
    }

    fn next(&mut self) -> Result<Option<Record>, Unsound> {
        loop {
            let record = self.block.as_ref().and_then(|block| block.records().get(self.next));
            if let Some(record) = record {
                self.next = self.next.saturating_add(1);
                return Ok(Some(record.clone()));
            }
            let block = self.blocks.next().transpose().map_err(Unsound::Journal)?;
            let Some(block) = block else { return Ok(None) };
            self.effects.clear();
            self.ends.0.clear();
            match self.replayer.apply(&block, &mut self.effects, &mut self.ends) {
                Ok(()) => {}
                Err(replay::Stop::Fault(fault)) => {
                    return Err(Unsound::Fault(fault, block.first()));
                }
                Err(replay::Stop::Listener(never)) => match never {},
            }
            self.sound.read(&block);
            self.bytes = self.bytes.saturating_add(size(block.bytes().len()));
            (self.block, self.next) = (Some(block), 0);
        }
    }

    /// The effects of the record returned last.
    fn effects(&self) -> &[Effect] {
        let end = |count: usize| self.ends.0.get(count).copied();
        let last = self.next.saturating_sub(1);
        let from = last.checked_sub(1).and_then(end).unwrap_or(0);
        self.effects.get(from..end(last).unwrap_or(from)).unwrap_or_default()
    }
}

/// The number of records that the two journals share, and the first record of each after those.
struct Parting {
    shared: u64,
    scribe: Scribe,
    first: Option<Record>,
    second: Option<Record>,
}

/// Shows where two journals differ, or that one is a prefix of the other, or that they are equal.
pub fn diff(first: &Path, second: &Path) -> Result<Answer, Failure> {
    let (mut one, mut other) = (Source::open(first)?, Source::open(second)?);
    let progress = Progress::over(one.extent(), false);
    let (mut ours, mut theirs) = (Records::of(one.blocks()?), Records::of(other.blocks()?));
    let walked = walk(&mut ours, &mut theirs, &progress);
    drop(progress);
    let (sounds, ends) = ([ours.sound, theirs.sound], [ours.bytes, theirs.bytes]);
    drop((ours, theirs));
    let parting = walked.map_err(|(unsound, second_failed)| {
        let (source, index) = if second_failed { (&other, 1) } else { (&one, 0) };
        let offset = source.offset().map(|_| ends.get(index).copied().unwrap_or_default());
        let sound = sounds.get(index).copied().unwrap_or(Sound::START);
        let failure = match unsound {
            Unsound::Journal(error) => source.placed(journal_failure(&error, offset, &sound)),
            Unsound::Fault(fault, block) => replay_failure(&fault, block, offset),
        };
        name_journal(failure, if second_failed { second } else { first })
    })?;
    Ok(tell(&parting, [first, second], &sounds.map(|sound| sound.head)))
}

/// Adds which of the two journals is damaged.
fn name_journal(failure: Failure, path: &Path) -> Failure {
    match failure {
        Failure::Damaged(mut value) => {
            if let Some(fields) = value.as_object_mut() {
                fields.insert("journal".to_owned(), path.display().to_string().into());
            }
            Failure::Damaged(value)
        }
        other => other,
    }
}

/// Finds the first record that they do not share. An error says whether it is in the second.
fn walk(
    ours: &mut Records<'_>,
    theirs: &mut Records<'_>,
    progress: &Progress,
) -> Result<Parting, (Unsound, bool)> {
    let mut parting = Parting { shared: 0, scribe: Scribe::new(), first: None, second: None };
    loop {
        let before = ours.bytes;
        let first = ours.next().map_err(|unsound| (unsound, false))?;
        let second = theirs.next().map_err(|unsound| (unsound, true))?;
        let record = match (first, second) {
            (Some(first), Some(second)) if first == second => first,
            (first, second) => {
                (parting.first, parting.second) = (first, second);
                return Ok(parting);
            }
        };
        parting.scribe.follow(&record, ours.effects());
        parting.shared = record.sequence.get();
        progress.passed(ours.bytes.saturating_sub(before), 1);
    }
}

fn tell(parting: &Parting, paths: [&Path; 2], heads: &[Head; 2]) -> Answer {
    let Parting { shared, scribe, first, second } = parting;
    let [one, other] = paths.map(|path| path.display().to_string());
    let shown = |record: &Option<Record>| -> Value {
        record.as_ref().map_or(Value::Null, |record| {
            json!({
                "sequence": record.sequence.get(),
                "time": rfc3339(record.time),
                "line": scribe.line(record),
            })
        })
    };
    let said = |path: &str, record: &Option<Record>| match record {
        Some(record) => {
            let (sequence, time) = (record.sequence, rfc3339(record.time));
            format!("{path}, record {sequence}, {time}:\n    {}\n", scribe.line(record))
        }
        None => format!("{path} ends after record {shared}.\n"),
    };
    let (result, mut text) = match (first, second) {
        (None, None) => ("equal", format!("Both journals hold the same {shared} records.\n")),
        (None, Some(_)) => {
            ("first_is_prefix", format!("{one} is the beginning of {other}: {shared} records.\n"))
        }
        (Some(_), None) => {
            ("second_is_prefix", format!("{other} is the beginning of {one}: {shared} records.\n"))
        }
        (Some(_), Some(_)) => {
            let next = shared.saturating_add(1);
            ("parted", format!("The journals say the same {shared} records and part at {next}.\n"))
        }
    };
    let equal = result == "equal";
    if equal {
        let [ours, theirs] = heads;
        if ours.hash != theirs.hash {
            text.push_str("They are cut into different blocks, so their hashes differ.\n");
        }
    } else {
        text.push_str(&said(&one, first));
        text.push_str(&said(&other, second));
    }
    let value = json!({
        "ok": equal,
        "code": if equal { Value::Null } else { "JOURNALS_DIFFER".into() },
        "result": result,
        "shared": shared,
        "first": shown(first),
        "second": shown(second),
        "heads": heads.each_ref().map(head_fields),
    });
    Answer::Text { value, text, sound: equal }
}
