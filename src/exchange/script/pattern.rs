//! The words of the rows of a table: a pattern such as `deposit {user} {amount}`, read and written.
//!
//! `{name}` stands for the words of a field. `{name?yes:no}` says `yes`, with the field's words for
//! `*`, if there is such a field and it is not false, and `no` if not; `{name=off?yes:no}` says
//! `no` where the field's words are `off`, too. What says nothing leaves no gap.

use super::ScriptError;
use super::names::Names;
use super::print::{Writer, moment, parse_moment, parse_seconds, quote, span};
use super::reader::Reader;
use crate::catalogue::{
    CategoryDraft, EventDraft, EventRevision, Localized, MarketDraft, MarketRevision,
};
use crate::command::Command;
use crate::fees::FeeRate;
use crate::ids::{CategoryNo, EventNo, MarketSet};
use crate::rules::Rules;
use crate::slugs::Slug;
use crate::table::{Kind, Named, Shown, Value};
use crate::units::{Money, TimeMs, UnitError};

/// What stands between two spaces of a pattern.
#[derive(Debug, Clone, Copy)]
struct Part {
    before: &'static str,
    field: Option<FieldPart>,
    after: &'static str,
}

#[derive(Debug, Clone, Copy)]
struct FieldPart {
    name: &'static str,
    /// The words that are not said.
    default: Option<&'static str>,
    /// What is said if the field is there, and if not.
    choice: Option<(&'static str, &'static str)>,
}

fn parts(pattern: &'static str) -> impl Iterator<Item = Part> {
    let mut inside = false;
    let words = pattern.split(move |c: char| {
        inside = (inside || c == '{') && c != '}';
        c == ' ' && !inside
    });
    words.map(|word| {
        let Some((before, rest)) = word.split_once('{') else {
            return Part { before: word, field: None, after: "" };
        };
        let (inside, after) = rest.split_once('}').unwrap_or((rest, ""));
        let (name, choice) = match inside.split_once('?') {
            Some((name, choice)) => (name, choice.split_once(':')),
            None => (inside, None),
        };
        let (name, default) = match name.split_once('=') {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        Part { before, field: Some(FieldPart { name, default, choice }), after }
    })
}

/// Writes a row's words; times are relative to `now`.
pub fn say(pattern: &'static str, fields: &[Shown<'_>], now: TimeMs, names: &Names) -> String {
    let mut said: Vec<String> = Vec::new();
    for Part { before, field, after } in parts(pattern) {
        let word = field.map_or(String::new(), |FieldPart { name, default, choice }| {
            let shown = fields.iter().find(|(field, _)| *field == name);
            let shown = shown.and_then(|(_, value)| words_of(name, value, now, names));
            let shown = shown.filter(|words| Some(words.as_str()) != default);
            match (choice, shown) {
                (Some((yes, _)), Some(words)) => yes.replace('*', &words),
                (Some((_, no)), None) => no.to_owned(),
                (None, words) => words.unwrap_or_default(),
            }
        });
        let word = [before, &word, after].concat();
        if !word.is_empty() {
            said.push(word);
        }
    }
    said.join(" ")
}

/// The words of a value; `None` for nothing and for false.
fn words_of(field: &str, value: &Value<'_>, now: TimeMs, names: &Names) -> Option<String> {
    Some(match value {
        Value::None | Value::Flag(false) | Value::Group(_) => return None,
        Value::Flag(true) => "yes".to_owned(),
        Value::Count(seconds) if field.ends_with("_seconds") => span(seconds.saturating_mul(1000)),
        Value::Count(count) => count.to_string(),
        Value::Decimal(text) => text.as_str().to_owned(),
        Value::Time(time) => moment(*time, now),
        Value::Text(text) if matches!(field, "group" | "reason") => quote(text),
        Value::Text(text) => (*text).to_owned(),
        Value::Word(word) => (*word).to_owned(),
        Value::Hash(hash) => data_encoding::HEXLOWER.encode(*hash),
        Value::User(no) => names.of_user(*no),
        Value::Key(no) => names.of_key(*no),
        Value::Category(no) => names.of_category(*no),
        Value::Event(no) => names.of_event(*no),
        Value::Market(no) => names.of_market(*no),
        Value::Order(no) => names.of_order(*no),
        Value::List(list) => {
            let words = list.iter().filter_map(|value| words_of(field, value, now, names));
            words.collect::<Vec<_>>().join(",")
        }
    })
}

/// Whether a word begins the pattern of a command: it cannot be a name.
pub fn is_verb(word: &str) -> bool {
    Command::WORDS.iter().any(|(_, pattern)| pattern.split(' ').next() == Some(word))
}

