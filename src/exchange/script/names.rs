//! The names of what the exchange numbers, and the state of a script being read or written: the
//! time and sequence of its next line, and the market its orders go to.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::pattern::is_verb;
use super::{Line, ScriptError, Verdict};
use crate::catalogue::{EventDraft, Localized, MarketDraft};
use crate::command::{Command, KeyHash, Record};
use crate::fees::Fees;
use crate::ids::{CategoryNo, EventNo, KeyNo, MarketNo, OrderNo, UserNo};
use crate::table::Kind;
use crate::units::{Sequence, TimeMs};

/// When a script begins unless it says otherwise: 2023-11-14T22:13:20Z.
pub const START_MS: i64 = 1_700_000_000_000;
/// Longest name, so that a line made from someone's profile name stays a line.
const NAME_CHARS_MAX: usize = 24;
/// The mark before the number of a thing without a name.
const NUMBER_MARK: char = '?';
/// Words that cannot be names, because they begin a line or may be where a name is expected, beside
/// those that begin a pattern.
const RESERVED: [&str; 23] = [
    "all",
    "because",
    "book",
    "by",
    "category",
    "event",
    "evidence",
    "from",
    "given",
    "key",
    "market",
    "no",
    "none",
    "once",
    "pic",
    "reference",
    "rename",
    "revise",
    "sha256",
    "user",
    "venue",
    "with",
    "yes",
];

/// Whether a word can be a name.
pub fn is_name(word: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.len() <= NAME_CHARS_MAX
        && word.chars().all(letters)
        && !RESERVED.contains(&word)
        && !is_verb(word)
}

/// The names of one kind of thing.
#[derive(Debug, Clone, Default)]
struct Table {
    numbers: BTreeMap<String, u64>,
    names: BTreeMap<u64, String>,
    next: u64,
}

impl Table {
    /// The number of a name.
    fn number(&self, name: &str) -> Result<u64, ScriptError> {
        let unknown = || ScriptError::UnknownName(name.to_owned());
        let digits = || name.strip_prefix(NUMBER_MARK)?.parse().ok();
        self.numbers.get(name).copied().or_else(digits).ok_or_else(unknown)
    }

    fn name(&self, number: u64) -> String {
        self.names.get(&number).cloned().unwrap_or_else(|| format!("{NUMBER_MARK}{number}"))
    }

    fn bind(&mut self, name: &str, number: u64) {
        self.numbers.insert(name.to_owned(), number);
        self.names.insert(number, name.to_owned());
    }

    /// Gives a name to the next thing of a dense kind.
    fn bind_next(&mut self, name: &str) {
        self.bind(name, self.next);
        self.next = self.next.saturating_add(1);
    }

    /// A name for the next thing: the one wanted if it is valid and free, else a letter and its
    /// number.
    fn choose(&self, wanted: &str, letter: char) -> String {
        if is_name(wanted) && !self.numbers.contains_key(wanted) {
            return wanted.to_owned();
        }
        let mut name = format!("{letter}{}", self.next);
        while self.numbers.contains_key(&name) {
            name.push('_');
        }
        name
    }
}

/// The names in a script, and its state after the lines so far.
#[derive(Debug, Clone)]
pub struct Names {
    users: Table,
    keys: Table,
    categories: Table,
    events: Table,
    markets: Table,
    orders: Table,
    /// Orders that each user has sent, for the default names of orders.
    orders_counts: BTreeMap<UserNo, u64>,
    market: Option<MarketNo>,
    next: Sequence,
    time: TimeMs,
}

impl Names {
    /// No names yet, the next line being the record `first`.
    pub fn starting_at(first: Sequence) -> Names {
        Names {
            users: Table::default(),
            keys: Table::default(),
            categories: Table::default(),
            events: Table::default(),
            markets: Table::default(),
            orders: Table::default(),
            orders_counts: BTreeMap::new(),
            market: None,
            next: first,
            time: TimeMs::new(START_MS).unwrap_or_default(),
        }
    }

