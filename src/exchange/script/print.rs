//! Prints a record as a line that parses to the same record.

use data_encoding::HEXLOWER;

use super::names::{Names, event_draft, key_hash, market_draft, picture};
use super::pattern::Parts;
use super::{Line, ScriptError, pattern};
use crate::catalogue::{CategoryDraft, EventRevision, MarketRevision, Outcome};
use crate::command::{
    Act, BodyHash, Command, IdempotencyKey, KeyHash, PlaceOrder, Role, SeenTerms,
    SelfTradePrevention, Side, TimeInForce,
};
use crate::ids::UserNo;
use crate::rules::Rules;
use crate::units::TimeMs;

/// Writes a line; `names` as they were before it.
pub fn line(line: &Line, names: &Names) -> String {
    let mut writer = Writer { words: Vec::new(), names, now: line.record.time };
    if writer.now > names.time() {
        writer.word(moment(writer.now, names.time()));
    } else if writer.now < names.time() {
        writer.word(format!("@{}", writer.now.get()));
    }
    if let Some(once) = &line.record.once {
        writer.once(once);
    }
    if let Some(act) = &line.record.act {
        writer.act(act);
    }
    writer.command(&line.record.command, line.name.as_deref());
    writer.words.join(" ")
}

/// A line being written.
pub struct Writer<'a> {
    words: Vec<String>,
    /// Names of things.
    pub names: &'a Names,
    /// The line's own time.
    pub now: TimeMs,
}

