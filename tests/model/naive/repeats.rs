//! The twin's memory of names: client order ids and idempotency keys (semantics 8).

use std::collections::BTreeMap;

use exchange::command::{Command, IdempotencyKey, PlaceOrder, Record};
use exchange::effect::Effect;
use exchange::ids::{OrderNo, Token, UserNo};
use exchange::reject::Reject;
use exchange::units::{Sequence, TimeMs};

use super::Naive;

/// An order with a client order id.
#[derive(Debug, Clone)]
pub struct Named {
    pub terms: PlaceOrder,
    /// The order that it replaced.
    pub replaced: Option<OrderNo>,
    pub since: TimeMs,
    pub number: u64,
}

/// A record made under an idempotency key.
#[derive(Debug, Clone)]
struct Keyed {
    once: IdempotencyKey,
    since: TimeMs,
    number: u64,
}

/// A name and its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Order(UserNo, Token),
    Key(UserNo, Token),
}

/// What a name counts against the bound, and until when at least.
#[derive(Debug, Clone, Copy)]
struct Remembered {
    /// The parts of a key; 1 for an order.
    names: usize,
    until: TimeMs,
    /// The order that it names: if it still rests at `until`, the name is kept for another window.
    order: Option<u64>,
}

/// Everything ever named.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// Oldest first.
    named: Vec<Named>,
    /// Those of them that may still count.
    counting: Vec<usize>,
    /// By caller and key, the records of its newest window.
    keyed: BTreeMap<(UserNo, Token), Vec<Keyed>>,
    /// The names that count against the bound per user.
    remembered: BTreeMap<Name, Remembered>,
}

/// Whether two orders ask for the same, with whichever key each was sent.
fn same_terms(one: &PlaceOrder, other: &PlaceOrder) -> bool {
    PlaceOrder { key: None, ..one.clone() } == PlaceOrder { key: None, ..other.clone() }
}

/// The order that a command places, and the one that it replaces.
fn placed(command: &Command) -> Option<(&PlaceOrder, Option<OrderNo>)> {
    match command {
        Command::PlaceOrder(terms) => Some((terms, None)),
        Command::ReplaceOrder { replaced, terms } => Some((terms, Some(*replaced))),
        _ => None,
    }
}

impl Naive {
    fn window_over(&self, since: TimeMs) -> bool {
        let seconds = self.rules.as_ref().map_or(0, |rules| rules.repeat_window_seconds);
        self.now.get() - since.get() >= i64::from(seconds) * 1000
    }

    /// The orders whose names are in use: open, or within the repeat window.
    pub fn named_now(&self) -> Vec<Named> {
        let named = self.memory.counting.iter().map(|index| &self.memory.named[*index]);
        let counts = |named: &&Named| {
            let order = self.order(named.number);
            let stands = order.rests && self.due_reason(named.number).is_none();
            stands || !self.window_over(named.since)
        };
        named.filter(counts).cloned().collect()
    }

    /// Lets go of orders that have ended and whose window is over: their names never count again.
    fn count_no_more(&mut self) {
        let mut counting = std::mem::take(&mut self.memory.counting);
        counting.retain(|index| {
            let named = &self.memory.named[*index];
            self.order(named.number).rests || !self.window_over(named.since)
        });
        self.memory.counting = counting;
    }

    /// The commands that placed the newest named orders so far, newest first.
    pub fn newest_named(&self, count: usize) -> Vec<Command> {
        let command = |Named { terms, replaced, .. }: Named| match replaced {
            Some(replaced) => Command::ReplaceOrder { replaced, terms: Box::new(terms) },
            None => Command::PlaceOrder(terms),
        };
        self.memory.named.iter().rev().take(count).cloned().map(command).collect()
    }

    /// The records under this key in its current window, which begins anew when a used-up key is
    /// taken again.
    fn under_key(&self, caller: UserNo, key: Token) -> &[Keyed] {
        let run = self.memory.keyed.get(&(caller, key)).map_or(&[][..], Vec::as_slice);
        if run.first().is_some_and(|first| self.window_over(first.since)) { &[] } else { run }
    }

