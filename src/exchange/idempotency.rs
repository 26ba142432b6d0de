//! Idempotency: a command repeated with the same client order id or idempotency key is not executed
//! twice (semantics 8). Both are called *names* here: a client chose them for a request.
//!
//! A name is stored as a fingerprint of 16 bytes, so that its memory does not depend on its length.
//! Expired names are removed a few at a time as records are applied; until then every look-up
//! checks whether the name is still valid. The names of one user are bounded, and more narrowly
//! once the venue has many: each is promised a day, so a user at the bound is refused new names,
//! and no name is forgotten early.

pub(super) mod table;

use sha2::{Digest, Sha256};
use smallvec::{SmallVec, smallvec};

pub use self::table::Fingerprint;
use self::table::{IdempotencyTable, NameEntry};
use super::catalogue::Outcome;
use super::command::{
    Command, Condition, IdempotencyKey, PlaceOrder, Record, SelfTradePrevention, Side, TimeInForce,
};
use super::effect::Effect;
use super::ids::{OrderNo, Token, UserNo};
use super::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, read_count, write_count,
};
use super::plan::Floor;
use super::reject::Reject;
use super::units::{Sequence, TimeMs};
use super::{Exchange, Stamp, Stop};

/// Expired names checked with each record: more than one record can add, so that they cannot pile
/// up, and few, so that the first record after a quiet night does not pay for all of them.
const CHECKS_PER_RECORD: usize = 64;

impl Fingerprint {
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

    /// Of what a user asks for with an order, but for its client order id, and of the order that it
    /// replaces.
    fn of_order(terms: &PlaceOrder, replaced: Option<OrderNo>) -> Fingerprint {
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
            group,
            // A user may repeat a request with another key.
            key: _,
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
        if let Some(group) = group {
            hash.update(b"group");
            hash.update(group.as_str().as_bytes());
            hash.update([0]);
        }
        if let Some(replaced) = replaced {
            hash.update(replaced.0.get().to_le_bytes());
        }
        Fingerprint::of(hash)
    }
}

/// The name that a command gives an order, with the order's owner and the fingerprint of all else.
fn order_name(command: &Command) -> Option<(Fingerprint, UserNo, Fingerprint)> {
    let terms = command.placement()?;
    let name = Fingerprint::of_order_name(terms.user, terms.client_order_id.as_ref()?);
    let replaced = match command {
        Command::ReplaceOrder { replaced, .. } => Some(*replaced),
        _ => None,
    };
    Some((name, terms.user, Fingerprint::of_order(terms, replaced)))
}

fn key_name(once: &IdempotencyKey) -> Fingerprint {
    Fingerprint::of_name(2, once.caller, &once.key)
}

/// The fingerprint of the request that was sent with a key.
fn key_body(once: &IdempotencyKey) -> Fingerprint {
    Fingerprint(once.body.0.first_chunk().copied().unwrap_or_default())
}

/// Executes a record's command unless it was done before under the same client order id or
/// idempotency key, and remembers those.
pub(super) fn execute(
    floor: &mut impl Floor,
    record: &Record,
    at: Stamp,
    effects: &mut Vec<Effect>,
) -> Result<(), Stop> {
    if !record.is_named() {
        return floor.dispatch(record, at, effects);
    }
    let before = effects.len();
    if let Some(first) = first_execution(floor, record, at)? {
        effects.push(Effect::Repeated { first });
        return Ok(());
    }
    admit_names(floor, record)?;
    floor.dispatch(record, at, effects)?;
    // The names of a refused command, or of one without effect, stay free.
    if effects.len() != before {
        effects.push(store_names(floor, record, at)?);
    }
    Ok(())
}

/// The record that already executed what this one repeats, if there is one.
pub(super) fn first_execution<F: Floor>(
    floor: &F,
    record: &Record,
    at: Stamp,
) -> Result<Option<Sequence>, Stop> {
    if let Some(once) = &record.once
        && let Some(entry) = valid_name(floor, key_name(once), at.time)
    {
        if entry.body != key_body(once) {
            return Err(Stop::Refused(Reject::IdempotencyKeyReused));
        }
        let same = entry.firsts.iter().find(|(part, _)| *part == once.part);
        if let Some((_, first)) = same {
            return Ok(Some(*first));
        }
    }
    let Some((name, _, body)) = order_name(&record.command) else { return Ok(None) };
    let Some(entry) = valid_name(floor, name, at.time) else { return Ok(None) };
    if entry.body != body {
        return Err(Stop::Refused(Reject::ClientOrderIdReused));
    }
    Ok(Some(entry.first().1))
}

/// A name that is valid at `now`: it was given within the window, or its order still rests.
fn valid_name<F: Floor>(floor: &F, name: Fingerprint, now: TimeMs) -> Option<NameEntry> {
    let entry = floor.name(name)?;
    (now < entry.until || named_order_rests(floor, &entry, now)).then_some(entry)
}

fn named_order_rests<F: Floor>(floor: &F, entry: &NameEntry, now: TimeMs) -> bool {
    let slot = if entry.order { floor.find(OrderNo(entry.first().1)) } else { None };
    let order = slot.and_then(|slot| floor.order_in(slot).ok());
    // An order that is due to be cancelled no longer counts as resting.
    order.is_some_and(|order| matches!(floor.venue().due_cancel_reason(&order, now), Ok(None)))
}

