//! Parses single values from a client's text: exact forms only, nothing guessed or rounded.

use std::borrow::Cow;

use chrono::DateTime;
use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;
use url::{Host, Url};
use uuid::Uuid;

use super::bounds::{NAME_CHARS_MAX, SLUG_BYTES_MAX, URL_CHARS_MAX};
use super::problem::FieldCode;
use super::scopes::scope_name;
use engine::past::Moment;
use exchange::catalogue::Outcome;
use exchange::command::{Role, SelfTradePrevention, Side, TradingMode};
use exchange::fees::FeeRate;
use exchange::ids::{
    CategoryId, EventId, GROUP_BYTES_MAX, Group, KeyId, MarketId, OrderId, TOKEN_BYTES_MAX, Token,
    UserId,
};
use exchange::market::MarketStatus;
use exchange::units::{Lots, Money, Sequence, SettlementPrice, Tick, TimeMs, UnitError};
use views::search::Words as Sought;

/// The fault of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The stable code.
    pub code: FieldCode,
    /// The same for people.
    pub detail: Cow<'static, str>,
}

impl Fault {
    /// A fault with its sentence.
    pub fn new(code: FieldCode, detail: impl Into<Cow<'static, str>>) -> Fault {
        Fault { code, detail: detail.into() }
    }

    /// A fault of a value that is not allowed here.
    pub fn invalid(detail: &'static str) -> Fault {
        Fault::new(FieldCode::InvalidValue, detail)
    }
}

/// What is said of a text that is no id.
const NO_ID: &str = "must be a UUID";

/// The result of reading one value.
pub type Read<T> = Result<T, Fault>;

/// A value that a client writes as text: in a path, a query, or a string of JSON.
pub trait Written: Sized {
    /// Reads it.
    fn read(text: &str) -> Read<Self>;
}

/// Reads a text as the value that is wanted.
pub fn text<T: Written>(text: &str) -> Read<T> {
    T::read(text)
}

/// Boxes what is large and seldom given.
impl<T: Written> Written for Box<T> {
    fn read(text: &str) -> Read<Box<T>> {
        T::read(text).map(Box::new)
    }
}

fn uuid(text: &str) -> Read<Uuid> {
    // The crate also accepts braces, `urn:uuid:` and no hyphens; the interface has one form.
    const HYPHENATED_LEN: usize = 36;
    let parsed = if text.len() == HYPHENATED_LEN { Uuid::try_parse(text).ok() } else { None };
    parsed.ok_or_else(|| Fault::invalid(NO_ID))
}

/// The fault of an id in a path or query, where a market or an event may be named by its slug.
pub fn or_slug(name: &str, fault: Fault) -> Fault {
    match name {
        "marketId" | "marketIds" if fault.detail == NO_ID => {
            Fault::invalid("must be a UUID or the slug of a market")
        }
        "eventId" if fault.detail == NO_ID => {
            Fault::invalid("must be a UUID or the slug of an event")
        }
        _ => fault,
    }
}

macro_rules! ids {
    ($($Id:ident),*) => {$(
        impl Written for $Id {
            fn read(text: &str) -> Read<$Id> {
                uuid(text).map($Id::from_uuid)
            }
        }
    )*};
}

ids!(UserId, KeyId, CategoryId, EventId, MarketId, OrderId);

/// The number of a record, by which a thing that it made is known.
impl Written for Sequence {
    fn read(text: &str) -> Read<Sequence> {
        digits(text).map(Sequence::new)
    }
}

/// A token chosen by the client, such as a client order id.
impl Written for Token {
    fn read(text: &str) -> Read<Token> {
        let detail = || format!("must be 1 to {TOKEN_BYTES_MAX} visible ASCII characters");
        Token::new(text).ok_or_else(|| Fault::new(FieldCode::InvalidValue, detail()))
    }
}

