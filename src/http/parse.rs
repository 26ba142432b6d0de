//! Parses single values from a client's text: exact forms only, nothing guessed or rounded.

use std::borrow::Cow;

use chrono::DateTime;
use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;
use url::{Host, Url};
use uuid::Uuid;

use super::bounds::{NAME_CHARS_MAX, URL_CHARS_MAX};
use super::problem::FieldCode;
use engine::past::Moment;
use exchange::catalogue::Outcome;
use exchange::command::{Role, SelfTradePrevention, Side, TradingMode};
use exchange::fees::FeeRate;
use exchange::ids::{
    CategoryId, EventId, KeyId, MarketId, OrderId, TOKEN_BYTES_MAX, Token, UserId,
};
use exchange::lifecycle::MarketStatus;
use exchange::units::{Lots, Money, Sequence, SettlementPrice, Tick, TimeMs, UnitError};
use views::search::Words;

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

/// The result of reading one value.
pub type Read<T> = Result<T, Fault>;

fn uuid(text: &str) -> Read<Uuid> {
    // The crate also accepts braces, `urn:uuid:` and no hyphens; the interface has one form.
    const HYPHENATED_LEN: usize = 36;
    let parsed = if text.len() == HYPHENATED_LEN { Uuid::try_parse(text).ok() } else { None };
    parsed.ok_or_else(|| Fault::invalid("must be a UUID"))
}

/// A user's id.
pub fn user_id(text: &str) -> Read<UserId> {
    uuid(text).map(UserId::from_uuid)
}

/// A key's id.
pub fn key_id(text: &str) -> Read<KeyId> {
    uuid(text).map(KeyId::from_uuid)
}

/// A category's id.
pub fn category_id(text: &str) -> Read<CategoryId> {
    uuid(text).map(CategoryId::from_uuid)
}

/// An event's id.
pub fn event_id(text: &str) -> Read<EventId> {
    uuid(text).map(EventId::from_uuid)
}

/// A market's id.
pub fn market_id(text: &str) -> Read<MarketId> {
    uuid(text).map(MarketId::from_uuid)
}

/// An order's id.
pub fn order_id(text: &str) -> Read<OrderId> {
    uuid(text).map(OrderId::from_uuid)
}

/// A token chosen by the client, such as a client order id.
pub fn token(text: &str) -> Read<Token> {
    let detail = || format!("must be 1 to {TOKEN_BYTES_MAX} visible ASCII characters");
    Token::new(text).ok_or_else(|| Fault::new(FieldCode::InvalidValue, detail()))
}

/// A token in a path, percent-encoded: `/`, `?`, `#` and `%` as `%2F` and the like.
pub fn token_in_path(text: &str) -> Read<Token> {
    let malformed = || Fault::invalid("has a % that is not followed by two hexadecimal digits");
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok()).ok_or_else(malformed)?;
        bytes.push(byte);
        bytes.extend(part.bytes().skip(2));
    }
    token(&String::from_utf8_lossy(&bytes))
}