/// Reads the command whose pattern has most of its words at the line's beginning; `None` if no
/// pattern begins like this.
pub fn read(line: &mut Reader<'_>) -> Option<Result<Command, ScriptError>> {
    let agreeing = Command::WORDS.iter().filter_map(|(number, pattern)| {
        let mut agreed = (false, 0_u32);
        for (place, part) in parts(pattern).enumerate().filter(|(_, part)| part.field.is_none()) {
            if line.at(place) != Some(part.before) {
                return None;
            }
            agreed = (agreed.0 || place == 0, agreed.1.saturating_add(1));
        }
        Some((agreed, *number, *pattern))
    });
    let (_, number, pattern) = agreeing.max_by_key(|(agreed, ..)| *agreed)?;
    let command = given(pattern, line).and_then(|words| {
        let found =
            Command::of_fields(number, &Given { words, names: line.names, now: line.time })?;
        found.ok_or_else(|| ScriptError::Unexpected(pattern.to_owned()))
    });
    Some(command)
}

/// The words that a line gives for the fields of a pattern.
fn given<'a>(
    pattern: &'static str,
    line: &mut Reader<'a>,
) -> Result<Vec<(&'static str, &'a str)>, ScriptError> {
    let mut words = Vec::new();
    for Part { before, field, .. } in parts(pattern) {
        let Some(FieldPart { name, default, choice }) = field else {
            line.pass_over(before)?;
            continue;
        };
        let (before, there) = match choice {
            None => (before, true),
            Some((_, no)) if !no.is_empty() && line.peek() == Some(no) => {
                line.pass_over(no)?;
                ("", false)
            }
            Some((yes, no)) => match yes.split_once(' ') {
                Some((keyword, _)) if line.peek() == Some(keyword) => {
                    line.pass_over(keyword)?;
                    ("", true)
                }
                Some(_) => ("", false),
                None => ("", !no.is_empty() || line.peek().is_some()),
            },
        };
        if there {
            let word = line.either(name)?;
            let rest = word.strip_prefix(before);
            words.push((name, rest.ok_or_else(|| ScriptError::Unexpected(word.to_owned()))?));
        } else if let Some(default) = default {
            words.push((name, default));
        }
    }
    Ok(words)
}

/// Words for fields by name.
struct Given<'a> {
    words: Vec<(&'static str, &'a str)>,
    names: &'a Names,
    now: TimeMs,
}

impl Given<'_> {
    fn of(&self, field: &'static str) -> Result<&str, ScriptError> {
        let given = self.words.iter().find(|(name, _)| *name == field);
        given.map(|(_, word)| *word).ok_or(ScriptError::Missing(field))
    }
}

impl Named for Given<'_> {
    type Error = ScriptError;

    fn has(&self, field: &'static str) -> bool {
        self.of(field).is_ok()
    }

    fn number(&self, field: &'static str, kind: Kind) -> Result<u64, ScriptError> {
        self.names.number(kind, self.of(field)?)
    }

    fn markets(&self, field: &'static str) -> Result<MarketSet, ScriptError> {
        let list = self.of(field)?;
        let markets = list.split(',').map(|name| self.names.market(name));
        let markets = MarketSet::new(markets.collect::<Result<_, _>>()?);
        markets.ok_or_else(|| ScriptError::Unexpected(list.to_owned()))
    }

    fn unit<T>(
        &self,
        field: &'static str,
        parse: fn(&str) -> Result<T, UnitError>,
    ) -> Result<T, ScriptError> {
        let word = self.of(field)?;
        parse(word).map_err(|error| ScriptError::Unit(word.to_owned(), error))
    }

    fn word<T>(
        &self,
        field: &'static str,
        find: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ScriptError> {
        let word = self.of(field)?;
        find(word).ok_or_else(|| ScriptError::Unexpected(word.to_owned()))
    }

    fn time(&self, field: &'static str) -> Result<TimeMs, ScriptError> {
        parse_moment(self.of(field)?, self.now)
    }

    fn seconds(&self, field: &'static str) -> Result<u32, ScriptError> {
        parse_seconds(self.of(field)?)
    }
}

// The parts of a line that a keyword begins, each of which may be left out: one list for reading
// and writing. What is left out is as in a default, so only what differs from it is written.

/// Keywords of numbers that are written as spans of time.
const SPANS: [&str; 2] = ["repeats", "window"];