/// Whether the users may give the names of this record.
pub(super) fn admit_names<F: Floor>(floor: &F, record: &Record) -> Result<(), Reject> {
    let placed = record.command.placement().filter(|terms| terms.client_order_id.is_some());
    let order_user = placed.map(|terms| terms.user);
    let key_user = record.once.as_ref().map(|once| once.caller);
    // A record with both kinds of name may exceed the bound by one.
    let below_max = |user| {
        let (all, own) = floor.names_count(user);
        own < floor.venue().rules.as_ref().map_or(u32::MAX, |rules| rules.names_max(all))
    };
    let all = order_user.into_iter().chain(key_user).all(below_max);
    if all { Ok(()) } else { Err(Reject::TooManyNames) }
}

/// Stores the names of a record that was executed. Returns the last effect of such a record: for
/// how long its answer is kept.
pub(super) fn store_names<F: Floor>(
    floor: &mut F,
    record: &Record,
    at: Stamp,
) -> Result<Effect, Stop> {
    let window = floor.venue().rules_in_force()?.repeat_window_seconds;
    let until = at.time.after_seconds(window);
    if let Some((name, user, body)) = order_name(&record.command) {
        let firsts = smallvec![(0, at.sequence)];
        floor.give_name(until, name, NameEntry { user, body, until, firsts, order: true });
    }
    if let Some(once) = &record.once {
        let (name, first) = (key_name(once), (once.part, at.sequence));
        let user = once.caller;
        if valid_name(floor, name, at.time).is_some() {
            // A key expires a day after its first part, whatever parts follow.
            floor.add_part(name, user, first);
        } else {
            let (body, firsts) = (key_body(once), smallvec![first]);
            floor.give_name(until, name, NameEntry { user, body, until, firsts, order: false });
        }
    }
    Ok(Effect::AnswerKept { until })
}

impl Exchange {
    /// Removes some of the expired names.
    pub(super) fn forget_expired_names(&mut self, now: TimeMs) {
        for _ in 0..CHECKS_PER_RECORD {
            let Some((slot, entry)) = self.idempotency.take_due(now) else { return };
            let Some(entry) = entry else { continue };
            if named_order_rests(self, &entry, now) {
                let window = self.rules.as_ref().map_or(0, |rules| rules.repeat_window_seconds);
                self.idempotency.prolong(slot, entry.until, now.after_seconds(window));
            } else {
                self.idempotency.remove(&slot, &entry);
            }
        }
    }

    /// The number of names that are remembered.
    pub fn names(&self) -> u64 {
        self.idempotency.count()
    }

    /// When the oldest name of a user who may give no more is forgotten.
    pub fn name_free_at(&self, user: UserNo) -> Option<TimeMs> {
        self.idempotency.oldest_until(user)
    }
}

// Names in the state image, in the order of their expiry checks.

imaged!(NameEntry { user, body, until, firsts, order });

impl Imaged for Fingerprint {
    fn write(&self, sink: &mut impl ImageSink) {
        self.0.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Imaged::read(source).map(Fingerprint)
    }
}

/// A part, and the record that executed it.
impl Imaged for (u8, Sequence) {
    fn write(&self, sink: &mut impl ImageSink) {
        self.0.write(sink);
        self.1.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Ok((Imaged::read(source)?, Imaged::read(source)?))
    }
}

impl Imaged for SmallVec<[(u8, Sequence); 1]> {
    fn write(&self, sink: &mut impl ImageSink) {
        write_count(self.len(), sink);
        self.iter().for_each(|first| first.write(sink));
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        (0..read_count(source)?).map(|_| Imaged::read(source)).collect()
    }
}

impl Imaged for IdempotencyTable {
    fn write(&self, sink: &mut impl ImageSink) {
        write_count(self.entries().count(), sink);
        for (slot, entry) in self.entries() {
            slot.at().write(sink);
            slot.name.write(sink);
            slot.first.write(sink);
            // A reused name is written with its newer slot only.
            entry.is_some().write(sink);
            if let Some(entry) = entry {
                entry.write(sink);
            }
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut table = IdempotencyTable::default();
        for _ in 0..read_count(source)? {
            let at = TimeMs::read(source)?;
            let (name, first) = (Fingerprint::read(source)?, Sequence::read(source)?);
            if !bool::read(source)? {
                table.add_stale(at, name, first);
                continue;
            }
            let entry = NameEntry::read(source)?;
            let begins = entry.firsts.first().is_some_and(|(_, begins)| *begins == first);
            if !begins || table.get(name).is_some() {
                return Err(BadImage::Contradiction("a name that stands twice or for nothing"));
            }
            table.add(at, name, &entry);
        }
        Ok(table)
    }
}

impl IdempotencyTable {
    /// The last record that a name refers to.
    pub(crate) fn last_record(&self) -> Sequence {
        let firsts = self.entries().flat_map(|(slot, entry)| {
            let parts = entry.into_iter().flat_map(|entry| entry.firsts);
            parts.map(|(_, first)| first).chain([slot.first])
        });
        firsts.max().unwrap_or(Sequence::ZERO)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/exchange/idempotency.rs"]
mod tests;
