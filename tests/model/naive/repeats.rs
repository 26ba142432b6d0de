//! The twin's memory of names: client order ids and idempotency keys (semantics 8).

use openoutcry::exchange::command::{Command, Once, PlaceOrder, Record};
use openoutcry::exchange::effect::Effect;
use openoutcry::exchange::ids::UserNo;
use openoutcry::exchange::reject::Reject;
use openoutcry::exchange::units::{Sequence, TimeMs};

use super::Naive;

/// An order that its owner named.
#[derive(Debug, Clone)]
pub struct Named {
    pub terms: PlaceOrder,
    pub since: TimeMs,
    pub number: u64,
}

/// Something done under a key.
#[derive(Debug, Clone)]
struct Keyed {
    once: Once,
    since: TimeMs,
    number: u64,
}

/// Everything ever named, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    named: Vec<Named>,
    keyed: Vec<Keyed>,
}

impl Naive {
    fn window_over(&self, since: TimeMs) -> bool {
        let seconds = self.rules.as_ref().map_or(0, |rules| rules.repeat_window_seconds);
        self.now.get() - since.get() >= i64::from(seconds) * 1000
    }

    /// The orders whose names count now: open, or within the window.
    pub fn named_now(&self) -> Vec<Named> {
        let named = self.memory.named.iter();
        let counts = |named: &&Named| {
            let order = self.order(named.number);
            let stands = order.rests && self.due_reason(named.number).is_none();
            stands || !self.window_over(named.since)
        };
        named.filter(counts).cloned().collect()
    }

    /// The terms of every named order so far.
    pub fn named_ever(&self) -> Vec<PlaceOrder> {
        self.memory.named.iter().map(|named| named.terms).collect()
    }

    /// What was done under this key since it began to count: the last time it was taken anew.
    fn under_key(&self, caller: UserNo, key: &str) -> Vec<Keyed> {
        let mut run: Vec<Keyed> = Vec::new();
        for keyed in &self.memory.keyed {
            if keyed.once.caller == caller && keyed.once.key.as_str() == key {
                let seconds = self.rules.as_ref().map_or(0, |rules| rules.repeat_window_seconds);
                let over = run.first().is_some_and(|first| {
                    keyed.since.get() - first.since.get() >= i64::from(seconds) * 1000
                });
                if over {
                    run.clear();
                }
                run.push(keyed.clone());
            }
        }
        if run.first().is_some_and(|first| self.window_over(first.since)) {
            run.clear();
        }
        run
    }

    /// The record that did before what this one asks again.
    pub(super) fn done_before(&self, record: &Record) -> Result<Option<u64>, Reject> {
        if let Some(once) = &record.once {
            let run = self.under_key(once.caller, once.key.as_str());
            if run.first().is_some_and(|first| first.once.body != once.body) {
                return Err(Reject::IdempotencyKeyReused);
            }
            if let Some(same) = run.iter().find(|keyed| keyed.once.part == once.part) {
                return Ok(Some(same.number));
            }
        }
        let Command::PlaceOrder(terms) = &record.command else { return Ok(None) };
        if terms.client_order_id.is_none() {
            return Ok(None);
        }
        let same = |named: &&Named| {
            (named.terms.user, named.terms.client_order_id) == (terms.user, terms.client_order_id)
        };
        match self.named_now().iter().find(same) {
            Some(named) if named.terms == *terms => Ok(Some(named.number)),
            Some(_) => Err(Reject::ClientOrderIdReused),
            None => Ok(None),
        }
    }

    /// Notes under which names a record was carried out.
    pub(super) fn note_names(&mut self, record: &Record) {
        let (since, number) = (self.now, self.sequence);
        let mut noted = false;
        if let Command::PlaceOrder(terms) = record.command
            && terms.client_order_id.is_some()
        {
            self.memory.named.push(Named { terms, since, number });
            noted = true;
        }
        if let Some(once) = &record.once
            && !self.effects.is_empty()
        {
            self.memory.keyed.push(Keyed { once: **once, since, number });
            noted = true;
        }
        if noted {
            let seconds = self.rules.as_ref().expect("an open venue").repeat_window_seconds;
            let until = TimeMs::new(self.now.get() + i64::from(seconds) * 1000).unwrap();
            self.tell(Effect::AnswerKept { until });
        }
    }

    pub(super) fn repeat(first: u64) -> Vec<Effect> {
        vec![Effect::Repeated { first: Sequence::new(first) }]
    }
}
