//! Prints a record as a line that parses to the same record.

use data_encoding::HEXLOWER;

use super::super::catalogue::{CategoryDraft, EventRevision, Localized, Outcome};
use super::super::command::{
    BodyHash, Command, IdempotencyKey, KeyHash, PlaceOrder, Role, SeenTerms, SelfTradePrevention,
    Side, TimeInForce,
};
use super::super::ids::{CategoryNo, UserNo};
use super::super::rules::Rules;
use super::super::units::TimeMs;
use super::Line;
use super::drafts::{
    MarketParts, event_difference, event_draft, key_hash, market_difference, market_draft, picture,
};
use super::names::Names;
use super::pattern;
use super::words::{moment, quote, span};

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
struct Writer<'a> {
    words: Vec<String>,
    names: &'a Names,
    now: TimeMs,
}

impl Writer<'_> {
    fn word(&mut self, word: impl Into<String>) {
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
            Command::CreateCategory(draft) => self.category(name, draft),
            Command::CreateEvent(draft) => {
                self.part("event", name);
                if draft.mutually_exclusive {
                    self.word("exclusive");
                }
                self.event_parts(&event_difference(&event_draft(name), draft));
            }
            Command::CreateMarket(draft) => {
                self.part("market", name);
                self.market_parts(&market_difference(&market_draft(name, self.now), draft));
            }
            Command::ReviseEvent { event, revision } => {
                self.word("revise");
                self.part("event", self.names.of_event(*event));
                self.event_parts(revision);
            }
            Command::ReviseMarket { market, revision } => {
                self.word("revise");
                self.part("market", self.names.of_market(*market));
                let revision = (**revision).clone();
                self.market_parts(&MarketParts { revision, ..MarketParts::default() });
            }
            Command::PlaceOrder(order) => self.place(order, name),
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
        let current = Rules::current();
        if rules.version != current.version {
            self.part("version", rules.version.to_string());
        }
        if rules.user_open_orders_max != current.user_open_orders_max {
            self.part("orders", rules.user_open_orders_max.to_string());
        }
        if rules.venue_open_orders_max != current.venue_open_orders_max {
            self.part("venue-orders", rules.venue_open_orders_max.to_string());
        }
        if rules.money_supply_max != current.money_supply_max {
            self.part("supply", rules.money_supply_max.to_string());
        }
        if rules.repeat_window_seconds != current.repeat_window_seconds {
            let ms = u64::from(rules.repeat_window_seconds).saturating_mul(1000);
            self.part("repeats", span(ms));
        }
        if rules.user_names_max != current.user_names_max {
            self.part("names", rules.user_names_max.to_string());
        }
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

    fn category(&mut self, word: &str, draft: &CategoryDraft) {
        self.part("category", word);
        if draft.name != word {
            self.part("name", quote(&draft.name));
        }
        if draft.slug != word {
            self.part("slug", quote(&draft.slug));
        }
    }

    fn event_parts(&mut self, parts: &EventRevision) {
        self.texts("titles", parts.titles.as_ref());
        self.texts("subtitles", parts.sub_titles.as_ref());
        self.texts("descriptions", parts.descriptions.as_ref());
        if let Some(images) = &parts.images {
            self.word("images");
            self.words.extend(images.iter().map(|image| quote(image)));
        }
        self.flag("highlighted", parts.highlighted);
        self.categories(parts.categories.as_deref());
    }

    fn market_parts(&mut self, parts: &MarketParts) {
        let revision = &parts.revision;
        self.texts("questions", revision.questions.as_ref());
        self.texts("descriptions", revision.descriptions.as_ref());
        self.texts("yes", revision.yes_text.as_ref());
        self.texts("no", revision.no_text.as_ref());
        if let Some(logo) = &revision.logo {
            self.part("logo", quote(logo));
        }
        self.moment_part("until", revision.deadline);
        self.categories(revision.categories.as_deref());
        self.flag("highlighted", revision.highlighted);
        for (keyword, rate) in [("maker", revision.maker_fee), ("taker", revision.taker_fee)] {
            if let Some(rate) = rate {
                self.part(keyword, rate.to_string());
            }
        }
        if let Some(event) = parts.event {
            self.part("of", self.names.of_event(event));
        }
        if let Some(seconds) = parts.window_seconds {
            self.part("window", span(u64::from(seconds).saturating_mul(1000)));
        }
    }

    fn texts(&mut self, keyword: &str, texts: Option<&Localized>) {
        if let Some(Localized { pt, en, es }) = texts {
            self.word(keyword);
            self.words.extend([pt, en, es].map(|text| quote(text)));
        }
    }

    fn flag(&mut self, keyword: &str, flag: Option<bool>) {
        if let Some(flag) = flag {
            self.part(keyword, if flag { "yes" } else { "no" });
        }
    }

    fn categories(&mut self, categories: Option<&[CategoryNo]>) {
        match categories {
            Some([]) => self.part("in", "none"),
            Some(list) => {
                let list: Vec<_> = list.iter().map(|no| self.names.of_category(*no)).collect();
                self.part("in", list.join(","));
            }
            None => {}
        }
    }

    fn moment_part(&mut self, keyword: &str, at: Option<TimeMs>) {
        if let Some(at) = at {
            self.part(keyword, moment(at, self.now));
        }
    }

    fn place(&mut self, order: &PlaceOrder, name: &str) {
        self.user(order.user);
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
