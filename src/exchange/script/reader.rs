//! Reads a line word by word: knows the form of prices, times and names, but no command.

use super::names::{Names, is_name};
use super::print::{Word, moment, parse_moment, parse_seconds};
use super::{ScriptError, pattern};
use crate::catalogue::{Localized, Outcome};
use crate::effect::{Effect, Holding, Party, Trade};
use crate::ids::{CategoryNo, EventNo, KeyNo, MarketNo, OrderNo, UserNo};
use crate::market::MarketStatus;
use crate::slugs::Slug;
use crate::units::{Lots, Money, MoneySum, TimeMs, UnitError};

/// The unread rest of a line.
pub struct Reader<'a> {
    /// Words still unread.
    pub words: &'a [Word],
    /// Names of things.
    pub names: &'a Names,
    /// The line's own time.
    pub time: TimeMs,
}

impl<'a> Reader<'a> {
    // Words.

    /// The next word.
    pub(super) fn next(&mut self) -> Option<&'a Word> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    /// The next word, quoted or not, without consuming it.
    pub fn peek(&self) -> Option<&'a str> {
        match self.words.first()? {
            Word::Bare(word) | Word::Quoted(word) => Some(word),
        }
    }

    /// The word at this place of the rest, if it is not quoted.
    pub fn at(&self, place: usize) -> Option<&'a str> {
        match self.words.get(place)? {
            Word::Bare(word) => Some(word),
            Word::Quoted(_) => None,
        }
    }

    /// The next word, which must not be quoted; `what` names it in the error.
    pub fn bare(&mut self, what: &'static str) -> Result<&'a str, ScriptError> {
        match self.next() {
            Some(Word::Bare(word)) => Ok(word),
            Some(Word::Quoted(text)) => Err(ScriptError::Unexpected(text.clone())),
            None => Err(ScriptError::Missing(what)),
        }
    }

    /// The next word, quoted or not.
    pub fn either(&mut self, what: &'static str) -> Result<&'a str, ScriptError> {
        match self.next() {
            Some(Word::Bare(word) | Word::Quoted(word)) => Ok(word),
            None => Err(ScriptError::Missing(what)),
        }
    }

    /// The next word unless it is quoted.
    pub fn next_if_bare(&mut self) -> Option<&'a str> {
        match self.words {
            [Word::Bare(word), rest @ ..] => {
                self.words = rest;
                Some(word)
            }
            _ => None,
        }
    }

    /// The next word if it is quoted.
    pub fn next_if_quoted(&mut self) -> Option<String> {
        match self.words {
            [Word::Quoted(text), rest @ ..] => {
                self.words = rest;
                Some(text.clone())
            }
            _ => None,
        }
    }

    /// The next word, which must be quoted.
    pub fn quoted(&mut self) -> Result<String, ScriptError> {
        self.next_if_quoted().ok_or(ScriptError::Missing("a quoted text"))
    }

    /// Skips a word that must be the next.
    pub fn pass_over(&mut self, word: &'static str) -> Result<(), ScriptError> {
        let found = self.bare(word)?;
        if found == word { Ok(()) } else { Err(ScriptError::Unexpected(found.to_owned())) }
    }

    // Things.

    /// A new name.
    pub fn name(&mut self) -> Result<String, ScriptError> {
        let name = self.bare("a name")?;
        if is_name(name) {
            Ok(name.to_owned())
        } else {
            Err(ScriptError::NotAName(name.to_owned()))
        }
    }

    /// A user by name.
    pub fn user(&mut self) -> Result<UserNo, ScriptError> {
        self.names.user(self.bare("a user")?)
    }

    /// A market by name.
    pub fn market(&mut self) -> Result<MarketNo, ScriptError> {
        self.names.market(self.bare("a market")?)
    }

    /// A key by name.
    pub fn key_given(&mut self) -> Result<KeyNo, ScriptError> {
        self.names.key(self.bare("a key")?)
    }

    /// An event by name.
    pub fn event(&mut self) -> Result<EventNo, ScriptError> {
        self.names.event(self.bare("an event")?)
    }

    /// An order by name.
    pub fn order(&mut self) -> Result<OrderNo, ScriptError> {
        self.names.order(self.bare("an order")?)
    }

    /// A list of categories, `none` if empty.
    pub fn categories(&mut self) -> Result<Vec<CategoryNo>, ScriptError> {
        match self.bare("categories")? {
            "none" => Ok(Vec::new()),
            list => list.split(',').map(|name| self.names.category(name)).collect(),
        }
    }

    /// A price, quantity or amount.
    pub fn unit<T>(
        &mut self,
        what: &'static str,
        parse: impl Fn(&str) -> Result<T, UnitError>,
    ) -> Result<T, ScriptError> {
        let text = self.bare(what)?;
        parse(text).map_err(|error| ScriptError::Unit(text.to_owned(), error))
    }

    /// A slug, quoted.
    pub fn slug(&mut self) -> Result<Slug, ScriptError> {
        let text = self.quoted()?;
        Slug::new(&text).ok_or(ScriptError::NotAName(text))
    }

    /// A number.
    pub fn number(&mut self) -> Result<u32, ScriptError> {
        let text = self.bare("a number")?;
        text.parse().map_err(|_| ScriptError::Unexpected(text.to_owned()))
    }

    /// A time relative to the line's own.
    pub fn moment(&mut self) -> Result<TimeMs, ScriptError> {
        parse_moment(self.bare("a moment")?, self.time)
    }

    /// A span of whole seconds.
    pub fn seconds(&mut self) -> Result<u32, ScriptError> {
        parse_seconds(self.bare("a span")?)
    }

    /// `yes` or `no` as a flag.
    pub fn flag(&mut self) -> Result<bool, ScriptError> {
        self.outcome().map(|outcome| outcome == Outcome::Yes)
    }

    /// `yes` or `no` as an outcome.
    pub fn outcome(&mut self) -> Result<Outcome, ScriptError> {
        match self.bare("yes or no")? {
            "yes" => Ok(Outcome::Yes),
            "no" => Ok(Outcome::No),
            other => Err(ScriptError::Unexpected(other.to_owned())),
        }
    }

    /// A text in three languages.
    pub fn texts(&mut self) -> Result<Localized, ScriptError> {
        Ok(Localized { pt: self.quoted()?, en: self.quoted()?, es: self.quoted()? })
    }

    /// Reads the line's own time at its beginning, if it has one.
    pub fn stamp(&mut self) -> Result<(), ScriptError> {
        let Some(word) = self.peek().filter(|word| word.starts_with(['+', '@'])) else {
            return Ok(());
        };
        let bad = || ScriptError::Time(word.to_owned());
        self.time = match word.strip_prefix('@') {
            Some(ms) => ms.parse().ok().and_then(TimeMs::new).ok_or_else(bad)?,
            None => parse_moment(word, self.time)?,
        };
        self.next();
        Ok(())
    }
}

