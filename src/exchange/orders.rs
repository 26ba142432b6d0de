//! The resting orders of all books: a pool of slots, found by order number without hashing. The
//! book links slots into queues. Which slot an order gets never shapes an outcome.

mod entry;
pub(super) mod image;
mod index;
mod owned;

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use entry::{Entry, Rare, Sender};
use index::SequenceIndex;
use owned::Owned;

use super::command::{Condition, Direction, PlaceOrder, SelfTradePrevention, Wording};
use super::ids::{Group, KeyNo, MarketNo, OrderNo, UserNo};
use super::invariant::Broken;
use super::ledger::Terms;
use super::restrictions::Guarded;
use super::units::{Lots, Money, Sequence, Tick, TimeMs};

/// A place in the pool. Slots are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(NonZeroU32);

impl Slot {
    /// The slot with this number, counted from 1.
    pub(super) fn at(number: usize) -> Option<Slot> {
        u32::try_from(number).ok().and_then(NonZeroU32::new).map(Slot)
    }

    const fn index(self) -> usize {
        self.0.get().saturating_sub(1) as usize
    }
}

/// What backs the unfilled part of an order (semantics 5). Contracts are used first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backing {
    /// Lots backed by the owner's contracts of the outcome that the order closes.
    pub contracts: Lots,
    /// Lots backed by cash at the order's own price.
    pub cash: Lots,
    /// Cash reserved for the fees of the cash-backed lots.
    pub fees: Money,
}

impl Backing {
    /// The unfilled quantity: both parts.
    pub fn remaining(self) -> Result<Lots, Broken> {
        Ok(self.contracts.plus(self.cash)?)
    }

    /// Splits off the backing of the next `quantity` to be filled, contracts first. The reserve for
    /// fees stays; [`Backing::charge`] takes the fill's fee from it.
    pub fn take(&mut self, quantity: Lots) -> Result<Backing, Broken> {
        let contracts = quantity.min(self.contracts);
        let part = Backing { contracts, cash: quantity.minus(contracts)?, fees: Money::ZERO };
        self.contracts = self.contracts.minus(part.contracts)?;
        self.cash = self.cash.minus(part.cash)?;
        Ok(part)
    }
}

/// An order that the exchange has accepted and not yet finished: incoming or resting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Its number.
    pub no: OrderNo,
    /// Owner.
    pub user: UserNo,
    /// Market.
    pub market: MarketNo,
    /// Outcome and side as the owner wrote them.
    pub wording: Wording,
    /// Limit, as a price of yes.
    pub price: Tick,
    /// Total quantity, the filled part included.
    pub quantity: Lots,
    /// The filled part.
    pub filled: Lots,
    /// What backs the rest.
    pub backing: Backing,
    /// First moment at which it is no longer open.
    pub expires_at: Option<TimeMs>,
    /// What happens when it is incoming and meets its owner's own order.
    pub self_trade: SelfTradePrevention,
    /// Under which condition it is refused.
    pub condition: Condition,
    /// The trader it copies.
    pub copy_from: Option<UserNo>,
    /// The group to which its owner counts it.
    pub group: Option<Group>,
    /// The API key that it was sent with.
    pub key: Option<KeyNo>,
}

impl Order {
    /// The order that these terms make, backed by `backing`.
    pub fn new(no: OrderNo, terms: &PlaceOrder, backing: Backing) -> Order {
        Order {
            no,
            user: terms.user,
            market: terms.market,
            wording: terms.wording,
            price: terms.wording.yes_price(terms.price),
            quantity: terms.quantity,
            filled: Lots::ZERO,
            backing,
            expires_at: terms.time_in_force.expires_at(),
            self_trade: terms.self_trade,
            condition: terms.condition,
            copy_from: terms.copy_from,
            group: terms.group.as_deref().copied(),
            key: terms.key,
        }
    }

