//! Parses a line into a record and the name of what it creates.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER_PERMISSIVE;

use super::names::{Names, event_draft, key_hash, market_draft, picture};
use super::pattern::Parts;
use super::print::split;
use super::reader::{Reader, lots};
use super::{Line, ScriptError, pattern};
use crate::catalogue::{CategoryDraft, EventRevision, MarketRevision, Outcome};
use crate::command::{
    Act, BodyHash, Command, Condition, Direction, IdempotencyKey, KeyHash, PlaceOrder, Record,
    Role, SeenTerms, SelfTradePrevention, Side, TimeInForce, Wording,
};
use crate::effect::Effect;
use crate::ids::{Group, MarketNo, OrderNo, Token, UserNo};
use crate::rules::Rules;
use crate::units::{Lots, Tick};

/// Reads the next line of a script.
pub fn line(text: &str, names: &Names) -> Result<Line, ScriptError> {
    let words = split(text)?;
    let mut reader = Reader { words: &words, names, time: names.time() };
    reader.stamp()?;
    let mut once = None;
    if reader.at(0) == Some("once") {
        reader.pass_over("once")?;
        once = Some(Box::new(reader.once()?));
    }
    let mut act = None;
    if reader.at(0) == Some("by") {
        reader.pass_over("by")?;
        act = Some(Box::new(reader.act()?));
    }
    let (command, name) = reader.command()?;
    if let Some(left) = reader.peek() {
        return Err(ScriptError::Unexpected(left.to_owned()));
    }
    if let Some(name) = &name {
        names.check_free(&command, name)?;
    }
    let record = Record { sequence: names.next_sequence(), time: reader.time, once, act, command };
    Ok(Line { record, name })
}

/// What may follow a venue's currency.
const VENUE_PARTS: [&str; 6] = ["version", "orders", "venue-orders", "supply", "repeats", "names"];

/// A command, and the name of what it creates.
type Named = (Command, Option<String>);