    /// The earlier record that this one repeats.
    pub(super) fn done_before(&self, record: &Record) -> Result<Option<u64>, Reject> {
        if let Some(once) = &record.once {
            let run = self.under_key(once.caller, once.key);
            if run.first().is_some_and(|first| first.once.body != once.body) {
                return Err(Reject::IdempotencyKeyReused);
            }
            if let Some(same) = run.iter().find(|keyed| keyed.once.part == once.part) {
                return Ok(Some(same.number));
            }
        }
        let Some((terms, replaced)) = placed(&record.command) else { return Ok(None) };
        if terms.client_order_id.is_none() {
            return Ok(None);
        }
        let same = |named: &&Named| {
            (named.terms.user, &named.terms.client_order_id) == (terms.user, &terms.client_order_id)
        };
        match self.named_now().iter().find(same) {
            Some(named) if same_terms(&named.terms, terms) && named.replaced == replaced => {
                Ok(Some(named.number))
            }
            Some(_) => Err(Reject::ClientOrderIdReused),
            None => Ok(None),
        }
    }

    /// The number of a user's remembered names.
    pub fn names_of(&self, user: UserNo) -> usize {
        let of_user = |name: &Name| match name {
            Name::Order(owner, _) | Name::Key(owner, _) => *owner == user,
        };
        let remembered = self.memory.remembered.iter().filter(|(name, _)| of_user(name));
        remembered.map(|(_, entry)| entry.names).sum()
    }

    /// Refuses a record whose caller or owner would exceed the bound on remembered names.
    pub(super) fn room_for_names(&self, record: &Record) -> Result<(), Reject> {
        let Some(rules) = &self.rules else { return Ok(()) };
        let mut naming: Vec<UserNo> = record.once.iter().map(|once| once.caller).collect();
        if let Some((terms, _)) = placed(&record.command)
            && terms.client_order_id.is_some()
        {
            naming.push(terms.user);
        }
        let full = |user: &UserNo| self.names_of(*user) >= rules.user_names_max as usize;
        if naming.iter().any(full) { Err(Reject::TooManyNames) } else { Ok(()) }
    }

    /// After a record: forgets names whose window is over, unless their order still rests.
    pub(super) fn forget_names(&mut self) {
        self.count_no_more();
        let Some(rules) = &self.rules else { return };
        let again = self.now.after_seconds(rules.repeat_window_seconds);
        let mut remembered = std::mem::take(&mut self.memory.remembered);
        remembered.retain(|_, entry| {
            if entry.until > self.now {
                return true;
            }
            let open = |number: u64| self.order(number).rests && self.due_reason(number).is_none();
            entry.until = again;
            entry.order.is_some_and(open)
        });
        self.memory.remembered = remembered;
    }

    /// Remembers the names under which a record was carried out.
    pub(super) fn note_names(&mut self, record: &Record) {
        let (since, number) = (self.now, self.sequence);
        let seconds = self.rules.as_ref().map_or(0, |rules| rules.repeat_window_seconds);
        let until = since.after_seconds(seconds);
        let mut noted = false;
        if let Some((terms, replaced)) = placed(&record.command)
            && let Some(name) = terms.client_order_id.as_deref().copied()
        {
            self.memory.counting.push(self.memory.named.len());
            self.memory.named.push(Named { terms: terms.clone(), replaced, since, number });
            let entry = Remembered { names: 1, until, order: Some(number) };
            self.memory.remembered.insert(Name::Order(terms.user, name), entry);
            noted = true;
        }
        if let Some(once) = &record.once
            && !self.effects.is_empty()
        {
            let over = self.under_key(once.caller, once.key).is_empty();
            let run = self.memory.keyed.entry((once.caller, once.key)).or_default();
            if over {
                run.clear();
            }
            run.push(Keyed { once: **once, since, number });
            let name = Name::Key(once.caller, once.key);
            let entry = match self.memory.remembered.get(&name).filter(|entry| entry.until > since)
            {
                Some(entry) => Remembered { names: entry.names + 1, ..*entry },
                None => Remembered { names: 1, until, order: None },
            };
            self.memory.remembered.insert(name, entry);
            noted = true;
        }
        if noted {
            self.emit(Effect::AnswerKept { until });
        }
    }

    pub(super) fn repeat(first: u64) -> Vec<Effect> {
        vec![Effect::Repeated { first: Sequence::new(first) }]
    }
}
