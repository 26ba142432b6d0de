//! Idempotency: a command repeated with the same client order id or idempotency key is not executed
//! twice (semantics 8). Both are called *names* here: a client chose them for a request.
//!
//! A name is stored as a fingerprint of 16 bytes, so that its memory does not depend on its length.
//! Expired names are removed a few at a time as records are applied; until then every look-up
//! checks whether the name is still valid. The names of one user are bounded, and more narrowly
//! once the venue has many: each is promised a day, so a user at the bound is refused new names,
//! and no name is forgotten early.

mod excerpt;
mod image;

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use smallvec::{SmallVec, smallvec};

use super::catalogue::Outcome;
use super::command::{
    Command, Condition, IdempotencyKey, PlaceOrder, Record, SelfTradePrevention, Side, TimeInForce,
};
use super::effect::Effect;
use super::ids::{OrderNo, Token, UserNo};
use super::invariant::Broken;
use super::reject::Reject;
use super::rules::{USER_NAMES_OF_MANY_MAX, VENUE_NAMES_MANY};
use super::units::{Sequence, TimeMs};
use super::{Exchange, Stamp, Stop};

/// Expired names checked with each record: more than one record can add, so that they cannot pile
/// up, and few, so that the first record after a quiet night does not pay for all of them.
const CHECKS_PER_RECORD: usize = 64;

/// The first half of a SHA-256: collisions cannot be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    fn of(hash: Sha256) -> Fingerprint {
        let bytes: [u8; 32] = hash.finalize().into();
        Fingerprint(bytes.first_chunk().copied().unwrap_or_default())
    }

    /// Of a name; `kind` tells client order ids (1) from idempotency keys (2).
    fn of_name(kind: u8, user: UserNo, name: &Token) -> Fingerprint {
        let mut hash = Sha256::new();
        hash.update([kind]);
        hash.update(user.0.to_le_bytes());
        hash.update(name.as_str().as_bytes());
        Fingerprint::of(hash)
    }

    /// Of a user's client order id.
    pub fn of_order_name(user: UserNo, name: &Token) -> Fingerprint {
        Fingerprint::of_name(1, user, name)
    }

    /// Of all terms of an order but its client order id.
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

/// What is remembered of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NameEntry {
    /// The user who gave it.
    user: UserNo,
    /// What was requested with it.
    body: Fingerprint,
    /// First moment at which it is no longer valid, unless its order still rests.
    until: TimeMs,
    /// The records that executed the request, by part. Only batches have several.
    firsts: SmallVec<[(u8, Sequence); 1]>,
    /// Whether it is a client order id.
    order: bool,
}

/// When a name is to be checked for expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ExpiryCheck {
    at: TimeMs,
    name: Fingerprint,
    /// The first record with the name; another one if the name was reused since.
    first: Sequence,
}

/// All names that may still be valid.
#[derive(Debug, Clone, Default)]
pub struct IdempotencyTable {
    /// A tree, because clients choose the names and could make them collide in a hash table.
    entries: BTreeMap<Fingerprint, NameEntry>,
    /// Every name, in order of time.
    checks: VecDeque<ExpiryCheck>,
    /// The number of names of each user who has any. Looked up, never iterated.
    counts: FxHashMap<UserNo, u32>,
    /// The number of all names.
    count: u64,
}

impl IdempotencyTable {
    /// Every name has exactly one valid expiry entry, in order of time, and the counts are right.
    pub(super) fn check(&self) -> Result<(), Broken> {
        let sorted = self.checks.iter().zip(self.checks.iter().skip(1)).all(|(a, b)| a.at <= b.at);
        let entry = |check: &&ExpiryCheck| self.entries.get(&check.name);
        let is_valid =
            |check: &&ExpiryCheck| entry(check).is_some_and(|entry| entry.starts_at(check.first));
        let valid = self.checks.iter().filter(is_valid).count();
        let counts_right = self.recounted() == (self.counts.clone(), self.count);
        if sorted && counts_right && valid == self.entries.len() {
            Ok(())
        } else {
            Err(Broken::Dangling)
        }
    }

    /// Whether there is no name.
    pub(super) fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    /// The numbers of names of each user and of all, recounted from the entries.
    fn recounted(&self) -> (FxHashMap<UserNo, u32>, u64) {
        let (mut held, mut all): (FxHashMap<UserNo, u32>, u64) = Default::default();
        for check in &self.checks {
            let entry = self.entries.get(&check.name);
            if let Some(entry) = entry.filter(|entry| entry.starts_at(check.first)) {
                let count = held.entry(entry.user).or_default();
                *count = count.saturating_add(entry.count());
                all = all.saturating_add(entry.count().into());
            }
        }
        (held, all)
    }

