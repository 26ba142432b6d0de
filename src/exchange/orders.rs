//! The resting orders of all books: a pool of slots, found by order number without hashing. The
//! book links slots into queues. Which slot an order gets never shapes an outcome.

mod entry;
pub(super) mod image;
mod index;
mod owned;
mod chunked_vec;

use std::num::NonZeroU32;

use chunked_vec::ChunkedVec;
use entry::{Entry, Rare};
use index::SequenceIndex;
use owned::Owned;

use super::command::{Condition, Direction, PlaceOrder, SelfTradePrevention, Wording};
use super::ids::{MarketNo, OrderNo, UserNo};
use super::invariant::Broken;
use super::prefetch::Target;
use super::units::{Lots, Money, Tick, TimeMs};

/// A place in the pool. Slots are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(NonZeroU32);

impl Slot {
    /// The slot with this number, counted from 1.
    fn at(number: usize) -> Option<Slot> {
        u32::try_from(number).ok().and_then(NonZeroU32::new).map(Slot)
    }

    const fn index(self) -> usize {
        self.0.get().saturating_sub(1) as usize
    }

    /// The index of a slot, or of the first one: a prefetch must not branch.
    fn index_or_first(slot: Option<Slot>) -> usize {
        slot.map_or(0, Slot::index)
    }
}

/// A slot of [`Rare`] fields.
type RareSlot = Slot;

/// Grows a full pool by an eighth: one of millions is seldom moved, and little of it is empty.
fn grow<T>(pool: &mut Vec<T>) {
    if pool.len() == pool.capacity() {
        pool.reserve_exact((pool.len() / 8).max(POOL_GROWTH_MIN));
    }
}

/// The least by which a pool grows, and so its first size.
const POOL_GROWTH_MIN: usize = 64;

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
        }
    }

    /// Which way it bets.
    pub const fn direction(&self) -> Direction {
        self.wording.direction()
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
    /// Its side of the book.
    pub side: Direction,
    /// Its limit, as a price of yes.
    pub price: Tick,
    /// The unfilled quantity.
    pub remaining: Lots,
    /// Its neighbours in its price level.
    pub queue: Links,
}

/// All resting orders of all books.
#[derive(Debug, Clone, Default)]
pub struct OrderPool {
    entries: ChunkedVec<Entry>,
    free: Option<Slot>,
    rare: Vec<Rare>,
    rare_free: Vec<RareSlot>,
    by_number: SequenceIndex,
    by_user: Vec<Owned>,
    count: u32,
}

impl OrderPool {
    /// Resting orders in all.
    pub const fn count(&self) -> u32 {
        self.count
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
        entry.order(self.rare_of(entry)?)
    }

    /// What a slot's order touches; of the first slot's order if there is none.
    pub(super) fn target_of(&self, slot: Option<Slot>) -> Target {
        let entry = self.entries.get(Slot::index_or_first(slot));
        entry.map_or(Target::NOTHING, |entry| Target {
            user: entry.user,
            market: entry.market,
            price: entry.price,
        })
    }

    /// Reads the neighbours of the order in this slot for the cache only.
    pub(super) fn prefetch_neighbours(&self, slot: Option<Slot>) -> u32 {
        self.entries.get(Slot::index_or_first(slot)).map_or(0, |Entry { queue, owner, .. }| {
            self.prefetch_slots(&[queue.before, queue.after, owner.before, owner.after])
        })
    }

    /// Reads the orders in these slots for the cache only.
    pub(super) fn prefetch_slots(&self, slots: &[Option<Slot>]) -> u32 {
        let entries = slots.iter().filter_map(|slot| self.entries.get(Slot::index_or_first(*slot)));
        entries.fold(0, |seen, entry| seen ^ entry.user.0)
    }

    /// The order's owner and market.
    #[inline]
    pub fn owner_and_market(&self, slot: Slot) -> Result<(UserNo, MarketNo), Broken> {
        let entry = self.entry(slot)?;
        Ok((entry.user, entry.market))
    }

    /// The order as its book sees it.
    #[inline]
    pub fn resting(&self, slot: Slot) -> Result<RestingOrder, Broken> {
        let entry = self.entry(slot)?;
        let Entry { flags, price, queue, .. } = *entry;
        let remaining = entry.remaining()?;
        Ok(RestingOrder { side: flags.direction(), price, remaining, queue })
    }