    /// Sequence number of the next line.
    pub const fn next_sequence(&self) -> Sequence {
        self.next
    }

    /// Time of the line before.
    pub const fn time(&self) -> TimeMs {
        self.time
    }

    /// The market of an order that names none.
    pub const fn current_market(&self) -> Option<MarketNo> {
        self.market
    }

    const fn table(&self, kind: Kind) -> &Table {
        match kind {
            Kind::User => &self.users,
            Kind::Key => &self.keys,
            Kind::Category => &self.categories,
            Kind::Event => &self.events,
            Kind::Market => &self.markets,
            Kind::Order => &self.orders,
        }
    }

    /// The number of the thing of this kind and name; a valid number of its kind.
    pub fn number(&self, kind: Kind, name: &str) -> Result<u64, ScriptError> {
        let number = self.table(kind).number(name)?;
        let fits = kind == Kind::Order || u32::try_from(number).is_ok();
        if fits { Ok(number) } else { Err(ScriptError::UnknownName(name.to_owned())) }
    }

    fn number_32(&self, kind: Kind, name: &str) -> Result<u32, ScriptError> {
        let number = self.number(kind, name)?;
        u32::try_from(number).map_err(|_| ScriptError::UnknownName(name.to_owned()))
    }

    /// The user of this name.
    pub fn user(&self, name: &str) -> Result<UserNo, ScriptError> {
        self.number_32(Kind::User, name).map(UserNo)
    }

    /// The category of this name.
    pub fn category(&self, name: &str) -> Result<CategoryNo, ScriptError> {
        self.number_32(Kind::Category, name).map(CategoryNo)
    }

    /// The event of this name.
    pub fn event(&self, name: &str) -> Result<EventNo, ScriptError> {
        self.number_32(Kind::Event, name).map(EventNo)
    }

    /// The market of this name.
    pub fn market(&self, name: &str) -> Result<MarketNo, ScriptError> {
        self.number_32(Kind::Market, name).map(MarketNo)
    }

    /// The order of this name.
    pub fn order(&self, name: &str) -> Result<OrderNo, ScriptError> {
        self.number(Kind::Order, name).map(|number| OrderNo(Sequence::new(number)))
    }

    /// The key of this name.
    pub fn key(&self, name: &str) -> Result<KeyNo, ScriptError> {
        self.number_32(Kind::Key, name).map(KeyNo)
    }

    /// A user's name.
    pub fn of_user(&self, user: UserNo) -> String {
        self.users.name(user.0.into())
    }

    /// A key's name.
    pub fn of_key(&self, key: KeyNo) -> String {
        self.keys.name(key.0.into())
    }

    /// A category's name.
    pub fn of_category(&self, category: CategoryNo) -> String {
        self.categories.name(category.0.into())
    }

    /// An event's name.
    pub fn of_event(&self, event: EventNo) -> String {
        self.events.name(event.0.into())
    }

    /// A market's name.
    pub fn of_market(&self, market: MarketNo) -> String {
        self.markets.name(market.0.into())
    }

    /// An order's name.
    pub fn of_order(&self, order: OrderNo) -> String {
        self.orders.name(order.0.get())
    }

    /// Whether a line's name for what it makes is still free.
    pub fn check_free(&self, command: &Command, name: &str) -> Result<(), ScriptError> {
        let kind = created(command).map_or(Kind::Order, |(kind, ..)| kind);
        if self.table(kind).numbers.contains_key(name) {
            return Err(ScriptError::NameTaken(name.to_owned()));
        }
        Ok(())
    }

    /// Chooses a name for what a record creates, from its own texts if possible.
    pub fn christen(&self, record: Record) -> Line {
        let name = created(&record.command)
            .map(|(kind, wanted, letter)| self.table(kind).choose(wanted, letter));
        Line { record, name }
    }

