//! What was asked under a name that a client gave, so that asking again does nothing twice: client
//! order ids and idempotency keys (semantics 8).
//!
//! A name is known by a fingerprint of 16 bytes, so that what a day's names cost does not depend on
//! how long they are, and so that nobody can choose names that share a place in the table. Names
//! are forgotten a few at a time as records come: how many are still held shapes no outcome,
//! because every look-up asks whether the name still counts.

mod image;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::catalogue::Outcome;
use super::command::{
    Command, Condition, Once, PlaceOrder, Record, SelfTradePrevention, Side, TimeInForce,
};
use super::effect::Effect;
use super::ids::{OrderNo, Token, UserNo};
use super::invariant::Broken;
use super::reject::Reject;
use super::units::{Sequence, TimeMs};
use super::{Exchange, Stamp, Stop};

/// Names looked at for forgetting with each record: more than one record can make, so that none
/// stay, and few, so that a quiet night is not paid for by one caller in the morning.
const LOOKED_AT_PER_RECORD: usize = 64;

/// The first half of a SHA-256: nobody finds two things with the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    fn of(hash: Sha256) -> Fingerprint {
        let bytes: [u8; 32] = hash.finalize().into();
        Fingerprint(bytes.first_chunk().copied().unwrap_or_default())
    }

    /// Of a name; `kind` tells orders' names from keys.
    fn of_name(kind: u8, user: UserNo, name: &Token) -> Fingerprint {
        let mut hash = Sha256::new();
        hash.update([kind]);
        hash.update(user.0.to_le_bytes());
        hash.update(name.as_str().as_bytes());
        Fingerprint::of(hash)
    }

    /// Of the name that a user gave to an order.
    pub fn of_order_name(user: UserNo, name: &Token) -> Fingerprint {
        Fingerprint::of_name(1, user, name)
    }

    /// Of everything that an order asks for.
    fn of_order(terms: &PlaceOrder) -> Fingerprint {
        let PlaceOrder {
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
            client_order_id: _,
        } = terms;
        let (force, expires_at) = match time_in_force {
            TimeInForce::GoodTillCancelled { expires_at } => (1, *expires_at),
            TimeInForce::ImmediateOrCancel => (2, None),
            TimeInForce::FillOrKill => (3, None),
        };
        let self_trade = match self_trade {
            SelfTradePrevention::CancelTaker => 1,
            SelfTradePrevention::CancelMaker => 2,
            SelfTradePrevention::CancelBoth => 3,
        };
        let condition = match condition {
            Condition::Unconditional => 1,
            Condition::PostOnly => 2,
            Condition::ReduceOnly => 3,
            Condition::PostOnlyReduceOnly => 4,
        };
        // Numbers are never negative, so -1 is none.
        let time = |time: Option<TimeMs>| time.map_or(-1, TimeMs::get).to_le_bytes();
        let mut hash = Sha256::new();
        hash.update(user.0.to_le_bytes());
        hash.update(market.0.to_le_bytes());
        hash.update([
            u8::from(wording.outcome == Outcome::Yes),
            u8::from(wording.side == Side::Buy),
            price.get(),
            force,
            self_trade,
            condition,
        ]);
        hash.update(quantity.get().to_le_bytes());
        hash.update(time(expires_at));
        hash.update(time(*valid_until));
        hash.update(copy_from.map_or(-1, |user| i64::from(user.0)).to_le_bytes());
        Fingerprint::of(hash)
    }
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    /// What was asked under it.
    body: Fingerprint,
    /// First moment at which it no longer counts, unless its order stands.
    until: TimeMs,
    /// The records that did what was asked, by part.
    firsts: Vec<(u8, Sequence)>,
    /// Whether it names an order.
    order: bool,
}

/// When a name is to be looked at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    at: TimeMs,
    name: Fingerprint,
    /// The first record under the name, to know a name that was given anew meanwhile.
    first: Sequence,
}

/// All names that may still count.
#[derive(Debug, Clone, Default)]
pub struct Repeats {
    /// Looked up, never walked.
    known: FxHashMap<Fingerprint, Known>,
    /// Every name, in order of time.
    ends: VecDeque<End>,
}

impl Repeats {
    /// Every name is known once and looked at again some time, in order.
    pub(super) fn check(&self) -> Result<(), Broken> {
        let sorted = self.ends.iter().zip(self.ends.iter().skip(1)).all(|(a, b)| a.at <= b.at);
        let known = |end: &&End| self.known.get(&end.name);
        let stands = |end: &&End| known(end).is_some_and(|known| known.begins_with(end.first));
        let alive = self.ends.iter().filter(stands).count();
        if sorted && alive == self.known.len() { Ok(()) } else { Err(Broken::Dangling) }
    }