impl Writer<'_> {
    /// Adds a word.
    pub fn word(&mut self, word: impl Into<String>) {
        self.words.push(word.into());
    }

    fn part(&mut self, keyword: &str, word: impl Into<String>) {
        self.word(keyword);
        self.word(word);
    }

    fn once(&mut self, once: &IdempotencyKey) {
        self.part("once", self.names.of_user(once.caller));
        self.word(quote(once.key.as_str()));
        if once.part != 0 {
            self.part("part", once.part.to_string());
        }
        if once.body != BodyHash([0; 32]) {
            self.part("body", HEXLOWER.encode(&once.body.0));
        }
    }

    fn act(&mut self, act: &Act) {
        let Act { actor, key, reason, reference, evidence, evidence_hash } = act;
        self.part("by", self.names.of_user(*actor));
        if let Some(key) = key {
            self.part("with", self.names.of_key(*key));
        }
        if let Some(reason) = reason {
            self.part("because", quote(reason));
        }
        if let Some(reference) = reference {
            self.part("reference", quote(reference.as_str()));
        }
        if let Some(evidence) = evidence {
            self.part("evidence", quote(evidence));
        }
        if let Some(hash) = evidence_hash {
            self.part("sha256", HEXLOWER.encode(&hash.0));
        }
    }

    fn user(&mut self, user: UserNo) {
        self.word(self.names.of_user(user));
    }

    fn command(&mut self, command: &Command, name: Option<&str>) {
        let name = name.unwrap_or_default();
        match command {
            Command::OpenVenue(rules) => self.venue(rules),
            Command::CreateUser { profile_name, profile_pic } => {
                self.part("user", name);
                if profile_name != name {
                    self.word(quote(profile_name));
                }
                if *profile_pic != picture(name) {
                    self.part("pic", quote(profile_pic));
                }
            }
            Command::RenameUser { user, profile_name } => {
                self.part("rename", self.names.of_user(*user));
                self.word(quote(profile_name));
            }
            Command::AddKey { user, role, label, hash, ends } => {
                self.part("key", name);
                self.part("for", self.names.of_user(*user));
                self.key(name, *role, label, hash);
                if let Some(ends) = ends {
                    self.part("until", moment(*ends, self.now));
                }
            }
            Command::CreateCategory(draft) => {
                self.part("category", name);
                let base = CategoryDraft { name: name.to_owned(), slug: name.to_owned() };
                draft.write_parts(&base, self);
            }
            Command::CreateEvent(draft) => {
                self.part("event", name);
                if draft.mutually_exclusive {
                    self.word("exclusive");
                }
                draft.write_parts(&event_draft(name), self);
            }
            Command::CreateMarket(draft) => {
                self.part("market", name);
                draft.write_parts(&market_draft(name, self.now), self);
            }
            Command::ReviseEvent { event, revision } => {
                self.word("revise");
                self.part("event", self.names.of_event(*event));
                revision.write_parts(&EventRevision::default(), self);
            }
            Command::ReviseMarket { market, revision } => {
                self.word("revise");
                self.part("market", self.names.of_market(*market));
                revision.write_parts(&MarketRevision::default(), self);
            }
            Command::PlaceOrder(order) => {
                self.user(order.user);
                self.place(order, name);
            }
            Command::ReplaceOrder { replaced, terms } => {
                self.user(terms.user);
                self.part("replace", self.names.of_order(*replaced));
                self.place(terms, name);
            }
            Command::AmendOrder { .. } => self.amend(command),
            said => {
                let row = Command::WORDS.iter().find(|(number, _)| *number == said.number());
                let pattern = row.map_or("", |(_, pattern)| pattern);
                self.word(pattern::say(pattern, &said.fields(), self.now, self.names));
            }
        }
    }

    fn amend(&mut self, command: &Command) {
        let Command::AmendOrder { user, order, price, quantity, seen } = command else { return };
        self.user(*user);
        self.part("amend", self.names.of_order(*order));
        if let Some(price) = price {
            self.part("price", price.to_string());
        }
        if let Some(quantity) = quantity {
            self.word(format!("x{quantity}"));
        }
        if let Some(SeenTerms { price, quantity, filled }) = seen {
            self.part("seen", format!("{price} x{quantity}"));
            if !filled.is_zero() {
                self.part("filled", format!("x{filled}"));
            }
        }
    }

    fn venue(&mut self, rules: &Rules) {
        let bare = !rules.currency.is_empty()
            && rules.currency.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        let currency = &rules.currency;
        self.part("venue", if bare { currency.clone() } else { quote(currency) });
        rules.write_parts(&Rules::current(), self);
    }

    fn key(&mut self, name: &str, role: Role, label: &str, hash: &KeyHash) {
        match role {
            // The default.
            Role::Trader => {}
            role => self.word(role.name()),
        }
        if label != name {
            self.part("label", quote(label));
        }
        if *hash != key_hash(name) {
            self.part("hash", HEXLOWER.encode(&hash.0));
        }
    }

    fn moment_part(&mut self, keyword: &str, at: Option<TimeMs>) {
        if let Some(at) = at {
            self.part(keyword, moment(at, self.now));
        }
    }

    fn place(&mut self, order: &PlaceOrder, name: &str) {
        self.word(match order.wording.side {
            Side::Buy => "buy",
            Side::Sell => "sell",
        });
        self.word(match order.wording.outcome {
            Outcome::Yes => "yes",
            Outcome::No => "no",
        });
        self.word(order.price.to_string());
        self.word(format!("x{}", order.quantity));
        match order.time_in_force {
            TimeInForce::GoodTillCancelled { expires_at } => {
                self.moment_part("expires", expires_at);
            }
            TimeInForce::ImmediateOrCancel => self.word("ioc"),
            TimeInForce::FillOrKill => self.word("fok"),
        }
        match order.self_trade {
            SelfTradePrevention::CancelTaker => {}
            SelfTradePrevention::CancelMaker => self.word("stp=cancel-maker"),
            SelfTradePrevention::CancelBoth => self.word("stp=cancel-both"),
        }
        if order.condition.post_only() {
            self.word("post-only");
        }
        if order.condition.reduce_only() {
            self.word("reduce-only");
        }
        self.moment_part("valid", order.valid_until);
        if let Some(copied) = order.copy_from {
            self.part("copy", self.names.of_user(copied));
        }
        if let Some(id) = &order.client_order_id {
            self.part("client", quote(id.as_str()));
        }
        if let Some(group) = &order.group {
            self.part("group", quote(group.as_str()));
        }
        if let Some(key) = order.key {
            self.part("by", self.names.of_key(key));
        }
        if self.names.current_market() != Some(order.market) {
            self.part("on", self.names.of_market(order.market));
        }
        if !name.is_empty() {
            self.part("as", name);
        }
    }
}

// The words of a line, bare or quoted; and the forms that parser and printer share: quoted texts
// and spans of time.

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