/// Category ids, separated by commas.
pub fn category_ids(text: &str) -> Read<Vec<CategoryId>> {
    text.split(',')
        .map(category_id)
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

/// `yes` or `no`.
pub fn outcome(text: &str) -> Read<Outcome> {
    match text {
        "yes" => Ok(Outcome::Yes),
        "no" => Ok(Outcome::No),
        _ => Err(Fault::invalid("must be yes or no")),
    }
}

/// `BUY` or `SELL`.
pub fn side(text: &str) -> Read<Side> {
    match text {
        "BUY" => Ok(Side::Buy),
        "SELL" => Ok(Side::Sell),
        _ => Err(Fault::invalid("must be BUY or SELL")),
    }
}

/// `LIMIT`, the only type of order.
pub fn order_type(text: &str) -> Read<()> {
    if text == "LIMIT" { Ok(()) } else { Err(Fault::invalid("must be LIMIT")) }
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

/// `GTC`, `IOC` or `FOK`.
pub fn force(text: &str) -> Read<Force> {
    match text {
        "GTC" => Ok(Force::Gtc),
        "IOC" => Ok(Force::Ioc),
        "FOK" => Ok(Force::Fok),
        _ => Err(Fault::invalid("must be GTC, IOC or FOK")),
    }
}

/// `CANCEL_TAKER`, `CANCEL_MAKER` or `CANCEL_BOTH`.
pub fn self_trade(text: &str) -> Read<SelfTradePrevention> {
    match text {
        "CANCEL_TAKER" => Ok(SelfTradePrevention::CancelTaker),
        "CANCEL_MAKER" => Ok(SelfTradePrevention::CancelMaker),
        "CANCEL_BOTH" => Ok(SelfTradePrevention::CancelBoth),
        _ => Err(Fault::invalid("must be CANCEL_TAKER, CANCEL_MAKER or CANCEL_BOTH")),
    }
}

/// `reader`, `trader` or `operator`.
pub fn role(text: &str) -> Read<Role> {
    match text {
        "reader" => Ok(Role::Reader),
        "trader" => Ok(Role::Trader),
        "operator" => Ok(Role::Operator),
        _ => Err(Fault::invalid("must be reader, trader or operator")),
    }
}

/// `read`, `trade` or `operator`.
pub fn scope(text: &str) -> Read<Role> {
    match text {
        "read" => Ok(Role::Reader),
        "trade" => Ok(Role::Trader),
        "operator" => Ok(Role::Operator),
        _ => Err(Fault::invalid("must be read, trade or operator")),
    }
}

/// `normal`, `cancel-only` or `read-only`.
pub fn trading_mode(text: &str) -> Read<TradingMode> {
    let detail = "must be normal, cancel-only or read-only";
    TradingMode::named(text).ok_or_else(|| Fault::invalid(detail))
}

/// A market's status, in capitals.
pub fn market_status(text: &str) -> Read<MarketStatus> {
    MarketStatus::ALL
        .into_iter()
        .find(|status| status.name() == text)
        .ok_or_else(|| Fault::invalid("must be a market status, such as DRAFT or ACTIVE"))
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

/// An order's price (interface 4.5).
pub fn tick(text: &str) -> Read<Tick> {
    let rule = "0.01 to 0.99 in steps of 0.01, as in 0.60";
    Tick::parse(text).map_err(|error| unit_fault(error, rule))
}

/// An order's quantity (semantics 1).
pub fn lots(text: &str) -> Read<Lots> {
    let rule = "more than 0, at most 100000000, in steps of 0.000001, as in 2.5";
    Lots::parse(text).map_err(|error| unit_fault(error, rule))
}

/// An amount of money, more than zero.
pub fn money(text: &str) -> Read<Money> {
    let rule = "more than 0, at most 92233720368.54775807, in steps of 0.00000001, as in 25.00";
    Money::parse(text).map_err(|error| unit_fault(error, rule))
}

/// A limit on an amount of money; may be zero.
pub fn money_limit(text: &str) -> Read<Money> {
    Money::parse_limit(text).map_err(|error| {
        unit_fault(error, "0 to 92233720368.54775807, in steps of 0.00000001, as in 25.00")
    })
}

/// A settlement price.
pub fn settlement_price(text: &str) -> Read<SettlementPrice> {
    let rule = "0.00 to 1.00 in steps of 0.01, as in 0.50";
    SettlementPrice::parse(text).map_err(|error| unit_fault(error, rule))
}

/// A market's fee rate.
pub fn fee_rate(text: &str) -> Read<FeeRate> {
    let rule = "0 to 1 with at most four decimals, as in 0.0700";
    FeeRate::parse(text).map_err(|error| unit_fault(error, rule))
}

/// A time in RFC 3339 with any offset, truncated to milliseconds.
pub fn moment(text: &str) -> Read<TimeMs> {
    let moment = DateTime::parse_from_rfc3339(text)
        .map_err(|_| Fault::invalid("must be a moment such as 2030-01-31T18:00:00.000Z"))?;
    TimeMs::new(moment.timestamp_millis())
        .ok_or_else(|| Fault::new(FieldCode::OutOfBounds, "must be in the years 1970 to 9999"))
}

/// A time in a query: there a `+` that was not escaped has become a space, and the offset may have
/// no colon.
pub fn moment_in_query(text: &str) -> Read<TimeMs> {
    let text = text.replace(' ', "+");
    let place = text.len().checked_sub(2).filter(|place| text.is_char_boundary(*place));
    let whole = moment(&text);
    match place {
        Some(place) if whole.is_err() => {
            let (hours, minutes) = text.split_at(place);
            moment(&format!("{hours}:{minutes}")).or(whole)
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
pub fn url(text: &str) -> Read<String> {
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
        Ok(text.to_owned())
    } else {
        Err(fault())
    }
}

/// Whether this is a path, query and fragment as RFC 3986 has them.
fn is_of_url(text: &str) -> bool {
    let sign = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/?#@!$&'()*+,;=%".contains(&b);
    let hex = |part: &str| part.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    text.bytes().all(sign) && text.split('%').skip(1).all(hex) && text.matches('#').count() <= 1
}

/// Largest slug, in bytes: it is part of a URL that people may type.
pub const SLUG_BYTES_MAX: usize = 64;

/// A category's short name for URLs.
pub fn slug(text: &str) -> Read<String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    if text.is_empty() || text.len() > SLUG_BYTES_MAX || !text.bytes().all(allowed) {
        return Err(Fault::invalid("must be 1 to 64 small letters, digits, hyphens, underscores"));
    }
    Ok(text.to_owned())
}

/// Refuses a text of more characters. They are counted as JSON Schema and people count them.
fn not_longer(text: &str, chars_max: usize) -> Read<()> {
    if text.chars().nth(chars_max).is_none() {
        return Ok(());
    }
    let detail = format!("must have at most {chars_max} characters");
    Err(Fault::new(FieldCode::OutOfBounds, detail))
}

/// A text for people of at most `chars_max` characters, without control characters other than
/// line breaks and tabs. It may be empty.
pub fn prose(text: &str, chars_max: usize) -> Read<String> {
    not_longer(text, chars_max)?;
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(Fault::invalid("must not have control characters"));
    }
    Ok(text.to_owned())
}

/// A text as [`prose`], but not blank.
pub fn words(text: &str, chars_max: usize) -> Read<String> {
    if text.trim().is_empty() {
        return Err(Fault::invalid("must not be empty"));
    }
    prose(text, chars_max)
}

/// A name that others see: words of which every character shows, in the order in which they are
/// stored. Otherwise two names could look the same.
pub fn name(text: &str) -> Read<String> {
    let name = words(text, NAME_CHARS_MAX)?;
    if name.chars().any(is_hidden) {
        return Err(Fault::invalid("must not have invisible or bidirectional characters"));
    }
    Ok(name)
}

/// Whether nothing shows where it stands; those that turn the direction of a text are among them.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{2800}' | '\u{fff9}'..='\u{fffb}')
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(letter)
}

/// Longest search text: that of the longest question.
const SEARCH_CHARS_MAX: usize = 1000;

/// Words to search for.
pub fn search_words(text: &str) -> Read<Words> {
    let text = words(text, SEARCH_CHARS_MAX)?;
    Words::of(&text).ok_or_else(|| Fault::invalid("must have a word"))
}

#[cfg(test)]
#[path = "../../tests/unit/http/parse.rs"]
mod tests;
