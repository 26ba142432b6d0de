//! The text form of commands and effects: one line per command, below it its effects. The test
//! scripts, the replay tool and bug reports write and read the same lines.
//!
//! Must not know: how the exchange decides. It only names things and puts commands and effects into
//! words; where a name depends on a decision, it runs an exchange. A ladder is drawn from effects
//! alone, so that it shows where effects and book differ.
//!
//! # The lines
//! `NAME` is a letter, then letters, digits, `-` or `_`; `?7` may replace any name, for the thing
//! numbered 7. `SPAN` is `250ms`, `5s`, `3m`, `2h` or `1d`; `MOMENT` is a span from the record's
//! own time, `+5s` or `-5s`; `TEXTS` is three quoted texts: Portuguese, English, Spanish. Parts in
//! brackets may be left out; the defaults of texts are made from the name.
//! ```text
//! venue [USD] [version 1] [orders 10000] [venue-orders 33554432] [supply 90000000000]
//!       [repeats 1d] [names 1000000]
//! user ann ["Ann B."] [pic "https://..."]
//! key k1 for ann [operator|trader|reader|auditor|metrics|cashier|catalogue] [label "laptop"]
//!            [hash 64-hex-digits]
//! revoke k1 of ann
//! deposit ann 100.00
//! withdraw ann 5.00
//! take-fees ann 5.00
//! category weather [name "Weather"] [slug "weather"]
//! event storms [exclusive] [titles TEXTS] [subtitles TEXTS] [descriptions TEXTS] [images "a" "b"]
//!              [highlighted yes|no] [in weather,sport] [slug "storms"]
//! market rain [questions TEXTS] [descriptions TEXTS] [yes TEXTS] [no TEXTS] [logo "url"]
//!             [until MOMENT] [in weather,sport] [highlighted yes|no] [maker 0.0200] [taker 0.0700]
//!             [of storms] [window SPAN] [slug "rain"]
//! revise event storms ...      with the parts of an event but `exclusive`
//! revise market rain ...       with the parts of a market but `of` and `window`
//! publish rain                 suspend, close, dispute likewise
//! reopen rain [until MOMENT]
//! resolve rain yes|no
//! void rain [0.50]
//! ann buy|sell yes|no 0.62 x5 [ioc|fok|expires MOMENT] [stp=cancel-taker|cancel-maker|cancel-both]
//!     [post-only] [reduce-only] [valid MOMENT] [copy bob] [client "ID"] [group "G"]
//!     [by k1] [on rain] [as s1]
//! ann amend s1 [price 0.61] [x4] [seen 0.62 x5 [filled x1]]
//! ann replace s1 buy yes 0.61 x4 ...      with the parts of an order
//! ann cancel s1
//! ann cancel all [group "G"] [by k1] [rain]
//! ann convert storms rain,snow x5      no contracts of rain and of snow
//! ann heartbeat SPAN|off [group "G"]
//! mode venue|ann normal|cancel-only|read-only
//! limit ann 50.00|none
//! clock
//! once ann "KEY" [part 1] [body 64-hex-digits] ...      with any of the lines above
//! by olga [with k1] [because "WHY"] [reference "ID"] [evidence "URL"] [sha256 64-hex-digits] ...
//!     an operator's act, with any of the lines above; after `once`
//! ```
//! An order without `on` goes to the market of the order before it, or to the one created since;
//! one without `as` is named by its owner and count: `ann.3`. A line may begin with the time passed
//! since the line before, `+5s clock`, or with an absolute time in ms since 1970, `@1700000000000`.
//! Lines that begin with `#` are comments. A script that does not begin with record 1 begins with
//! the line `from 17`.

pub mod names;
pub mod parse;
mod pattern;
pub mod print;
pub mod reader;

use super::Exchange;
use super::command::Record;
use super::effect::Effect;
use super::units::{Sequence, UnitError};
use names::Names;

/// Word of the line that says at which record a script begins.
const FROM: &str = "from";

/// A parsed line: the record, and the name that it gives to what it creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The record.
    pub record: Record,
    /// Name of the user, key, category, event, market or order created; `None` for a default.
    pub name: Option<String>,
}

/// Whether a record created what it asked for. Things are numbered as they are created, so the
/// names of later things depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It was executed.
    Taken,
    /// It was refused, or repeated an earlier one, and changed nothing.
    Refused,
}

impl Verdict {
    /// The verdict of a record with these effects.
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
    /// A word that is not allowed where it is.
    #[error("`{0}` means nothing here")]
    Unexpected(String),
    /// A name of nothing.
    #[error("nothing is called `{0}`")]
    UnknownName(String),
    /// A name that is already used.
    #[error("`{0}` is already the name of something")]
    NameTaken(String),
    /// A word that cannot be a name.
    #[error("`{0}` cannot be a name")]
    NotAName(String),
    /// An invalid price, quantity or amount.
    #[error("`{0}` {1}")]
    Unit(String, UnitError),
    /// An invalid time or span of time, or one outside the years 1970 to 9999.
    #[error("`{0}` is not a time")]
    Time(String),
    /// A quoted text that does not end, or holds an unknown escape.
    #[error("a quoted text is not well formed")]
    Quote,
    /// The error of one line, with its number from 1.
    #[error("line {0}: {1}")]
    At(usize, Box<ScriptError>),
}

/// Finds the verdict of each record by applying it to an exchange of its own. Records that do not
/// begin with the first, or that no exchange can apply, have no known verdict; writer and reader
/// both count them as taken.
struct ShadowExchange(Option<Exchange>);

impl ShadowExchange {
    fn from(first: Sequence) -> ShadowExchange {
        ShadowExchange((first == Sequence::new(1)).then(Exchange::new))
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

/// Writes records with consecutive sequence numbers as a script that parses to the same records.
pub fn print(records: &[Record]) -> String {
    let first = records.first().map_or(Sequence::new(1), |record| record.sequence);
    let mut names = Names::starting_at(first);
    let mut shadow = ShadowExchange::from(first);
    let mut script = String::new();
    if first != Sequence::new(1) {
        script = format!("{FROM} {first}\n");
    }
    for record in records {
        let line = names.christen(record.clone());
        script.push_str(&print::line(&line, &names));
        script.push('\n');
        names.follow(&line, shadow.verdict(&line.record));
    }
    script
}

/// Parses a script into records.
pub fn parse(script: &str) -> Result<Vec<Record>, ScriptError> {
    let mut names = Names::starting_at(Sequence::new(1));
    let mut shadow = ShadowExchange::from(Sequence::new(1));
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
            shadow = ShadowExchange::from(Sequence::new(first));
            continue;
        }
        let line = parse::line(text, &names).map_err(at)?;
        names.follow(&line, shadow.verdict(&line.record));
        records.push(line.record);
    }
    Ok(records)
}

#[cfg(test)]
#[path = "../../../tests/unit/exchange/script.rs"]
mod tests;