/// Reads a quantity: `x2.5`.
pub fn lots(word: &str) -> Result<Lots, ScriptError> {
    let digits = word.strip_prefix('x').ok_or_else(|| ScriptError::Unexpected(word.to_owned()))?;
    Lots::parse(digits).map_err(|error| ScriptError::Unit(word.to_owned(), error))
}

// Prints effects in words, one short line each: by the patterns of their table, and here those
// that a pattern cannot say.

/// The line of an effect of the record at time `now`; `names` as they are after the record.
pub fn phrase(effect: &Effect, now: TimeMs, names: &Names) -> String {
    match effect {
        Effect::MarketMoved { market, from, to, deadline, winner, settled_at } => {
            let mut text = format!("{} {} -> {}", names.of_market(*market), from.name(), to.name());
            if *to == MarketStatus::Active {
                text.extend([format!(" until {}", moment(*deadline, now))]);
            }
            if let Some(winner) = winner {
                text.extend([", ", winner.id(), " announced"]);
            }
            if let Some(price) = settled_at {
                text.extend([format!(", yes pays {price}")]);
            }
            text
        }
        Effect::TradeMade(Trade { price, quantity, taker, maker, .. }) => {
            let (taker, maker) = (party(*taker, names), party(*maker, names));
            format!("trade {price} x{quantity}: {taker} takes {maker}")
        }
        Effect::PositionChanged { user, market, yes, no, realised } => {
            let who = holder(*user, *market, names);
            let holdings = match (holding("yes", yes, names), holding("no", no, names)) {
                (Some(yes), Some(no)) => format!("{yes} and {no}"),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => "nothing".to_owned(),
            };
            format!("{who} holds {holdings}{}", realised_part(*realised))
        }
        Effect::PositionSettled { user, market, yes, no, payout, realised } => {
            let who = holder(*user, *market, names);
            let realised = realised_part(*realised);
            format!("{who} is paid {payout} for yes x{yes}, no x{no}{realised}")
        }
        said => {
            let row = Effect::WORDS.iter().find(|(number, _)| *number == said.number());
            pattern::say(row.map_or("", |(_, pattern)| pattern), &said.fields(), now, names)
        }
    }
}

fn party(party: Party, names: &Names) -> String {
    let name = names.of_order(party.order);
    let fee = if party.fee == Money::ZERO { String::new() } else { format!(", fee {}", party.fee) };
    if party.remaining.is_zero() {
        format!("{name} (filled{fee})")
    } else {
        format!("{name} ({} left{fee})", party.remaining)
    }
}

/// A holder's name, with the market's name unless it is the script's current market.
fn holder(user: UserNo, market: MarketNo, names: &Names) -> String {
    let user = names.of_user(user);
    if names.current_market() == Some(market) {
        user
    } else {
        format!("{user} in {}", names.of_market(market))
    }
}

fn holding(outcome: &str, holding: &Holding, names: &Names) -> Option<String> {
    let Holding { held, locked, cost, copy_from } = holding;
    if held.is_zero() && locked.is_zero() && cost.get() == 0 {
        return None;
    }
    let mut text = format!("{outcome} x{held} for {cost}");
    if !locked.is_zero() {
        text.extend([format!(" (x{locked} locked)")]);
    }
    if let Some(copied) = copy_from {
        text.extend([" copying ", &names.of_user(*copied)]);
    }
    Some(text)
}

fn realised_part(realised: MoneySum) -> String {
    if realised == MoneySum::ZERO { String::new() } else { format!(", realised {realised}") }
}