    /// Whether nothing was named.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn add(&mut self, name: Fingerprint, known: Known, first: Sequence) {
        self.ends.push_back(End { at: known.until, name, first });
        self.known.insert(name, known);
    }
}

impl Known {
    fn begins_with(&self, first: Sequence) -> bool {
        self.firsts.first().is_some_and(|(_, sequence)| *sequence == first)
    }
}

/// The name of an order.
fn order_name(terms: &PlaceOrder) -> Option<Fingerprint> {
    Some(Fingerprint::of_order_name(terms.user, terms.client_order_id.as_ref()?))
}

fn key_name(once: &Once) -> Fingerprint {
    Fingerprint::of_name(2, once.caller, &once.key)
}

/// What was asked under a key.
fn key_body(once: &Once) -> Fingerprint {
    Fingerprint(once.body.0.first_chunk().copied().unwrap_or_default())
}

impl Exchange {
    /// The record that did before what this one asks again, if there is one.
    pub(super) fn done_before(&self, record: &Record, at: Stamp) -> Result<Option<Sequence>, Stop> {
        if let Some(once) = &record.once
            && let Some(known) = self.name_in_force(key_name(once), at.time)
        {
            if known.body != key_body(once) {
                return Err(Stop::Refused(Reject::IdempotencyKeyReused));
            }
            let same = known.firsts.iter().find(|(part, _)| *part == once.part);
            if let Some((_, first)) = same {
                return Ok(Some(*first));
            }
        }
        let Command::PlaceOrder(terms) = &record.command else { return Ok(None) };
        let Some(name) = order_name(terms) else { return Ok(None) };
        let Some(known) = self.name_in_force(name, at.time) else { return Ok(None) };
        if known.body != Fingerprint::of_order(terms) {
            return Err(Stop::Refused(Reject::ClientOrderIdReused));
        }
        Ok(known.firsts.first().map(|(_, first)| *first))
    }

    /// A name that counts at `now`: it was given within the window, or its order stands.
    fn name_in_force(&self, name: Fingerprint, now: TimeMs) -> Option<&Known> {
        let known = self.repeats.known.get(&name)?;
        (now < known.until || self.named_order_stands(known, now)).then_some(known)
    }

    fn named_order_stands(&self, known: &Known, now: TimeMs) -> bool {
        let first = known.firsts.first().filter(|_| known.order);
        let order = first.and_then(|(_, first)| self.order(OrderNo(*first)));
        // What is due counts as done.
        order.is_some_and(|order| matches!(self.gone(order, now), Ok(None)))
    }

    /// Keeps in mind the names under which a record did something.
    pub(super) fn remember(
        &mut self,
        record: &Record,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let order = match &record.command {
            Command::PlaceOrder(terms) => {
                order_name(terms).map(|name| (name, Fingerprint::of_order(terms)))
            }
            _ => None,
        };
        if order.is_none() && record.once.is_none() {
            return Ok(());
        }
        let window = self.rules_in_force()?.repeat_window_seconds;
        let until = at.time.after_seconds(window);
        if let Some((name, body)) = order {
            let firsts = vec![(0, at.sequence)];
            self.repeats.add(name, Known { body, until, firsts, order: true }, at.sequence);
        }
        if let Some(once) = &record.once {
            let (name, first) = (key_name(once), (once.part, at.sequence));
            let in_force = self.name_in_force(name, at.time).is_some();
            if let Some(known) = self.repeats.known.get_mut(&name).filter(|_| in_force) {
                // A key ends a day after the first of its parts.
                known.firsts.push(first);
            } else {
                let known =
                    Known { body: key_body(once), until, firsts: vec![first], order: false };
                self.repeats.add(name, known, at.sequence);
            }
        }
        effects.push(Effect::AnswerKept { until });
        Ok(())
    }

    /// Forgets some of the names that no longer count.
    pub(super) fn forget_repeats(&mut self, now: TimeMs) {
        for _ in 0..LOOKED_AT_PER_RECORD {
            let Some(end) = self.repeats.ends.front().copied().filter(|end| end.at <= now) else {
                return;
            };
            self.repeats.ends.pop_front();
            let known = self.repeats.known.get(&end.name);
            let Some(known) = known.filter(|known| known.begins_with(end.first)) else { continue };
            if self.named_order_stands(known, now) {
                let window = self.rules.as_ref().map_or(0, |rules| rules.repeat_window_seconds);
                let at = now.after_seconds(window);
                self.repeats.ends.push_back(End { at, ..end });
            } else {
                self.repeats.known.remove(&end.name);
            }
        }
    }
}
