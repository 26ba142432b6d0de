//! Prints a record as a line that parses to the same record.

use data_encoding::HEXLOWER;

use super::super::catalogue::{CategoryDraft, EventRevision, MarketRevision, Outcome};
use super::super::command::{
    BodyHash, Command, IdempotencyKey, KeyHash, PlaceOrder, Role, SeenTerms, SelfTradePrevention,
    Side, TimeInForce,
};
use super::super::ids::UserNo;
use super::super::rules::Rules;
use super::super::units::TimeMs;
use super::Line;
use super::drafts::{event_draft, key_hash, market_draft, picture};
use super::names::Names;
use super::parts::Parts;
use super::pattern;
use super::words::{moment, quote};

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
            Command::AddKey { user, role, label, hash } => {
                self.part("key", name);
                self.part("for", self.names.of_user(*user));
                self.key(name, *role, label, hash);
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
            Role::Reader => self.word("reader"),
            // Trader is the default.
            Role::Trader => {}
            Role::Operator => self.word("operator"),
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
        if self.names.current_market() != Some(order.market) {
            self.part("on", self.names.of_market(order.market));
        }
        if !name.is_empty() {
            self.part("as", name);
        }
    }
}