/// The name of a group of orders.
impl Written for Group {
    fn read(text: &str) -> Read<Group> {
        let detail = || format!("must be 1 to {GROUP_BYTES_MAX} visible ASCII characters");
        Group::new(text).ok_or_else(|| Fault::new(FieldCode::InvalidValue, detail()))
    }
}

/// A token in a path, percent-encoded: `/`, `?`, `#` and `%` as `%2F` and the like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Escaped(pub Token);

impl Written for Escaped {
    fn read(text: &str) -> Read<Escaped> {
        let malformed = || Fault::invalid("has a % that is not followed by two hexadecimal digits");
        let mut parts = text.split('%');
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        for part in parts {
            let digits = part.get(..2).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
            let byte =
                digits.and_then(|two| u8::from_str_radix(two, 16).ok()).ok_or_else(malformed)?;
            bytes.push(byte);
            bytes.extend(part.bytes().skip(2));
        }
        Token::read(&String::from_utf8_lossy(&bytes)).map(Escaped)
    }
}

/// Category ids, separated by commas.
pub fn category_ids(text: &str) -> Read<Vec<CategoryId>> {
    text.split(',')
        .map(CategoryId::read)
        .collect::<Result<_, _>>()
        .map_err(|_| Fault::invalid("must be UUIDs separated by commas"))
}

/// `true` or `false`.
pub fn boolean(text: &str) -> Read<bool> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Fault::invalid("must be true or false")),
    }
}

/// Plain digits; a number beyond 64 bits becomes the largest one, which the caller's bounds refuse
/// or cap.
pub fn digits(text: &str) -> Read<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::invalid("must be an integer, in digits"));
    }
    Ok(text.parse().unwrap_or(u64::MAX))
}

macro_rules! words {
    ($($(#[$about:meta])* $Value:ty: $($word:literal => $value:expr),*; $detail:literal)*) => {$(
        $(#[$about])*
        impl Written for $Value {
            fn read(text: &str) -> Read<$Value> {
                match text {
                    $($word => Ok($value),)*
                    _ => Err(Fault::invalid($detail)),
                }
            }
        }
    )*};
}

/// The type of an order: there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderType {
    /// `LIMIT`.
    Limit,
}

/// The time in force, as the interface names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// `GTC`.
    Gtc,
    /// `IOC`.
    Ioc,
    /// `FOK`.
    Fok,
}

/// What a key may do, as traders name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope(pub Role);

words! {
    Outcome: "yes" => Outcome::Yes, "no" => Outcome::No; "must be yes or no"
    Side: "BUY" => Side::Buy, "SELL" => Side::Sell; "must be BUY or SELL"
    OrderType: "LIMIT" => OrderType::Limit; "must be LIMIT"
    Force: "GTC" => Force::Gtc, "IOC" => Force::Ioc, "FOK" => Force::Fok;
        "must be GTC, IOC or FOK"
    SelfTradePrevention:
        "CANCEL_TAKER" => SelfTradePrevention::CancelTaker,
        "CANCEL_MAKER" => SelfTradePrevention::CancelMaker,
        "CANCEL_BOTH" => SelfTradePrevention::CancelBoth;
        "must be CANCEL_TAKER, CANCEL_MAKER or CANCEL_BOTH"
}

impl Written for Role {
    fn read(text: &str) -> Read<Role> {
        let detail = "must be reader, trader, operator, auditor, metrics, cashier or catalogue";
        let found = Role::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| Fault::invalid(detail))
    }
}

impl Written for Scope {
    fn read(text: &str) -> Read<Scope> {
        let detail = "must be read, trade, operator, auditor, metrics, cashier or catalogue";
        let found = Role::ALL.into_iter().find(|role| scope_name(*role) == text);
        found.map(Scope).ok_or_else(|| Fault::invalid(detail))
    }
}

impl Written for TradingMode {
    fn read(text: &str) -> Read<TradingMode> {
        let detail = "must be normal, cancel-only or read-only";
        TradingMode::named(text).ok_or_else(|| Fault::invalid(detail))
    }
}

