//! `dump`: records and their effects in the text form.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::script::names::Names;
use exchange::script::reader::phrase;
use exchange::script::{Verdict, print};
use exchange::units::Sequence;
use serde_json::json;

use crate::answer::{Answer, Failure};
use crate::moment::{Moment, rfc3339};
use crate::pass::{Listener, pass};
use crate::source::Source;

/// Prints records in the text form, in order. Orders are named by their record number: names of
/// their own would grow with history.
pub struct Scribe(Names);

impl Scribe {
    /// Before the first record.
    pub fn new() -> Scribe {
        Scribe(Names::starting_at(Sequence::ZERO.next()))
    }

    /// The line of the next record, without moving on.
    pub fn line(&self, record: &Record) -> String {
        print::line(&self.0.christen(record.clone()), &self.0)
    }

    /// Moves on past a record that had these effects.
    pub fn follow(&mut self, record: &Record, effects: &[Effect]) {
        // An order counted as refused gets no name.
        let verdict = match record.command.placement() {
            Some(_) => Verdict::Refused,
            None => Verdict::of(effects),
        };
        self.0.follow(&self.0.christen(record.clone()), verdict);
    }

    /// The effects of the record last passed to `follow`, as text.
    pub fn phrases(&self, record: &Record, effects: &[Effect]) -> Vec<String> {
        effects.iter().map(|effect| phrase(effect, record.time, &self.0)).collect()
    }
}

/// Prints records as they are read.
struct Printer<W> {
    out: W,
    json: bool,
    from: Option<Moment>,
    scribe: Scribe,
}

impl<W: Write> Listener for Printer<W> {
    fn after(
        &mut self,
        _exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        if self.from.is_some_and(|from| from.is_after(record)) {
            self.scribe.follow(record, effects);
            return Ok(());
        }
        let line = self.scribe.line(record);
        self.scribe.follow(record, effects);
        let phrases = self.scribe.phrases(record, effects);
        let (sequence, time) = (record.sequence, rfc3339(record.time));
        if self.json {
            let row = json!({
                "sequence": sequence.get(),
                "time": time,
                "line": line,
                "effects": phrases,
            });
            writeln!(self.out, "{row}")?;
            return Ok(());
        }
        writeln!(self.out, "# {sequence} {time}\n{line}")?;
        for phrase in phrases {
            writeln!(self.out, "#     {phrase}")?;
        }
        Ok(())
    }
}

/// Prints records with their effects: a script whose comments show the effects of each line.
pub fn dump(
    path: &Path,
    from: Option<Moment>,
    to: Option<Moment>,
    json: bool,
) -> Result<Answer, Failure> {
    let mut source = Source::open(path)?;
    let out = BufWriter::new(io::stdout().lock());
    let mut printer = Printer { out, json, from, scribe: Scribe::new() };
    let passed = pass(&mut source, to, true, &mut printer);
    printer.out.flush()?;
    passed?;
    Ok(Answer::Streamed)
}