    /// Which way it bets.
    pub const fn direction(&self) -> Direction {
        self.wording.direction()
    }

    /// The terms that the ledger needs.
    pub(super) fn terms(&self) -> Terms {
        Terms { direction: self.direction(), limit: self.price, copy_from: self.copy_from }
    }

    /// Whether its limit reaches a price on the other side.
    pub fn reaches(&self, tick: Tick) -> bool {
        match self.direction() {
            Direction::Up => tick <= self.price,
            Direction::Down => tick >= self.price,
        }
    }

    /// Whether it has expired at `now` (semantics 3).
    pub fn expired(&self, now: TimeMs) -> bool {
        self.expires_at.is_some_and(|expires_at| now >= expires_at)
    }
}

/// A slot's neighbours in a doubly linked list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Links {
    /// The one before.
    pub before: Option<Slot>,
    /// The one after.
    pub after: Option<Slot>,
}

/// What the book needs to know of a resting order.
#[derive(Debug, Clone, Copy)]
pub struct RestingOrder {
    /// Its owner.
    pub user: UserNo,
    /// Its side of the book.
    pub side: Direction,
    /// Its limit, as a price of yes.
    pub price: Tick,
    /// The unfilled quantity.
    pub remaining: Lots,
    /// Its neighbours in its price level.
    pub queue: Links,
}

/// What a command that concerns a resting order touches; a needless read does no harm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Glimpse {
    pub user: UserNo,
    pub key: Option<KeyNo>,
    pub market: MarketNo,
    pub price: Tick,
    pub queue: Links,
}

impl Glimpse {
    /// A stand-in where nothing is known.
    pub const NOTHING: Glimpse = Glimpse {
        user: UserNo(0),
        key: None,
        market: MarketNo(0),
        price: Tick::MIN,
        queue: Links { before: None, after: None },
    };
}

/// All resting orders of all books.
#[derive(Debug, Clone, Default)]
pub struct OrderPool {
    entries: Vec<Entry>,
    /// Fields that few orders have, by slot; as long as the last slot that ever had some.
    rare: Vec<Rare>,
    /// The first free slot; the others follow by `queue.after`.
    free: Option<Slot>,
    by_number: SequenceIndex,
    by_user: Vec<Owned>,
    /// The orders that have a group.
    by_group: BTreeSet<(UserNo, Group, OrderNo)>,
    count: u32,
    /// Of these, how many were sent with a key.
    keyed: u32,
}

impl OrderPool {
    /// Resting orders in all.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Resting orders that were sent with a key.
    pub const fn keyed(&self) -> u32 {
        self.keyed
    }

    /// Adds an empty list for a new user; users are numbered in order.
    pub fn add_user(&mut self) {
        self.by_user.push(Owned::default());
    }

    /// The slots of a user's resting orders, in no order: at most as many as the rules allow one
    /// user.
    pub fn of_user(&self, user: UserNo) -> Vec<Slot> {
        self.by_user.get(user.index()).map_or_else(Vec::new, Owned::all)
    }

    /// The slots of those that were sent with this key, in no order.
    pub fn of_key(&self, user: UserNo, key: KeyNo) -> &[Slot] {
        self.by_user.get(user.index()).map_or(&[], |own| own.sent_with(Some(key)))
    }

    /// Resting orders of a user.
    pub fn count_of(&self, user: UserNo) -> u32 {
        self.by_user.get(user.index()).map_or(0, Owned::count)
    }

    /// The slots of a user's resting orders of a group, oldest first.
    pub fn of_group(&self, user: UserNo, group: Group) -> impl Iterator<Item = Slot> {
        let [first, last] = [Sequence::ZERO, Sequence::new(u64::MAX)].map(OrderNo);
        let all = self.by_group.range((user, group, first)..=(user, group, last));
        all.filter_map(|(.., no)| self.find(*no))
    }