/// A market's status, in capitals.
impl Written for MarketStatus {
    fn read(text: &str) -> Read<MarketStatus> {
        MarketStatus::ALL
            .into_iter()
            .find(|status| status.name() == text)
            .ok_or_else(|| Fault::invalid("must be a market status, such as DRAFT or ACTIVE"))
    }
}

/// The fault of a decimal, with the rule it must follow.
fn unit_fault(error: UnitError, rule: &'static str) -> Fault {
    let must = |wrong| format!("{wrong}: must be {rule}");
    match error {
        UnitError::Form => Fault::new(FieldCode::InvalidValue, format!("must be {rule}")),
        UnitError::Precision => Fault::new(FieldCode::InvalidValue, must("has too many decimals")),
        UnitError::Range => Fault::new(FieldCode::OutOfBounds, must("is out of range")),
    }
}

/// A limit on an amount of money, which may be zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoneyLimit(pub Money);

macro_rules! decimals {
    ($($(#[$about:meta])* $Unit:ident: $parse:expr, $rule:literal)*) => {$(
        $(#[$about])*
        impl Written for $Unit {
            fn read(text: &str) -> Read<$Unit> {
                $parse(text).map_err(|error| unit_fault(error, $rule))
            }
        }
    )*};
}

decimals! {
    /// An order's price (interface 4.5).
    Tick: Tick::parse, "0.01 to 0.99 in steps of 0.01, as in 0.60"
    /// An order's quantity (semantics 1).
    Lots: Lots::parse, "more than 0, at most 100000000, in steps of 0.000001, as in 2.5"
    Money: Money::parse,
        "more than 0, at most 92233720368.54775807, in steps of 0.00000001, as in 25.00"
    MoneyLimit: |text| Money::parse_limit(text).map(MoneyLimit),
        "0 to 92233720368.54775807, in steps of 0.00000001, as in 25.00"
    SettlementPrice: SettlementPrice::parse, "0.00 to 1.00 in steps of 0.01, as in 0.50"
    FeeRate: FeeRate::parse, "0 to 1 with at most four decimals, as in 0.0700"
}

/// A time in RFC 3339 with any offset, truncated to milliseconds.
impl Written for TimeMs {
    fn read(text: &str) -> Read<TimeMs> {
        let moment = DateTime::parse_from_rfc3339(text)
            .map_err(|_| Fault::invalid("must be a moment such as 2030-01-31T18:00:00.000Z"))?;
        TimeMs::new(moment.timestamp_millis())
            .ok_or_else(|| Fault::new(FieldCode::OutOfBounds, "must be in the years 1970 to 9999"))
    }
}

/// A time in a query: there a `+` that was not escaped has become a space, and the offset may have
/// no colon.
pub fn moment_in_query(text: &str) -> Read<TimeMs> {
    let text = text.replace(' ', "+");
    let place = text.len().checked_sub(2).filter(|place| text.is_char_boundary(*place));
    let whole = TimeMs::read(&text);
    match place {
        Some(place) if whole.is_err() => {
            let (hours, minutes) = text.split_at(place);
            TimeMs::read(&format!("{hours}:{minutes}")).or(whole)
        }
        _ => whole,
    }
}

/// A past moment: a record's sequence number, or a time.
pub fn past_moment(text: &str) -> Read<Moment> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits(text).map(|sequence| Moment::After(Sequence::new(sequence)));
    }
    moment_in_query(text).map(Moment::Until).map_err(|fault| match fault.code {
        FieldCode::OutOfBounds => fault,
        _ => Fault::invalid("must be a sequence number or a moment like 2030-01-31T18:00:00.000Z"),
    })
}

/// An `http` or `https` URL of the characters of RFC 3986, without credentials, that all parsers
/// read alike: its host is written as it is meant. It is stored as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebUrl(pub String);

