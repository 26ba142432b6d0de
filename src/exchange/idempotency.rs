//! What was asked under a name that a client gave, so that asking again does nothing twice: client
//! order ids and idempotency keys (semantics 8).
//!
//! A name is known by a fingerprint of 16 bytes, so that what a day's names cost does not depend on
//! how long they are. Names are forgotten a few at a time as records come; every look-up asks
//! whether the name still counts. How many of a user's are held is bounded: a day is promised for
//! each, so whoever has used up the bound is refused new ones, and nobody's are forgotten early.

mod excerpt;
mod image;

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::catalogue::Outcome;
use super::command::{
    Command, Condition, IdempotencyKey, PlaceOrder, Record, SelfTradePrevention, Side, TimeInForce,
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
    /// Whose it is.
    user: UserNo,
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
pub struct IdempotencyTable {
    /// A tree, because whoever chooses names can choose such as share a place in a table.
    known: BTreeMap<Fingerprint, Known>,
    /// Every name, in order of time.
    ends: VecDeque<End>,
    /// How many are known of each user who has any. Looked up, never walked.
    held: FxHashMap<UserNo, u32>,
}

impl IdempotencyTable {
    /// Every name is known once and looked at again some time, in order.
    pub(super) fn check(&self) -> Result<(), Broken> {
        let sorted = self.ends.iter().zip(self.ends.iter().skip(1)).all(|(a, b)| a.at <= b.at);
        let known = |end: &&End| self.known.get(&end.name);
        let stands = |end: &&End| known(end).is_some_and(|known| known.begins_with(end.first));
        let alive = self.ends.iter().filter(stands).count();
        let counted = self.counted() == self.held;
        if sorted && counted && alive == self.known.len() { Ok(()) } else { Err(Broken::Dangling) }
    }

    /// Whether nothing was named.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many names each user has.
    fn counted(&self) -> FxHashMap<UserNo, u32> {
        let mut held: FxHashMap<UserNo, u32> = FxHashMap::default();
        for end in &self.ends {
            let known = self.known.get(&end.name);
            if let Some(known) = known.filter(|known| known.begins_with(end.first)) {
                let count = held.entry(known.user).or_default();
                *count = count.saturating_add(known.count());
            }
        }
        held
    }

    /// How many names of a user's are held.
    fn held_of(&self, user: UserNo) -> u32 {
        self.held.get(&user).copied().unwrap_or_default()
    }

    fn add(&mut self, name: Fingerprint, known: Known, first: Sequence) {
        self.ends.push_back(End { at: known.until, name, first });
        self.count(known.user, known.count());
        if let Some(before) = self.known.insert(name, known) {
            self.count_off(before.user, before.count());
        }
    }

    fn remove(&mut self, name: Fingerprint) {
        if let Some(known) = self.known.remove(&name) {
            self.count_off(known.user, known.count());
        }
    }

    fn count(&mut self, user: UserNo, names: u32) {
        let held = self.held.entry(user).or_default();
        *held = held.saturating_add(names);
    }

    fn count_off(&mut self, user: UserNo, names: u32) {
        let left = self.held_of(user).saturating_sub(names);
        if left == 0 {
            self.held.remove(&user);
        } else {
            self.held.insert(user, left);
        }
    }
}

impl Known {
    fn count(&self) -> u32 {
        u32::try_from(self.firsts.len()).unwrap_or(u32::MAX)
    }

    fn begins_with(&self, first: Sequence) -> bool {
        self.firsts.first().is_some_and(|(_, sequence)| *sequence == first)
    }
}

/// The name of an order.
fn order_name(terms: &PlaceOrder) -> Option<Fingerprint> {
    Some(Fingerprint::of_order_name(terms.user, terms.client_order_id.as_ref()?))
}

fn key_name(once: &IdempotencyKey) -> Fingerprint {
    Fingerprint::of_name(2, once.caller, &once.key)
}

/// What was asked under a key.
fn key_body(once: &IdempotencyKey) -> Fingerprint {
    Fingerprint(once.body.0.first_chunk().copied().unwrap_or_default())
}

impl Exchange {
    /// The record that did before what this one asks again, if there is one.
    pub(super) fn done_before(&self, record: &Record, at: Stamp) -> Result<Option<Sequence>, Stop> {
        if let Some(once) = &record.once
            && let Some(known) = self.live_key(key_name(once), at.time)
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
        let Some(known) = self.live_key(name, at.time) else { return Ok(None) };
        if known.body != Fingerprint::of_order(terms) {
            return Err(Stop::Refused(Reject::ClientOrderIdReused));
        }
        Ok(known.firsts.first().map(|(_, first)| *first))
    }

    /// A name that counts at `now`: it was given within the window, or its order stands.
    fn live_key(&self, name: Fingerprint, now: TimeMs) -> Option<&Known> {
        let known = self.repeats.known.get(&name)?;
        (now < known.until || self.named_order_stands(known, now)).then_some(known)
    }

    fn named_order_stands(&self, known: &Known, now: TimeMs) -> bool {
        let first = known.firsts.first().filter(|_| known.order);
        let order = first.and_then(|(_, first)| self.order(OrderNo(*first)));
        // What is due counts as done.
        order.is_some_and(|order| matches!(self.due_cancel_reason(&order, now), Ok(None)))
    }

    /// Whether there is room for the names that a record gives.
    pub(super) fn admit_names(&self, record: &Record) -> Result<(), Reject> {
        let ordering = match &record.command {
            Command::PlaceOrder(terms) => terms.client_order_id.as_ref().map(|_| terms.user),
            _ => None,
        };
        let asking = record.once.as_ref().map(|once| once.caller);
        // Somebody who gives two at once is held to one more than the bound at most.
        let max = self.rules.as_ref().map_or(u32::MAX, |rules| rules.user_names_max);
        let room = |user| self.repeats.held_of(user) < max;
        let all = ordering.into_iter().chain(asking).all(room);
        if all { Ok(()) } else { Err(Reject::TooManyNames) }
    }

    /// What is said of a record that has a name, and for how long that counts.
    pub(super) fn kept_until(&self, record: &Record, at: Stamp) -> Result<Option<Effect>, Reject> {
        if !record.is_named() {
            return Ok(None);
        }
        Ok(Some(Effect::AnswerKept { until: self.key_expiry(at)? }))
    }

    /// The first moment at which a name that is given now no longer counts.
    fn key_expiry(&self, at: Stamp) -> Result<TimeMs, Reject> {
        Ok(at.time.after_seconds(self.rules_in_force()?.repeat_window_seconds))
    }

    /// Keeps in mind the names under which a record did something.
    pub(super) fn remember(&mut self, record: &Record, at: Stamp) -> Result<(), Stop> {
        let until = self.key_expiry(at)?;
        if let Command::PlaceOrder(terms) = &record.command
            && let Some(name) = order_name(terms)
        {
            let (user, body) = (terms.user, Fingerprint::of_order(terms));
            let firsts = vec![(0, at.sequence)];
            let known = Known { user, body, until, firsts, order: true };
            self.repeats.add(name, known, at.sequence);
        }
        if let Some(once) = &record.once {
            let (name, first) = (key_name(once), (once.part, at.sequence));
            let in_force = self.live_key(name, at.time).is_some();
            let user = once.caller;
            if let Some(known) = self.repeats.known.get_mut(&name).filter(|_| in_force) {
                // A key ends a day after the first of its parts.
                known.firsts.push(first);
                self.repeats.count(user, 1);
            } else {
                let (body, firsts) = (key_body(once), vec![first]);
                let known = Known { user, body, until, firsts, order: false };
                self.repeats.add(name, known, at.sequence);
            }
        }
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
                self.repeats.remove(end.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::command::BodyHash;
    use crate::exchange::rules::Rules;
    use crate::exchange::units::Money;

    const ANN: UserNo = UserNo(0);
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;

    /// A deposit of the operator's, or anybody's, under this key.
    fn under(exchange: &mut Exchange, caller: UserNo, key: &str, at_ms: i64) -> Vec<Effect> {
        let (key, body) = (Token::new(key).unwrap(), BodyHash([1; 32]));
        let record = Record {
            sequence: exchange.sequence().next(),
            time: TimeMs::new(at_ms).unwrap(),
            once: Some(Box::new(IdempotencyKey { caller, key, part: 0, body })),
            command: Command::Deposit { user: ANN, amount: Money::new(1) },
        };
        let mut effects = Vec::new();
        exchange.apply(&record, &mut effects).unwrap();
        effects
    }

    fn venue() -> Exchange {
        let mut exchange = Exchange::new();
        let user =
            || Command::CreateUser { profile_name: String::new(), profile_pic: String::new() };
        for command in [Command::OpenVenue(Rules::current()), user(), user()] {
            let sequence = exchange.sequence().next();
            let record = Record { sequence, time: TimeMs::default(), once: None, command };
            exchange.apply(&record, &mut Vec::new()).unwrap();
        }
        exchange
    }

    #[test]
    fn whoever_has_as_many_names_as_may_be_gets_no_more_until_they_are_a_day_old() {
        let mut exchange = venue();
        let refused = [Effect::Refused(Reject::TooManyNames)];
        assert!(under(&mut exchange, ANN, "first", 1).len() > 1);
        // As if she had given so many.
        exchange.repeats.held.insert(ANN, Rules::current().user_names_max);
        assert_eq!(under(&mut exchange, ANN, "more", 2), refused);
        // What she has named is still known, and nobody else is concerned.
        let first = Effect::Repeated { first: Sequence::new(4) };
        assert_eq!(under(&mut exchange, ANN, "first", 3), [first]);
        assert!(under(&mut exchange, UserNo(1), "more", 3).len() > 1);
        // Refused once more, but with this record the first is forgotten.
        assert_eq!(under(&mut exchange, ANN, "more", DAY_MS + 1), refused);
        assert!(under(&mut exchange, ANN, "more", DAY_MS + 1).len() > 1);
        assert_eq!(exchange.repeats.held_of(ANN), Rules::current().user_names_max);
    }

    #[test]
    fn names_are_counted_by_user_and_part_and_counted_off() {
        let mut exchange = venue();
        for (key, part) in [("a", 0), ("a", 1), ("b", 0)] {
            let (key, body) = (Token::new(key).unwrap(), BodyHash([1; 32]));
            let record = Record {
                sequence: exchange.sequence().next(),
                time: TimeMs::default(),
                once: Some(Box::new(IdempotencyKey { caller: ANN, key, part, body })),
                command: Command::Deposit { user: ANN, amount: Money::new(1) },
            };
            exchange.apply(&record, &mut Vec::new()).unwrap();
        }
        assert_eq!(exchange.repeats.held_of(ANN), 3);
        exchange.check().unwrap();
        let image = exchange.image().unwrap();
        assert_eq!(Exchange::from_image(&image).unwrap().repeats.held, exchange.repeats.held);
        under(&mut exchange, UserNo(1), "c", DAY_MS);
        assert_eq!((exchange.repeats.held_of(ANN), exchange.repeats.held_of(UserNo(1))), (0, 1));
        exchange.check().unwrap();
    }
}
