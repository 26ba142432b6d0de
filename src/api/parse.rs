//! Parses single values from a client's text: exact forms only, nothing guessed or rounded.

use std::borrow::Cow;

use chrono::DateTime;
use uuid::Uuid;

use super::problem::FieldCode;
use crate::engine::past::Moment;
use crate::exchange::catalogue::Outcome;
use crate::exchange::command::{Role, SelfTradePrevention, Side, TradingMode};
use crate::exchange::fees::FeeRate;
use crate::exchange::ids::{
    CategoryId, EventId, KeyId, MarketId, OrderId, TOKEN_BYTES_MAX, Token, UserId,
};
use crate::exchange::lifecycle::MarketStatus;
use crate::exchange::units::{Lots, Money, Sequence, SettlementPrice, Tick, TimeMs, UnitError};
use crate::projection::search::Words;

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

/// A past moment: a record's sequence number, or a time.
pub fn past_moment(text: &str) -> Read<Moment> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits(text).map(|sequence| Moment::After(Sequence::new(sequence)));
    }
    moment(text).map(Moment::Until).map_err(|fault| match fault.code {
        FieldCode::OutOfBounds => fault,
        _ => Fault::invalid("must be a sequence number or a moment like 2030-01-31T18:00:00.000Z"),
    })
}

/// Largest URL, in bytes: what browsers and proxies agree to carry.
pub const URL_BYTES_MAX: usize = 2048;

/// An `http` or `https` URL whose host is a name or an IPv4 address, without credentials: the part
/// of the syntax that all URL parsers read alike.
pub fn url(text: &str) -> Read<String> {
    if text.len() > URL_BYTES_MAX {
        return Err(Fault::new(
            FieldCode::OutOfBounds,
            format!("must have at most {URL_BYTES_MAX} bytes"),
        ));
    }
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let (host, port) = authority.split_once(':').unwrap_or((authority, "80"));
    let named = !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'));
    let ported = matches!(port.len(), 1..=5) && port.bytes().all(|b| b.is_ascii_digit());
    let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
    if named && ported && plain {
        Ok(text.to_owned())
    } else {
        Err(Fault::invalid("must be an http or https URL"))
    }
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

/// A text for people of at most `bytes_max` bytes in UTF-8, without control characters other
/// than line breaks and tabs. It may be empty.
pub fn prose(text: &str, bytes_max: usize) -> Read<String> {
    if text.len() > bytes_max {
        return Err(Fault::new(
            FieldCode::OutOfBounds,
            format!("must have at most {bytes_max} bytes"),
        ));
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(Fault::invalid("must not have control characters"));
    }
    Ok(text.to_owned())
}

/// A text as [`prose`], but not blank.
pub fn words(text: &str, bytes_max: usize) -> Read<String> {
    if text.trim().is_empty() {
        return Err(Fault::invalid("must not be empty"));
    }
    prose(text, bytes_max)
}

/// Longest search text, in bytes: that of the longest question.
const SEARCH_BYTES_MAX: usize = 1000;

/// Words to search for.
pub fn search_words(text: &str) -> Read<Words> {
    let text = words(text, SEARCH_BYTES_MAX)?;
    Words::of(&text).ok_or_else(|| Fault::invalid("must have a word"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::units::ORDER_LOTS_MAX;

    #[test]
    fn only_the_hyphenated_form_is_a_uuid() {
        let id = "0192f0c1-2b3c-7d4e-8f50-617283940516";
        assert!(market_id(id).is_ok());
        assert!(market_id(&id.to_uppercase()).is_ok());
        for bad in ["", "x", &id.replace('-', ""), &format!("{{{id}}}"), &format!("urn:uuid:{id}")]
        {
            assert!(market_id(bad).is_err(), "{bad}");
        }
        assert!(category_ids(&format!("{id},{id}")).is_ok_and(|ids| ids.len() == 2));
        assert!(category_ids(&format!("{id},")).is_err());
        assert!(category_ids("").is_err());
    }

    #[test]
    fn names_in_paths_are_decoded_once() {
        let read = |text: &str| token_in_path(text).map(|token| token.to_string()).ok();
        assert_eq!(read("a-1"), Some("a-1".to_owned()));
        assert_eq!(read("%2Fa%25%2f+"), Some("/a%/+".to_owned()));
        assert_eq!(read("%2525"), Some("%25".to_owned()));
        for bad in ["", "%", "%2", "%zz", "a%20b", "%C3%A9", "%+1", "%ff"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn integers_are_plain_digits() {
        assert_eq!(digits("0020"), Ok(20));
        assert_eq!(digits("99999999999999999999999"), Ok(u64::MAX));
        for bad in ["", "+1", "-1", "1.0", "1e3", " 1", "٣"] {
            assert!(digits(bad).is_err(), "{bad}");
        }
    }

    /// Every faulty decimal gets an error that states the rule.
    #[test]
    fn a_wrong_decimal_is_answered_with_what_is_allowed() {
        let detail = |fault: Option<Fault>| fault.unwrap().detail.into_owned();
        for bad in ["0.605", "1", "0.00", "0.6 ", "-0.10", "60", ""] {
            let told = detail(tick(bad).err());
            assert!(told.contains("0.01 to 0.99 in steps of 0.01"), "{bad}: {told}");
        }
        assert!(detail(lots("0.0000001").err()).starts_with("has too many decimals"));
        assert!(detail(lots("0").err()).starts_with("is out of range"));
        for bad in ["0", "100000001", "0.0000001", "1e3"] {
            assert!(detail(lots(bad).err()).contains("at most 100000000"), "{bad}");
        }
        assert_eq!(lots("100000000").map(Lots::get), Ok(ORDER_LOTS_MAX));
        assert!(detail(money("0").err()).contains("more than 0"));
        assert!(detail(settlement_price("1.01").err()).contains("0.00 to 1.00"));
    }

    #[test]
    fn moments_are_converted_to_utc() {
        let utc = moment("2030-01-31T18:00:00.000Z").unwrap();
        assert_eq!(moment("2030-01-31T15:00:00-03:00"), Ok(utc));
        assert_eq!(moment("1969-12-31T23:59:59Z").unwrap_err().code, FieldCode::OutOfBounds);
        for bad in ["2030-01-31", "2030-01-31T18:00:00", "2030-02-30T00:00:00Z", "now", ""] {
            assert_eq!(moment(bad).unwrap_err().code, FieldCode::InvalidValue, "{bad}");
        }
    }

    #[test]
    fn urls_are_of_the_web() {
        for good in
            ["https://example.org/a.png", "http://h", "http://1.2.3.4:80?[", "https://a_b-c#é"]
        {
            assert!(url(good).is_ok(), "{good}");
        }
        let bad = ["", "ftp://h/x", "https://", "https:///x", "javascript:alert(1)", "http://a b"];
        let unlike =
            ["http://[", "http://h:", "http://h:123456", "http://u:p@h", "http://é", "http://:1"];
        for bad in bad.into_iter().chain(unlike) {
            assert!(url(bad).is_err(), "{bad}");
        }
        assert!(url(&format!("http://{}", "a".repeat(URL_BYTES_MAX))).is_err());
    }

    #[test]
    fn texts_are_bounded_in_bytes() {
        assert_eq!(words("ção", 5).as_deref(), Ok("ção"));
        assert_eq!(words("ção", 4).unwrap_err().code, FieldCode::OutOfBounds);
        assert!(words(" \n", 10).is_err() && prose("", 10).is_ok());
        assert!(prose("a\u{0}", 10).is_err());
    }
}