    /// Moves past a line: takes its time and number, and binds the name of what it created.
    pub fn follow(&mut self, line: &Line, verdict: Verdict) {
        self.time = line.record.time;
        self.next = line.record.sequence.next();
        let name = line.name.as_deref();
        if let Some(order) = line.record.command.placement() {
            let count = self.orders_counts.entry(order.user).or_default();
            *count = count.saturating_add(1);
            let default = format!("{}.{count}", self.users.name(order.user.0.into()));
            self.market = Some(order.market);
            if verdict == Verdict::Taken {
                self.orders.bind(name.unwrap_or(&default), line.record.sequence.get());
            }
            return;
        }
        if verdict == Verdict::Refused {
            return;
        }
        if let Command::SignUp { .. } = line.record.command {
            // The name that somebody signs in with is no name of a script's.
            self.users.next = self.users.next.saturating_add(1);
            return;
        }
        let Some((kind, ..)) = created(&line.record.command) else { return };
        if kind == Kind::Market {
            self.market = u32::try_from(self.markets.next).ok().map(MarketNo);
        }
        let table = match kind {
            Kind::User => &mut self.users,
            Kind::Key => &mut self.keys,
            Kind::Category => &mut self.categories,
            Kind::Event => &mut self.events,
            Kind::Market => &mut self.markets,
            Kind::Order => &mut self.orders,
        };
        table.bind_next(name.unwrap_or_default());
    }
}

/// The kind of thing that a command creates, the name that it suggests, and the letter of its
/// kind; not of an order, which need not have a name.
fn created(command: &Command) -> Option<(Kind, &str, char)> {
    Some(match command {
        Command::CreateUser { profile_name, .. } => (Kind::User, profile_name, 'u'),
        Command::AddKey { label, .. } => (Kind::Key, label, 'k'),
        Command::CreateCategory(draft) => (Kind::Category, &draft.slug, 'c'),
        Command::CreateEvent(draft) => (Kind::Event, &draft.titles.en, 'e'),
        Command::CreateMarket(draft) => {
            (Kind::Market, draft.questions.en.trim_end_matches('?'), 'm')
        }
        _ => return None,
    })
}

// The default texts that follow from a name.

/// How long after its creation a market's trading ends unless its line says otherwise: a day.
const DEADLINE_SECONDS: u32 = 86_400;

/// The same text in every language.
fn everywhere(text: &str) -> Localized {
    Localized { pt: text.to_owned(), en: text.to_owned(), es: text.to_owned() }
}

/// Default picture URL of a name.
pub fn picture(name: &str) -> String {
    format!("https://example.org/{name}.png")
}

/// Default key hash of a name.
pub fn key_hash(name: &str) -> KeyHash {
    KeyHash(Sha256::digest(name.as_bytes()).into())
}

/// Default event of a name.
pub fn event_draft(name: &str) -> EventDraft {
    EventDraft {
        titles: everywhere(name),
        sub_titles: everywhere(name),
        descriptions: everywhere(name),
        images: vec![picture(name)],
        highlighted: false,
        categories: Vec::new(),
        mutually_exclusive: false,
        slug: None,
    }
}

/// Default market of a name, created at `now`.
pub fn market_draft(name: &str, now: TimeMs) -> MarketDraft {
    let words = |pt: &str, en: &str, es: &str| Localized {
        pt: pt.to_owned(),
        en: en.to_owned(),
        es: es.to_owned(),
    };
    MarketDraft {
        questions: everywhere(&format!("{name}?")),
        descriptions: everywhere(name),
        yes_text: words("Sim", "Yes", "S\u{ed}"),
        no_text: words("N\u{e3}o", "No", "No"),
        logo: picture(name),
        deadline: now.after_seconds(DEADLINE_SECONDS),
        categories: Vec::new(),
        event: None,
        highlighted: false,
        dispute_window_seconds: 0,
        fees: Fees::NONE,
        slug: None,
    }
}
