//! The text form of commands and effects: one line a command, below it what came of it. The test
//! scripts, the replay tool and bug reports write and read the same lines.
//!
//! Must not know: how the exchange decides. It names things and puts commands and effects in
//! words; where a name depends on a decision, an exchange is asked. A ladder is drawn from effects
//! alone, so that it can contradict the book.
//!
//! # The lines
//! `NAME` is a letter, then letters, digits, `-` or `_`; `?7` stands wherever a name does, for
//! the thing numbered 7. `SPAN` is `250ms`, `5s`, `3m`, `2h` or `1d`; `MOMENT` is a span from the
//! record's own time, `+5s` or `-5s`; `TEXTS` is three quoted texts: Portuguese, English, Spanish.
//! Parts in brackets may be left out; their defaults are made from the name.
//! ```text
//! venue [USD] [version 1] [orders 10000] [venue-orders 33554432] [supply 90000000000]
//!       [repeats 1d] [names 1000000]
//! user ann ["Ann B."] [pic "https://..."]
//! key k1 for ann [operator|trader] [label "laptop"] [hash 64-hex-digits]
//! revoke k1 of ann
//! deposit ann 100.00
//! withdraw ann 5.00
//! take-fees ann 5.00
//! category weather [name "Weather"] [slug "weather"]
//! event storms [exclusive] [titles TEXTS] [subtitles TEXTS] [descriptions TEXTS] [images "a" "b"]
//!              [highlighted yes|no] [in weather,sport]
//! market rain [questions TEXTS] [descriptions TEXTS] [yes TEXTS] [no TEXTS] [logo "url"]
//!             [until MOMENT] [in weather,sport] [highlighted yes|no] [maker 0.0200] [taker 0.0700]
//!             [of storms] [window SPAN]
//! revise event storms ...      with the parts of an event but `exclusive`
//! revise market rain ...       with the parts of a market but the last two
//! publish rain                 suspend, close, dispute likewise
//! reopen rain [until MOMENT]
//! resolve rain yes|no
//! void rain [0.50]
//! ann buy|sell yes|no 0.62 x5 [ioc|fok|expires MOMENT] [stp=cancel-taker|cancel-maker|cancel-both]
//!     [post-only] [reduce-only] [valid MOMENT] [copy bob] [client "ID"] [on rain] [as s1]
//! ann amend s1 [price 0.61] [x4]
//! ann cancel s1
//! ann cancel all [rain]
//! ann convert storms rain,snow x5      no contracts of rain and of snow
//! ann heartbeat SPAN|off
//! mode venue|ann normal|cancel-only|read-only
//! limit ann 50.00|none
//! clock
//! once ann "KEY" [part 1] [body 64-hex-digits] ...      with any of the lines above
//! ```
//! An order without `on` goes to the market of the order before it, or to the one created since;
//! one without `as` is its owner's n-th: `ann.3`. A line may begin with the time that has passed
//! since the one before, `+5s clock`, or with a time of its own in ms since 1970, `@1700000000000`.
//! Lines that begin with `#` are remarks. A script that begins at another record than the first
//! says so in its first line: `from 17`.

mod drafts;
pub mod ladder;
pub mod names;
pub mod parse;
pub mod phrases;
pub mod print;
mod reader;
mod words;

use super::Exchange;
use super::command::Record;
use super::effect::Effect;
use super::units::{Sequence, UnitError};
use names::Names;

/// Word of the line that says at which record a script begins.
const FROM: &str = "from";

/// A command's line, read: the record, and the name that it gives to what it makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The record.
    pub record: Record,
    /// Name of the user, key, category, event, market or order it makes; `None` for a default.
    pub name: Option<String>,
}

/// Whether a record made what it asked for. Things are numbered as they are made, so names can
/// be followed only by one who knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It did.
    Taken,
    /// It changed nothing.
    Refused,
}

impl Verdict {
    /// What a record's effects say.
    pub const fn of(effects: &[Effect]) -> Verdict {
        match effects {
            [Effect::Refused(_) | Effect::Repeated { .. }, ..] => Verdict::Refused,
            _ => Verdict::Taken,
        }
    }
}

/// Why a text is no line of a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The line ends where more is needed.
    #[error("the line ends before {0}")]
    Missing(&'static str),
    /// A word that means nothing where it stands.
    #[error("`{0}` means nothing here")]
    Unexpected(String),
    /// A name that nothing has.
    #[error("nothing is called `{0}`")]
    UnknownName(String),
    /// A name that something has already.
    #[error("`{0}` is already the name of something")]
    NameTaken(String),
    /// A word that cannot be a name.
    #[error("`{0}` cannot be a name")]
    NotAName(String),
    /// A price, quantity or amount that is none.
    #[error("`{0}` {1}")]
    Unit(String, UnitError),
    /// A time or a span of time that is none, or outside the years 1970 to 9999.
    #[error("`{0}` is not a time")]
    Time(String),
    /// A quoted text that does not end, or holds an unknown escape.
    #[error("a quoted text is not well formed")]
    Quote,
    /// The error of one line, with its number from 1.
    #[error("line {0}: {1}")]
    At(usize, Box<ScriptError>),
}

/// Says of each record whether it made what it asked for, by applying it to an exchange of its
/// own. Of records that do not begin with the first, or that no exchange can apply, nobody knows;
/// they count as taken, for the writer of a script and for its reader alike.
struct Witness(Option<Exchange>);

impl Witness {
    fn from(first: Sequence) -> Witness {
        Witness((first == Sequence::new(1)).then(Exchange::new))
    }

    fn verdict(&mut self, record: &Record) -> Verdict {
        let mut effects = Vec::new();
        let applied = self.0.as_mut().map(|exchange| exchange.apply(record, &mut effects));
        if !matches!(applied, Some(Ok(()))) {
            self.0 = None;
        }
        Verdict::of(&effects)
    }
}

/// Writes records, dense in their sequence, as a script that reads back as the same records.
pub fn print(records: &[Record]) -> String {
    let first = records.first().map_or(Sequence::new(1), |record| record.sequence);
    let mut names = Names::starting_at(first);
    let mut witness = Witness::from(first);
    let mut script = String::new();
    if first != Sequence::new(1) {
        script = format!("{FROM} {first}\n");
    }
    for record in records {
        let line = names.christen(record.clone());
        script.push_str(&print::line(&line, &names));
        script.push('\n');
        names.follow(&line, witness.verdict(&line.record));
    }
    script
}

/// Reads a script as records.
pub fn parse(script: &str) -> Result<Vec<Record>, ScriptError> {
    let mut names = Names::starting_at(Sequence::new(1));
    let mut witness = Witness::from(Sequence::new(1));
    let mut records = Vec::new();
    for (index, text) in script.lines().enumerate() {
        let text = text.trim();
        let at = |error| ScriptError::At(index.saturating_add(1), Box::new(error));
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if let Some(first) = text.strip_prefix(FROM).filter(|_| records.is_empty()) {
            let first =
                first.trim().parse().map_err(|_| at(ScriptError::Unexpected(text.into())))?;
            names = Names::starting_at(Sequence::new(first));
            witness = Witness::from(Sequence::new(first));
            continue;
        }
        let line = parse::line(text, &names).map_err(at)?;
        names.follow(&line, witness.verdict(&line.record));
        records.push(line.record);
    }
    Ok(records)
}

#[cfg(test)]
mod tests;