    /// Whether any order rests that a dead man's switch guards.
    pub(super) fn has_guarded(&self, (user, group): Guarded) -> bool {
        match group {
            None => self.count_of(user) > 0,
            Some(group) => self.of_group(user, group).next().is_some(),
        }
    }

    /// Every resting order that has a group, by owner, group and number.
    pub fn grouped(&self) -> &BTreeSet<(UserNo, Group, OrderNo)> {
        &self.by_group
    }

    /// Counts a resting order to a group of its owner's; whether it is there, and in none yet.
    pub(super) fn set_group(&mut self, (user, group, no): (UserNo, Group, OrderNo)) -> bool {
        let Some(slot) = self.find(no) else { return false };
        let Ok(order) = self.get(slot) else { return false };
        let fits = order.user == user && order.group.is_none();
        let grouped = Order { group: Some(group), ..order };
        fits && self.store(slot, &grouped).is_ok() && self.by_group.insert((user, group, no))
    }

    /// The slot of a resting order; `None` if it does not rest.
    #[inline]
    pub fn find(&self, order: OrderNo) -> Option<Slot> {
        self.by_number.get(order.0)
    }

    /// The order in a slot.
    #[inline]
    pub fn get(&self, slot: Slot) -> Result<Order, Broken> {
        let entry = self.entry(slot)?;
        entry.order(self.rare_of(entry, slot)?)
    }

    /// Reads a slot for the cache; the first if there is none, since a prefetch must not branch.
    #[inline]
    pub(super) fn glimpse(&self, slot: Option<Slot>) -> Glimpse {
        let entry = self.entries.get(slot.map_or(0, Slot::index));
        entry.map_or(Glimpse::NOTHING, |entry| Glimpse {
            user: entry.user,
            key: entry.key.map(Sender::key),
            market: entry.market,
            price: entry.price,
            queue: entry.queue,
        })
    }

    /// The end of a user's list of the orders that were sent with this key, or with none.
    pub(super) fn last_of(&self, user: UserNo, key: Option<KeyNo>) -> Option<Slot> {
        self.by_user.get(user.index())?.sent_with(key).last().copied()
    }

    /// Whether the order in a slot is this user's, in this market and sent with this key where
    /// those are given.
    pub fn is_among(
        &self,
        slot: Slot,
        user: UserNo,
        market: Option<MarketNo>,
        key: Option<KeyNo>,
    ) -> bool {
        self.entry(slot).is_ok_and(|entry| {
            entry.user == user
                && market.is_none_or(|market| entry.market == market)
                && key.is_none_or(|key| entry.key.map(Sender::key) == Some(key))
        })
    }

    /// The order as its book sees it.
    #[inline]
    pub fn resting(&self, slot: Slot) -> Result<RestingOrder, Broken> {
        let entry = self.entry(slot)?;
        let Entry { user, flags, price, queue, .. } = *entry;
        let remaining = entry.remaining()?;
        Ok(RestingOrder { user, side: flags.direction(), price, remaining, queue })
    }

    /// Stores an order that was filled in part or amended, and keeps its time priority.
    #[inline]
    pub fn store(&mut self, slot: Slot, order: &Order) -> Result<(), Broken> {
        let before = self.entry(slot)?;
        let kept = Entry { queue: before.queue, owned: before.owned, ..Entry::of(order)? };
        *self.entry_mut(slot)? = kept;
        self.store_rare(slot, order)
    }

    /// The slot's neighbours in its price level.
    #[inline]
    pub fn queue(&self, slot: Slot) -> Result<Links, Broken> {
        Ok(self.entry(slot)?.queue)
    }

    /// The slot's neighbours in its price level, to be changed.
    #[inline]
    pub fn queue_mut(&mut self, slot: Slot) -> Result<&mut Links, Broken> {
        Ok(&mut self.entry_mut(slot)?.queue)
    }