impl Reader<'_> {
    fn command(&mut self) -> Result<Named, ScriptError> {
        if let Some(command) = pattern::read(self) {
            return Ok((command?, None));
        }
        let command = match self.bare("a command")? {
            "venue" => self.venue()?,
            verb @ ("user" | "key" | "category" | "event" | "market") => {
                return self.creation(verb);
            }
            "revise" => self.revision()?,
            "rename" => Command::RenameUser { user: self.user()?, profile_name: self.quoted()? },
            user => return self.of_user(self.names.user(user)?),
        };
        Ok((command, None))
    }

    fn once(&mut self) -> Result<IdempotencyKey, ScriptError> {
        let (caller, key) = (self.user()?, self.token()?);
        let (mut part, mut body) = (0, BodyHash([0; 32]));
        if self.peek() == Some("part") {
            self.pass_over("part")?;
            let word = self.bare("a part")?;
            part = word.parse().map_err(|_| ScriptError::Unexpected(word.to_owned()))?;
        }
        if self.peek() == Some("body") {
            self.pass_over("body")?;
            body = BodyHash(self.hash()?);
        }
        Ok(IdempotencyKey { caller, key, part, body })
    }

    fn act(&mut self) -> Result<Act, ScriptError> {
        let mut act = Act::of(self.user()?, None);
        loop {
            match self.at(0) {
                Some("with") => {
                    self.pass_over("with")?;
                    act.key = Some(self.key_given()?);
                }
                Some("because") => {
                    self.pass_over("because")?;
                    act.reason = Some(self.quoted()?);
                }
                Some("reference") => {
                    self.pass_over("reference")?;
                    act.reference = Some(self.token()?);
                }
                Some("evidence") => {
                    self.pass_over("evidence")?;
                    act.evidence = Some(self.quoted()?);
                }
                Some("sha256") => {
                    self.pass_over("sha256")?;
                    act.evidence_hash = Some(KeyHash(self.hash()?));
                }
                _ => return Ok(act),
            }
        }
    }

    /// A client order id or idempotency key, quoted.
    fn token(&mut self) -> Result<Token, ScriptError> {
        let text = self.quoted()?;
        Token::new(&text).ok_or(ScriptError::NotAName(text))
    }

    /// A hash in hexadecimal digits.
    fn hash(&mut self) -> Result<[u8; 32], ScriptError> {
        let hex = self.bare("a hash")?;
        let bytes = HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).unwrap_or_default();
        bytes.try_into().map_err(|_| ScriptError::Unexpected(hex.to_owned()))
    }

    fn venue(&mut self) -> Result<Command, ScriptError> {
        let mut rules = Rules::current();
        if let Some(currency) = self.next_if_quoted() {
            rules.currency = currency;
        } else if self.peek().is_some_and(|word| !VENUE_PARTS.contains(&word)) {
            self.bare("a currency")?.clone_into(&mut rules.currency);
        }
        Ok(Command::OpenVenue(rules.with_parts(self)?))
    }

    fn creation(&mut self, kind: &str) -> Result<Named, ScriptError> {
        let name = self.name()?;
        let command = match kind {
            "user" => {
                let profile_name = self.next_if_quoted().unwrap_or_else(|| name.clone());
                let mut profile_pic = picture(&name);
                if self.peek() == Some("pic") {
                    self.pass_over("pic")?;
                    profile_pic = self.quoted()?;
                }
                Command::CreateUser { profile_name, profile_pic }
            }
            "key" => self.key(&name)?,
            "category" => {
                let draft = CategoryDraft { name: name.clone(), slug: name.clone() };
                Command::CreateCategory(draft.with_parts(self)?)
            }
            "event" => {
                let mut draft = event_draft(&name);
                if self.peek() == Some("exclusive") {
                    self.pass_over("exclusive")?;
                    draft.mutually_exclusive = true;
                }
                Command::CreateEvent(Box::new(draft.with_parts(self)?))
            }
            _ => {
                let draft = market_draft(&name, self.time).with_parts(self)?;
                Command::CreateMarket(Box::new(draft))
            }
        };
        Ok((command, Some(name)))
    }

    fn key(&mut self, name: &str) -> Result<Command, ScriptError> {
        self.pass_over("for")?;
        let user = self.user()?;
        let (mut role, mut label, mut hash) = (Role::Trader, name.to_owned(), key_hash(name));
        let mut ends = None;
        while let Some(part) = self.next_if_bare() {
            match part {
                "label" => label = self.quoted()?,
                "hash" => hash = KeyHash(self.hash()?),
                "until" => ends = Some(self.moment()?),
                other => {
                    let named = Role::ALL.into_iter().find(|role| role.name() == other);
                    role = named.ok_or_else(|| ScriptError::Unexpected(other.to_owned()))?;
                }
            }
        }
        Ok(Command::AddKey { user, role, label, hash, ends })
    }

    fn revision(&mut self) -> Result<Command, ScriptError> {
        match self.bare("event or market")? {
            "event" => {
                let event = self.event()?;
                let revision = Box::new(EventRevision::default().with_parts(self)?);
                Ok(Command::ReviseEvent { event, revision })
            }
            "market" => {
                let market = self.market()?;
                let revision = Box::new(MarketRevision::default().with_parts(self)?);
                Ok(Command::ReviseMarket { market, revision })
            }
            other => Err(ScriptError::Unexpected(other.to_owned())),
        }
    }

    fn of_user(&mut self, user: UserNo) -> Result<Named, ScriptError> {
        match self.bare("what the user does")? {
            "buy" => self.placement(user, Side::Buy),
            "sell" => self.placement(user, Side::Sell),
            "amend" => Ok((self.amend(user)?, None)),
            "replace" => self.replace(user),
            other => Err(ScriptError::Unexpected(other.to_owned())),
        }
    }

    fn amend(&mut self, user: UserNo) -> Result<Command, ScriptError> {
        let order = self.order()?;
        let (mut price, mut quantity, mut seen) = (None, None, None);
        while let Some(part) = self.next_if_bare() {
            match part {
                "price" => price = Some(self.unit("a price", Tick::parse)?),
                "seen" => seen = Some(self.seen()?),
                part => quantity = Some(lots(part)?),
            }
        }
        Ok(Command::AmendOrder { user, order, price, quantity, seen })
    }

    fn seen(&mut self) -> Result<SeenTerms, ScriptError> {
        let price = self.unit("a price", Tick::parse)?;
        let quantity = lots(self.bare("a quantity")?)?;
        let mut filled = Lots::ZERO;
        if self.peek() == Some("filled") {
            self.pass_over("filled")?;
            filled = lots(self.bare("a quantity")?)?;
        }
        Ok(SeenTerms { price, quantity, filled })
    }

    fn placement(&mut self, user: UserNo, side: Side) -> Result<Named, ScriptError> {
        self.terms(user, side).map(|(terms, name)| (Command::PlaceOrder(terms), name))
    }

    fn replace(&mut self, user: UserNo) -> Result<Named, ScriptError> {
        let replaced = self.order()?;
        let side = match self.bare("buy or sell")? {
            "buy" => Side::Buy,
            "sell" => Side::Sell,
            other => return Err(ScriptError::Unexpected(other.to_owned())),
        };
        let (terms, name) = self.terms(user, side)?;
        Ok((Command::ReplaceOrder { replaced, terms: Box::new(terms) }, name))
    }

    fn terms(
        &mut self,
        user: UserNo,
        side: Side,
    ) -> Result<(PlaceOrder, Option<String>), ScriptError> {
        let wording = Wording { outcome: self.outcome()?, side };
        let price = self.unit("a price", Tick::parse)?;
        let quantity = lots(self.bare("a quantity")?)?;
        let mut time_in_force = TimeInForce::GoodTillCancelled { expires_at: None };
        let mut self_trade = SelfTradePrevention::CancelTaker;
        let (mut post_only, mut reduce_only) = (false, false);
        let (mut valid_until, mut copy_from, mut name) = (None, None, None);
        let (mut client_order_id, mut group, mut key) = (None, None, None);
        let mut market = self.names.current_market();
        while let Some(part) = self.next_if_bare() {
            match part {
                "ioc" => time_in_force = TimeInForce::ImmediateOrCancel,
                "fok" => time_in_force = TimeInForce::FillOrKill,
                "expires" => {
                    let expires_at = Some(self.moment()?);
                    time_in_force = TimeInForce::GoodTillCancelled { expires_at };
                }
                "stp=cancel-taker" => self_trade = SelfTradePrevention::CancelTaker,
                "stp=cancel-maker" => self_trade = SelfTradePrevention::CancelMaker,
                "stp=cancel-both" => self_trade = SelfTradePrevention::CancelBoth,
                "post-only" => post_only = true,
                "reduce-only" => reduce_only = true,
                "valid" => valid_until = Some(self.moment()?),
                "copy" => copy_from = Some(self.user()?),
                "client" => client_order_id = Some(Box::new(self.token()?)),
                "group" => {
                    let text = self.quoted()?;
                    group = Some(Box::new(Group::new(&text).ok_or(ScriptError::NotAName(text))?));
                }
                "by" => key = Some(self.key_given()?),
                "on" => market = Some(self.market()?),
                "as" => name = Some(self.name()?),
                other => return Err(ScriptError::Unexpected(other.to_owned())),
            }
        }
        let condition = match (post_only, reduce_only) {
            (false, false) => Condition::Unconditional,
            (true, false) => Condition::PostOnly,
            (false, true) => Condition::ReduceOnly,
            (true, true) => Condition::PostOnlyReduceOnly,
        };
        let market = market.ok_or(ScriptError::Missing("a market"))?;
        let order = PlaceOrder {
            user,
            market,
            wording,
            price,
            quantity,
            time_in_force,
            self_trade,
            condition,
            valid_until,
            copy_from,
            client_order_id,
            group,
            key,
        };
        Ok((order, name))
    }
}