/// What has parts.
pub trait Parts: Sized {
    /// Writes the parts that differ from `base`.
    fn write_parts(&self, base: &Self, to: &mut Writer<'_>);

    /// Reads the part that this keyword begins; false if it begins none.
    fn read_part(&mut self, keyword: &str, from: &mut Reader<'_>) -> Result<bool, ScriptError>;

    /// Reads all parts to the line's end, where those left out are as here.
    fn with_parts(mut self, from: &mut Reader<'_>) -> Result<Self, ScriptError> {
        while let Some(keyword) = from.next_if_bare() {
            if !self.read_part(keyword, from)? {
                return Err(ScriptError::Unexpected(keyword.to_owned()));
            }
        }
        Ok(self)
    }
}

macro_rules! parts {
    ($($what:ident { $($keyword:literal $($field:ident).+),* $(,)? })*) => {$(
        impl Parts for $what {
            fn write_parts(&self, base: &Self, to: &mut Writer<'_>) {
                $(
                    if self.$($field).+ != base.$($field).+ {
                        to.word($keyword);
                        self.$($field).+.write($keyword, to);
                    }
                )*
            }

            fn read_part(
                &mut self,
                keyword: &str,
                from: &mut Reader<'_>,
            ) -> Result<bool, ScriptError> {
                match keyword {
                    $( $keyword => self.$($field).+ = Clause::read(keyword, from)?, )*
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    )*};
}

parts! {
    Rules {
        "version" version, "orders" user_open_orders_max, "venue-orders" venue_open_orders_max,
        "supply" money_supply_max, "repeats" repeat_window_seconds, "names" user_names_max,
    }
    CategoryDraft { "name" name, "slug" slug }
    EventDraft {
        "titles" titles, "subtitles" sub_titles, "descriptions" descriptions, "images" images,
        "highlighted" highlighted, "in" categories, "slug" slug,
    }
    EventRevision {
        "titles" titles, "subtitles" sub_titles, "descriptions" descriptions, "images" images,
        "highlighted" highlighted, "in" categories, "slug" slug,
    }
    MarketDraft {
        "questions" questions, "descriptions" descriptions, "yes" yes_text, "no" no_text,
        "logo" logo, "until" deadline, "in" categories, "highlighted" highlighted,
        "maker" fees.maker, "taker" fees.taker, "of" event, "window" dispute_window_seconds,
        "slug" slug,
    }
    MarketRevision {
        "questions" questions, "descriptions" descriptions, "yes" yes_text, "no" no_text,
        "logo" logo, "until" deadline, "in" categories, "highlighted" highlighted,
        "maker" maker_fee, "taker" taker_fee, "slug" slug,
    }
}

/// What may follow a keyword.
trait Clause: Sized {
    fn write(&self, keyword: &str, to: &mut Writer<'_>);

    fn read(keyword: &str, from: &mut Reader<'_>) -> Result<Self, ScriptError>;
}

/// How values follow a keyword: written, and read.
macro_rules! values {
    ($(
        $what:ty: ($it:ident, $keyword:pat_param, $to:ident) => $write:expr,
        $from:ident => $read:expr;
    )*) => {$(
        impl Clause for $what {
            fn write(&self, $keyword: &str, $to: &mut Writer<'_>) {
                let $it = self;
                $write;
            }

            fn read($keyword: &str, $from: &mut Reader<'_>) -> Result<Self, ScriptError> {
                $read
            }
        }
    )*};
}

values! {
    u32: (it, keyword, to) => to.word(if SPANS.contains(&keyword) {
        span(u64::from(*it).saturating_mul(1000))
    } else {
        it.to_string()
    }), from => if SPANS.contains(&keyword) { from.seconds() } else { from.number() };
    bool: (it, _, to) => to.word(if *it { "yes" } else { "no" }), from => from.flag();
    String: (it, _, to) => to.word(quote(it)), from => from.quoted();
    Localized: (it, _, to) => for text in [&it.pt, &it.en, &it.es] {
        to.word(quote(text));
    }, from => from.texts();
    Slug: (it, _, to) => to.word(quote(it.as_str())), from => from.slug();
    Vec<String>: (it, _, to) => for text in it {
        to.word(quote(text));
    }, from => Ok(std::iter::from_fn(|| from.next_if_quoted()).collect());
    TimeMs: (it, _, to) => to.word(moment(*it, to.now)), from => from.moment();
    Money: (it, _, to) => to.word(it.to_string()), from => from.unit("an amount", Money::parse);
    FeeRate: (it, _, to) => to.word(it.to_string()), from => from.unit("a rate", FeeRate::parse);
    EventNo: (it, _, to) => to.word(to.names.of_event(*it)), from => from.event();
    Vec<CategoryNo>: (it, _, to) => {
        let names: Vec<_> = it.iter().map(|no| to.names.of_category(*no)).collect();
        to.word(if names.is_empty() { "none".to_owned() } else { names.join(",") });
    }, from => from.categories();
}

impl<T: Clause> Clause for Option<T> {
    fn write(&self, keyword: &str, to: &mut Writer<'_>) {
        if let Some(value) = self {
            value.write(keyword, to);
        }
    }

    fn read(keyword: &str, from: &mut Reader<'_>) -> Result<Self, ScriptError> {
        T::read(keyword, from).map(Some)
    }
}
