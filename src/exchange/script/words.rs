//! The words of a line, bare or quoted; and the forms that parser and printer share: quoted texts
//! and spans of time.

use super::super::units::TimeMs;
use super::ScriptError;

/// Milliseconds of each unit of a span, longest first.
const SPAN_UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Without quotes.
    Bare(String),
    /// Between quotes.
    Quoted(String),
}

/// Splits a line into words.
pub fn split(line: &str) -> Result<Vec<Word>, ScriptError> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (text, after) = unquote(quoted)?;
            words.push(Word::Quoted(text));
            rest = after.trim_start();
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            words.push(Word::Bare(word.to_owned()));
            rest = after.trim_start();
        }
    }
    Ok(words)
}

/// Reads a quoted text after its first quote; returns the text and what follows it.
fn unquote(quoted: &str) -> Result<(String, &str), ScriptError> {
    let mut text = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next().ok_or(ScriptError::Quote)? {
            '"' => return Ok((text, chars.as_str())),
            '\\' => match chars.next().ok_or(ScriptError::Quote)? {
                'u' => {
                    let (code, after) = chars
                        .as_str()
                        .strip_prefix('{')
                        .and_then(|code| code.split_once('}'))
                        .ok_or(ScriptError::Quote)?;
                    let code = u32::from_str_radix(code, 16).map_err(|_| ScriptError::Quote)?;
                    text.push(char::from_u32(code).ok_or(ScriptError::Quote)?);
                    chars = after.chars();
                }
                c @ ('"' | '\\') => text.push(c),
                _ => return Err(ScriptError::Quote),
            },
            c => text.push(c),
        }
    }
}

/// Writes a text between quotes, always on one line.
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                quoted.extend([format!("\\u{{{:x}}}", u32::from(c))]);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Writes a span in the longest unit that needs no fraction.
pub fn span(ms: u64) -> String {
    let fitting = SPAN_UNITS.iter().find(|(_, unit)| ms != 0 && ms.is_multiple_of(*unit));
    match fitting.and_then(|(name, unit)| Some((name, ms.checked_div(*unit)?))) {
        Some((name, count)) => format!("{count}{name}"),
        None => "0s".to_owned(),
    }
}

/// Reads a span, in ms.
fn parse_span(text: &str) -> Result<u64, ScriptError> {
    let bad = || ScriptError::Time(text.to_owned());
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
    let (digits, unit) = text.split_at(digits_end);
    let (_, unit_ms) = SPAN_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?;
    let count: u64 = digits.parse().map_err(|_| bad())?;
    count.checked_mul(*unit_ms).ok_or_else(bad)
}

/// Reads a span of whole seconds.
pub fn parse_seconds(text: &str) -> Result<u32, ScriptError> {
    let ms = parse_span(text)?;
    let seconds = u32::try_from(ms / 1000).ok().filter(|_| ms.is_multiple_of(1000));
    seconds.ok_or_else(|| ScriptError::Time(text.to_owned()))
}

/// Writes a time relative to another: `+5s`, `-5s`.
pub fn moment(moment: TimeMs, now: TimeMs) -> String {
    let sign = if moment < now { '-' } else { '+' };
    format!("{sign}{}", span(moment.get().abs_diff(now.get())))
}

/// Reads a time relative to another.
pub fn parse_moment(text: &str, now: TimeMs) -> Result<TimeMs, ScriptError> {
    let bad = || ScriptError::Time(text.to_owned());
    let (before, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').ok_or_else(bad)?),
    };
    let ms = i64::try_from(parse_span(rest).map_err(|_| bad())?).map_err(|_| bad())?;
    let moment = if before { now.get().checked_sub(ms) } else { now.get().checked_add(ms) };
    moment.and_then(TimeMs::new).ok_or_else(bad)
}