    /// Adds an order; it is not yet in any queue.
    pub fn insert(&mut self, order: &Order) -> Result<Slot, Broken> {
        let entry = Entry::of(order)?;
        let slot = if let Some(slot) = self.free {
            let free = self.entries.get_mut(slot.index()).ok_or(Broken::Dangling)?;
            self.free = free.queue.after;
            *free = entry;
            slot
        } else {
            self.entries.push(entry);
            Slot::at(self.entries.len()).ok_or(Broken::Capacity)?
        };
        let own = self.by_user.get_mut(order.user.index()).ok_or(Broken::Dangling)?;
        let owned = own.add(entry.key.map(Sender::key), slot).ok_or(Broken::Capacity)?;
        self.entry_mut(slot)?.owned = owned;
        self.count = self.count.checked_add(1).ok_or(Broken::Capacity)?;
        self.keyed = self.keyed.saturating_add(u32::from(entry.key.is_some()));
        self.by_number.insert(order.no.0, slot)?;
        self.store_rare(slot, order)?;
        if let Some(group) = order.group {
            self.by_group.insert((order.user, group, order.no));
        }
        Ok(slot)
    }

    /// Removes an order; it must already be out of its queue.
    pub fn remove(&mut self, slot: Slot) -> Result<(), Broken> {
        let free = self.free.replace(slot);
        let entry = *self.entry(slot)?;
        let Entry { no, user, owned, key, .. } = entry;
        if let Some(group) = self.rare_of(&entry, slot)?.group {
            self.by_group.remove(&(user, group, no));
        }
        self.entry_mut(slot)?.set_free(free);
        // The owner's last order takes the place of the removed one: script pitfall_owners_list.
        let own = self.by_user.get_mut(user.index()).ok_or(Broken::Dangling)?;
        if let Some(last) = own.take(key.map(Sender::key), slot, owned)? {
            self.entry_mut(last)?.owned = owned;
        }
        self.count = self.count.checked_sub(1).ok_or(Broken::Dangling)?;
        self.keyed = self.keyed.saturating_sub(u32::from(key.is_some()));
        // The old number must not find the slot's next order: scripts pitfall_stale_id,
        // pitfall_reused_slot.
        self.by_number.remove(no.0)
    }

    /// Sorts slots by the number of the order in them.
    pub fn sort_oldest_first(&self, slots: &mut [Slot]) {
        slots.sort_unstable_by_key(|slot| self.entry(*slot).map(|entry| entry.no).ok());
    }

    /// Every resting order, in the order of slots; for checks only.
    pub fn all(&self) -> impl Iterator<Item = Order> {
        (1..=self.entries.len()).filter_map(|number| self.get(Slot::at(number)?).ok())
    }

    #[inline]
    fn entry(&self, slot: Slot) -> Result<&Entry, Broken> {
        self.entries.get(slot.index()).filter(|entry| entry.is_occupied()).ok_or(Broken::Dangling)
    }

    #[inline]
    fn entry_mut(&mut self, slot: Slot) -> Result<&mut Entry, Broken> {
        let entry = self.entries.get_mut(slot.index());
        entry.filter(|entry| entry.is_occupied()).ok_or(Broken::Dangling)
    }

    #[inline]
    fn rare_of(&self, entry: &Entry, slot: Slot) -> Result<Rare, Broken> {
        if entry.flags.has_rare() {
            self.rare.get(slot.index()).copied().ok_or(Broken::Dangling)
        } else {
            Ok(Rare::NONE)
        }
    }

    #[inline]
    fn store_rare(&mut self, slot: Slot, order: &Order) -> Result<(), Broken> {
        let rare = Rare::of(order);
        if rare == Rare::NONE {
            return Ok(());
        }
        if self.rare.len() <= slot.index() {
            self.rare.resize(self.entries.len(), Rare::NONE);
        }
        *self.rare.get_mut(slot.index()).ok_or(Broken::Dangling)? = rare;
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/exchange/orders.rs"]
mod tests;