    /// The number of a user's names.
    fn names_of(&self, user: UserNo) -> u32 {
        self.counts.get(&user).copied().unwrap_or_default()
    }

    fn add(&mut self, name: Fingerprint, entry: NameEntry, first: Sequence) {
        self.checks.push_back(ExpiryCheck { at: entry.until, name, first });
        self.count(entry.user, entry.count());
        if let Some(before) = self.entries.insert(name, entry) {
            self.uncount(before.user, before.count());
        }
    }

    fn remove(&mut self, name: Fingerprint) {
        if let Some(entry) = self.entries.remove(&name) {
            self.uncount(entry.user, entry.count());
        }
    }

    fn count(&mut self, user: UserNo, names: u32) {
        let held = self.counts.entry(user).or_default();
        *held = held.saturating_add(names);
        self.count = self.count.saturating_add(u64::from(names));
    }

    fn uncount(&mut self, user: UserNo, names: u32) {
        let left = self.names_of(user).saturating_sub(names);
        self.count = self.count.saturating_sub(u64::from(names));
        if left == 0 {
            self.counts.remove(&user);
        } else {
            self.counts.insert(user, left);
        }
    }
}

impl NameEntry {
    fn count(&self) -> u32 {
        u32::try_from(self.firsts.len()).unwrap_or(u32::MAX)
    }