impl Written for WebUrl {
    fn read(text: &str) -> Read<WebUrl> {
        not_longer(text, URL_CHARS_MAX)?;
        let fault = || Fault::invalid("must be an http or https URL");
        let (scheme, rest) = text.split_once("://").ok_or_else(fault)?;
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let parsed = Url::parse(text).map_err(|_| fault())?;
        let host = parsed.host_str().unwrap_or_default();
        let written = authority.get(..host.len()).is_some_and(|own| own.eq_ignore_ascii_case(host));
        // An IPv6 address has several forms, none of which could be a name.
        let meant = written || matches!(parsed.host(), Some(Host::Ipv6(_)));
        if ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web))
            && meant
            && authority.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b))
            && is_of_url(rest)
        {
            Ok(WebUrl(text.to_owned()))
        } else {
            Err(fault())
        }
    }
}

/// Whether this is a path, query and fragment as RFC 3986 has them.
fn is_of_url(text: &str) -> bool {
    let sign = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/?#@!$&'()*+,;=%".contains(&b);
    let hex = |part: &str| part.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    text.bytes().all(sign) && text.split('%').skip(1).all(hex) && text.matches('#').count() <= 1
}

/// A category's short name for URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slug(pub String);

impl Written for Slug {
    fn read(text: &str) -> Read<Slug> {
        let allowed =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        if text.is_empty() || text.len() > SLUG_BYTES_MAX || !text.bytes().all(allowed) {
            return Err(Fault::invalid(
                "must be 1 to 64 small letters, digits, hyphens, underscores",
            ));
        }
        Ok(Slug(text.to_owned()))
    }
}

/// Refuses a text of more characters. They are counted as JSON Schema and people count them.
fn not_longer(text: &str, chars_max: usize) -> Read<()> {
    if text.chars().nth(chars_max).is_none() {
        return Ok(());
    }
    let detail = format!("must have at most {chars_max} characters");
    Err(Fault::new(FieldCode::OutOfBounds, detail))
}

/// A text for people of at most so many characters, without control characters other than line
/// breaks and tabs. It may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prose<const MAX: usize>(pub String);

impl<const MAX: usize> Written for Prose<MAX> {
    fn read(text: &str) -> Read<Self> {
        not_longer(text, MAX)?;
        if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            return Err(Fault::invalid("must not have control characters"));
        }
        Ok(Prose(text.to_owned()))
    }
}

/// A text as [`Prose`], but not blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words<const MAX: usize>(pub String);

impl<const MAX: usize> Written for Words<MAX> {
    fn read(text: &str) -> Read<Self> {
        if text.trim().is_empty() {
            return Err(Fault::invalid("must not be empty"));
        }
        Prose::<MAX>::read(text).map(|Prose(text)| Words(text))
    }
}

/// A name that others see: words of which every character shows, in the order in which they are
/// stored. Otherwise two names could look the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(pub String);

impl Written for Name {
    fn read(text: &str) -> Read<Name> {
        let Words(name) = Words::<NAME_CHARS_MAX>::read(text)?;
        if name.chars().any(is_hidden) {
            return Err(Fault::invalid("must not have invisible or bidirectional characters"));
        }
        Ok(Name(name))
    }
}

macro_rules! owned {
    ($($Text:ident $(<const $MAX:ident>)?),*) => {$(
        impl$(<const $MAX: usize>)? From<$Text$(<$MAX>)?> for String {
            fn from($Text(text): $Text$(<$MAX>)?) -> String {
                text
            }
        }
    )*};
}

owned!(Prose<const MAX>, Words<const MAX>);

/// Whether nothing shows where it stands; those that turn the direction of a text are among them.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{2800}' | '\u{fff9}'..='\u{fffb}')
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(letter)
}

/// Longest search text: that of the longest question.
const SEARCH_CHARS_MAX: usize = 1000;

/// Words to search for.
impl Written for Sought {
    fn read(text: &str) -> Read<Sought> {
        let Words(text) = Words::<SEARCH_CHARS_MAX>::read(text)?;
        Sought::of(&text).ok_or_else(|| Fault::invalid("must have a word"))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/parse.rs"]
mod tests;