    /// Stores an order after a fill, which must not have changed its total quantity.
    #[inline]
    pub fn refill(&mut self, slot: Slot, order: &Order) -> Result<(), Broken> {
        let entry = self.entry_mut(slot)?;
        let quantity = entry.filled.plus(entry.remaining()?)?;
        if order.filled.plus(order.backing.remaining()?)? != quantity {
            return Err(Broken::QuantityNotConserved);
        }
        entry.filled = order.filled;
        self.set_backing(slot, order.backing)
    }

    /// Stores an amended order that keeps its time priority.
    pub fn amend(&mut self, slot: Slot, order: &Order) -> Result<(), Broken> {
        self.set_backing(slot, order.backing)
    }

    fn set_backing(&mut self, slot: Slot, backing: Backing) -> Result<(), Broken> {
        let entry = self.entry_mut(slot)?;
        (entry.contracts, entry.cash) = (backing.contracts, backing.cash);
        match entry.rare {
            Some(rare) => {
                self.rare.get_mut(rare.index()).ok_or(Broken::Dangling)?.fees = backing.fees;
            }
            None if backing.fees == Money::ZERO => {}
            None => {
                let rare = self.insert_rare(Rare { fees: backing.fees, ..Rare::NONE })?;
                self.entry_mut(slot)?.rare = rare;
            }
        }
        Ok(())
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
        // The entry stores the parts and not their sum.
        if order.quantity != order.filled.plus(order.backing.remaining()?)? {
            return Err(Broken::QuantityNotConserved);
        }
        let rare = Rare::of(order);
        let rare = if rare == Rare::NONE { None } else { self.insert_rare(rare)? };
        let owned = self.by_user.get_mut(order.user.index()).ok_or(Broken::Dangling)?;
        let next = owned.first();
        let entry = Entry::of(order, Links { before: None, after: next }, rare);
        let slot = if let Some(slot) = self.free {
            let free = self.entries.get_mut(slot.index()).ok_or(Broken::Dangling)?;
            self.free = free.owner.after;
            *free = entry;
            slot
        } else {
            self.entries.push(entry);
            Slot::at(self.entries.len()).ok_or(Broken::Capacity)?
        };
        if !owned.push(slot)? {
            self.link_to_group(slot, order.user, order.market)?;
        } else if let Some(next) = next {
            self.entry_mut(next)?.owner.before = Some(slot);
        }
        self.count = self.count.checked_add(1).ok_or(Broken::Capacity)?;
        self.by_number.insert(order.no.0, slot)?;
        Ok(slot)
    }

    /// Removes an order; it must already be out of its queue.
    pub fn remove(&mut self, slot: Slot) -> Result<(), Broken> {
        let free = self.free.replace(slot);
        let entry = self.entry_mut(slot)?;
        let Entry { no, user, market, owner, rare, .. } = *entry;
        entry.set_free(free);
        self.unlink_from_owner(slot, (user, market), owner)?;
        if let Some(rare) = rare {
            self.rare_free.push(rare);
        }
        self.count = self.count.checked_sub(1).ok_or(Broken::Dangling)?;
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
        let occupied = self.entries.iter().filter(|entry| entry.is_occupied());
        occupied.filter_map(|entry| entry.order(self.rare_of(entry).ok()?).ok())
    }

    #[inline]
    fn entry(&self, slot: Slot) -> Result<&Entry, Broken> {
        self.entries.get(slot.index()).filter(|entry| entry.is_occupied()).ok_or(Broken::Dangling)
    }

    #[inline]
    fn entry_mut(&mut self, slot: Slot) -> Result<&mut Entry, Broken> {
        self.entries
            .get_mut(slot.index())
            .filter(|entry| entry.is_occupied())
            .ok_or(Broken::Dangling)
    }

    #[inline]
    fn rare_of(&self, entry: &Entry) -> Result<Rare, Broken> {
        match entry.rare {
            None => Ok(Rare::NONE),
            Some(slot) => self.rare.get(slot.index()).copied().ok_or(Broken::Dangling),
        }
    }

    #[cold]
    fn insert_rare(&mut self, rare: Rare) -> Result<Option<RareSlot>, Broken> {
        if let Some(slot) = self.rare_free.pop() {
            *self.rare.get_mut(slot.index()).ok_or(Broken::Dangling)? = rare;
            return Ok(Some(slot));
        }
        grow(&mut self.rare);
        self.rare.push(rare);
        RareSlot::at(self.rare.len()).map(Some).ok_or(Broken::Capacity)
    }
}