// Draws a market's book as a ladder, asks on the left and bids on the right, each level with its
// orders in time priority. Built from effects alone.

/// Columns of each side.
const SIDE_COLUMNS: usize = 8;

/// One order in its queue.
#[derive(Debug, Clone, Copy)]
struct QueuedOrder {
    order: OrderNo,
    remaining: Lots,
}

/// The books of all markets.
#[derive(Debug, Clone, Default)]
pub struct Ladders {
    levels: BTreeMap<(MarketNo, Direction, Tick), Vec<QueuedOrder>>,
}

impl Ladders {
    /// Empty books.
    pub fn new() -> Ladders {
        Ladders::default()
    }

    /// Applies one effect.
    pub fn fold(&mut self, effect: &Effect) {
        match effect {
            Effect::OrderRested { order, market, direction, price, remaining, .. } => {
                let queued = QueuedOrder { order: *order, remaining: *remaining };
                self.levels.entry((*market, *direction, *price)).or_default().push(queued);
            }
            Effect::TradeMade(trade) => {
                let level = (trade.market, trade.taker_direction.opposite(), trade.price);
                self.set_remaining(level, trade.maker.order, trade.maker.remaining);
            }
            Effect::OrderCancelled { order, market, direction, price, rested: true, .. } => {
                self.set_remaining((*market, *direction, *price), *order, Lots::ZERO);
            }
            Effect::OrderAmended {
                order,
                market,
                direction,
                price_before,
                remaining,
                kept_place,
                ..
            } => {
                let left = if *kept_place { *remaining } else { Lots::ZERO };
                self.set_remaining((*market, *direction, *price_before), *order, left);
            }
            _ => {}
        }
    }