    fn starts_at(&self, first: Sequence) -> bool {
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

/// The fingerprint of the request that was sent with a key.
fn key_body(once: &IdempotencyKey) -> Fingerprint {
    Fingerprint(once.body.0.first_chunk().copied().unwrap_or_default())
}

impl Exchange {
    /// The record that already executed what this one repeats, if there is one.
    pub(super) fn first_execution(
        &self,
        record: &Record,
        at: Stamp,
    ) -> Result<Option<Sequence>, Stop> {
        if let Some(once) = &record.once
            && let Some(entry) = self.valid_name(key_name(once), at.time)
        {
            if entry.body != key_body(once) {
                return Err(Stop::Refused(Reject::IdempotencyKeyReused));
            }
            let same = entry.firsts.iter().find(|(part, _)| *part == once.part);
            if let Some((_, first)) = same {
                return Ok(Some(*first));
            }
        }
        let Command::PlaceOrder(terms) = &record.command else { return Ok(None) };
        let Some(name) = order_name(terms) else { return Ok(None) };
        let Some(entry) = self.valid_name(name, at.time) else { return Ok(None) };
        if entry.body != Fingerprint::of_order(terms) {
            return Err(Stop::Refused(Reject::ClientOrderIdReused));
        }
        Ok(entry.firsts.first().map(|(_, first)| *first))
    }

    /// A name that is valid at `now`: it was given within the window, or its order still rests.
    fn valid_name(&self, name: Fingerprint, now: TimeMs) -> Option<&NameEntry> {
        let entry = self.idempotency.entries.get(&name)?;
        (now < entry.until || self.named_order_rests(entry, now)).then_some(entry)
    }

    fn named_order_rests(&self, entry: &NameEntry, now: TimeMs) -> bool {
        let first = entry.firsts.first().filter(|_| entry.order);
        let order = first.and_then(|(_, first)| self.order(OrderNo(*first)));
        // An order that is due to be cancelled no longer counts as resting.
        order.is_some_and(|order| matches!(self.due_cancel_reason(&order, now), Ok(None)))
    }

    /// Whether the users may give the names of this record.
    pub(super) fn admit_names(&self, record: &Record) -> Result<(), Reject> {
        let order_user = match &record.command {
            Command::PlaceOrder(terms) => terms.client_order_id.as_ref().map(|_| terms.user),
            _ => None,
        };
        let key_user = record.once.as_ref().map(|once| once.caller);
        // A record with both kinds of name may exceed the bound by one.
        let max = self.rules.as_ref().map_or(u32::MAX, |rules| rules.user_names_max);
        let many = self.idempotency.count >= VENUE_NAMES_MANY;
        let max = if many { max.min(USER_NAMES_OF_MANY_MAX) } else { max };
        let below_max = |user| self.idempotency.names_of(user) < max;
        let all = order_user.into_iter().chain(key_user).all(below_max);
        if all { Ok(()) } else { Err(Reject::TooManyNames) }
    }

    /// The last effect of a record with a name: for how long its answer is kept.
    pub(super) fn answer_kept(&self, record: &Record, at: Stamp) -> Result<Option<Effect>, Reject> {
        if !record.is_named() {
            return Ok(None);
        }
        Ok(Some(Effect::AnswerKept { until: self.name_expiry(at)? }))
    }

    /// The first moment at which a name that is given now is no longer valid.
    fn name_expiry(&self, at: Stamp) -> Result<TimeMs, Reject> {
        Ok(at.time.after_seconds(self.rules_in_force()?.repeat_window_seconds))
    }

    /// Stores the names of a record that was executed.
    pub(super) fn store_names(&mut self, record: &Record, at: Stamp) -> Result<(), Stop> {
        let until = self.name_expiry(at)?;
        if let Command::PlaceOrder(terms) = &record.command
            && let Some(name) = order_name(terms)
        {
            let (user, body) = (terms.user, Fingerprint::of_order(terms));
            let firsts = smallvec![(0, at.sequence)];
            let entry = NameEntry { user, body, until, firsts, order: true };
            self.idempotency.add(name, entry, at.sequence);
        }
        if let Some(once) = &record.once {
            let (name, first) = (key_name(once), (once.part, at.sequence));
            let valid = self.valid_name(name, at.time).is_some();
            let user = once.caller;
            if let Some(entry) = self.idempotency.entries.get_mut(&name).filter(|_| valid) {
                // A key expires a day after its first part, whatever parts follow.
                entry.firsts.push(first);
                self.idempotency.count(user, 1);
            } else {
                let (body, firsts) = (key_body(once), smallvec![first]);
                let entry = NameEntry { user, body, until, firsts, order: false };
                self.idempotency.add(name, entry, at.sequence);
            }
        }
        Ok(())
    }

    /// Removes some of the expired names.
    pub(super) fn forget_expired_names(&mut self, now: TimeMs) {
        for _ in 0..CHECKS_PER_RECORD {
            let Some(check) =
                self.idempotency.checks.front().copied().filter(|check| check.at <= now)
            else {
                return;
            };
            self.idempotency.checks.pop_front();
            let entry = self.idempotency.entries.get(&check.name);
            let Some(entry) = entry.filter(|entry| entry.starts_at(check.first)) else { continue };
            if self.named_order_rests(entry, now) {
                let window = self.rules.as_ref().map_or(0, |rules| rules.repeat_window_seconds);
                let at = now.after_seconds(window);
                self.idempotency.checks.push_back(ExpiryCheck { at, ..check });
            } else {
                self.idempotency.remove(check.name);
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

    /// Applies a deposit that `caller` sends with this key.
    fn deposit_with_key(
        exchange: &mut Exchange,
        caller: UserNo,
        key: &str,
        at_ms: i64,
    ) -> Vec<Effect> {
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
    fn a_user_at_the_name_limit_is_refused_new_names_until_old_ones_expire() {
        let mut exchange = venue();
        let refused = [Effect::Refused(Reject::TooManyNames)];
        assert!(deposit_with_key(&mut exchange, ANN, "first", 1).len() > 1);
        // As if she had given that many.
        exchange.idempotency.count(ANN, Rules::current().user_names_max - 1);
        assert_eq!(deposit_with_key(&mut exchange, ANN, "more", 2), refused);
        // Her earlier name is still valid, and other users are not affected.
        let first = Effect::Repeated { first: Sequence::new(4) };
        assert_eq!(deposit_with_key(&mut exchange, ANN, "first", 3), [first]);
        assert!(deposit_with_key(&mut exchange, UserNo(1), "more", 3).len() > 1);
        // Refused once more, but applying this record removes the first name.
        assert_eq!(deposit_with_key(&mut exchange, ANN, "more", DAY_MS + 1), refused);
        assert!(deposit_with_key(&mut exchange, ANN, "more", DAY_MS + 1).len() > 1);
        assert_eq!(exchange.idempotency.names_of(ANN), Rules::current().user_names_max);
    }

    #[test]
    fn a_venue_with_many_names_takes_fewer_of_one_user() {
        let mut exchange = venue();
        let refused = [Effect::Refused(Reject::TooManyNames)];
        exchange.idempotency.counts.insert(ANN, USER_NAMES_OF_MANY_MAX);
        exchange.idempotency.count = VENUE_NAMES_MANY - 1;
        assert!(deposit_with_key(&mut exchange, ANN, "last", 1).len() > 1);
        assert_eq!(deposit_with_key(&mut exchange, ANN, "more", 1), refused);
        assert!(deposit_with_key(&mut exchange, UserNo(1), "first", 1).len() > 1);
    }

    #[test]
    fn names_are_counted_by_user_and_part_and_uncounted_when_removed() {
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
        assert_eq!(exchange.idempotency.names_of(ANN), 3);
        exchange.check().unwrap();
        let image = exchange.image().unwrap();
        assert_eq!(
            Exchange::from_image(&image).unwrap().idempotency.counts,
            exchange.idempotency.counts
        );
        deposit_with_key(&mut exchange, UserNo(1), "c", DAY_MS);
        assert_eq!(
            (exchange.idempotency.names_of(ANN), exchange.idempotency.names_of(UserNo(1))),
            (0, 1)
        );
        exchange.check().unwrap();
    }
}