    /// Sets the unfilled quantity of an order, and removes it if that is zero.
    fn set_remaining(
        &mut self,
        level: (MarketNo, Direction, Tick),
        order: OrderNo,
        remaining: Lots,
    ) {
        let Some(queue) = self.levels.get_mut(&level) else { return };
        if remaining.is_zero() {
            queue.retain(|queued| queued.order != order);
        } else if let Some(queued) = queue.iter_mut().find(|one| one.order == order) {
            queued.remaining = remaining;
        }
        if queue.is_empty() {
            self.levels.remove(&level);
        }
    }

    /// The levels of one side with their totals and orders, lowest yes-price first.
    pub fn levels(
        &self,
        market: MarketNo,
        direction: Direction,
    ) -> impl DoubleEndedIterator<Item = (Tick, Lots, usize)> {
        let range = (market, direction, Tick::MIN)..=(market, direction, Tick::MAX);
        self.levels.range(range).map(|((_, _, price), queue)| (*price, total(queue), queue.len()))
    }

    /// Draws a market's book in prices of `outcome`: for no, sides and prices are mirrored.
    pub fn draw(&self, market: MarketNo, outcome: Outcome, names: &Names) -> String {
        let mut drawing = Vec::new();
        let mut rows: Vec<_> = self.levels.iter().filter(|((of, _, _), _)| *of == market).collect();
        rows.sort_by_key(|((_, _, price), _)| std::cmp::Reverse(*price));
        if outcome == Outcome::No {
            rows.reverse();
        }
        for ((_, direction, price), queue) in rows {
            let (asks, price) = match outcome {
                Outcome::Yes => (Direction::Down, *price),
                Outcome::No => (Direction::Up, price.complement()),
            };
            let queued: Vec<_> = queue.iter().map(|one| names.of_order(one.order)).collect();
            let (quantity, queued) = (total(queue).to_string(), queued.join(" "));
            let width = SIDE_COLUMNS;
            drawing.push(if *direction == asks {
                format!(
                    "{quantity:>width$} | {price} | {:width$} {queued}
",
                    ""
                )
            } else {
                format!(
                    "{:width$} | {price} | {quantity:<width$} {queued}
",
                    ""
                )
            });
        }
        if drawing.is_empty() { "(empty)\n".to_owned() } else { drawing.concat() }
    }
}

fn total(queue: &[QueuedOrder]) -> Lots {
    let lots = queue.iter().map(|one| one.remaining.get());
    Lots::new(lots.fold(0, u64::saturating_add))
}
