//! The orders that stand: a pool of slots, found by order number without hashing.

pub(super) mod image;

use super::command::{Condition, Direction, PlaceOrder, SelfTradePrevention, TimeInForce, Wording};
use super::ids::{MarketNo, OrderNo, UserNo};
use super::invariant::Broken;
use super::units::{Lots, Money, Sequence, Tick, TimeMs};

/// A place in the pool. Slots are reused and never shape an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(u32);

/// What backs the unfilled part of an order (semantics 5). Contracts are used first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backing {
    /// Backed by the owner's contracts of the outcome that the order closes.
    pub contracts: Lots,
    /// Backed by cash at the order's own price.
    pub cash: Lots,
    /// Cash for the fees of the part that cash backs.
    pub fees: Money,
}

impl Backing {
    /// What is still to be filled: both parts.
    pub fn remaining(self) -> Result<Lots, Broken> {
        Ok(self.contracts.plus(self.cash)?)
    }

    /// Splits off the backing of the next `quantity` to be filled: contracts first. What is set
    /// aside for fees stays; [`Order::charge`] says what of it the fill takes.
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
    /// What has been filled.
    pub filled: Lots,
    /// What backs the rest.
    pub backing: Backing,
    /// First moment at which it no longer stands.
    pub expires_at: Option<TimeMs>,
    /// What happens when it comes in and meets its owner's own order.
    pub self_trade: SelfTradePrevention,
    /// What refuses it.
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
            expires_at: match terms.time_in_force {
                TimeInForce::GoodTillCancelled { expires_at } => expires_at,
                TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => None,
            },
            self_trade: terms.self_trade,
            condition: terms.condition,
            copy_from: terms.copy_from,
        }
    }

    /// Which way it bets.
    pub const fn direction(&self) -> Direction {
        self.wording.direction()
    }

    /// Whether its time is over at `now` (semantics 3).
    pub fn expired(&self, now: TimeMs) -> bool {
        self.expires_at.is_some_and(|expires_at| now >= expires_at)
    }
}

/// A resting order with its neighbours: in the queue of its price level, and among its owner's.
#[derive(Debug, Clone, Copy)]
struct Entry {
    order: Order,
    queue: Links,
    owner: Links,
}

/// A doubly linked neighbourhood of slots.
#[derive(Debug, Clone, Copy, Default)]
pub struct Links {
    /// The one before.
    pub before: Option<Slot>,
    /// The one after.
    pub after: Option<Slot>,
}

/// A user's resting orders.
#[derive(Debug, Clone, Copy, Default)]
struct Owned {
    newest: Option<Slot>,
    count: u32,
}

/// All resting orders of all books.
#[derive(Debug, Clone, Default)]
pub struct OrderPool {
    entries: Vec<Option<Entry>>,
    free: Vec<Slot>,
    by_number: SequenceIndex,
    by_user: Vec<Owned>,
    count: u32,
}

impl OrderPool {
    /// Resting orders in all.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Makes room for a new user's list.
    pub fn add_user(&mut self) {
        self.by_user.push(Owned::default());
    }

    /// Resting orders of a user.
    pub fn count_of(&self, user: UserNo) -> u32 {
        self.by_user.get(user.index()).map_or(0, |owned| owned.count)
    }

    /// The slot of a resting order; `None` for one that does not stand.
    pub fn find(&self, order: OrderNo) -> Option<Slot> {
        self.by_number.get(order.0)
    }

    /// The order in a slot.
    pub fn get(&self, slot: Slot) -> Result<&Order, Broken> {
        Ok(&self.entry(slot)?.order)
    }

    /// The order in a slot, to be changed.
    pub fn get_mut(&mut self, slot: Slot) -> Result<&mut Order, Broken> {
        Ok(&mut self.entry_mut(slot)?.order)
    }

    /// The slot's neighbours in its price level.
    pub fn queue(&self, slot: Slot) -> Result<Links, Broken> {
        Ok(self.entry(slot)?.queue)
    }

    /// The slot's neighbours in its price level, to be changed.
    pub fn queue_mut(&mut self, slot: Slot) -> Result<&mut Links, Broken> {
        Ok(&mut self.entry_mut(slot)?.queue)
    }

    /// Takes in an order; it is not yet in any queue.
    pub fn insert(&mut self, order: Order) -> Result<Slot, Broken> {
        let list = self.by_user.get(order.user.index()).copied().ok_or(Broken::Dangling)?;
        let owner = Links { before: None, after: list.newest };
        let entry = Entry { order, queue: Links::default(), owner };
        let slot = if let Some(slot) = self.free.pop() {
            *self.entries.get_mut(slot.0 as usize).ok_or(Broken::Dangling)? = Some(entry);
            slot
        } else {
            let slot = u32::try_from(self.entries.len()).map_err(|_| Broken::Capacity)?;
            self.entries.push(Some(entry));
            Slot(slot)
        };
        if let Some(next) = list.newest {
            self.entry_mut(next)?.owner.before = Some(slot);
        }
        let count = list.count.checked_add(1).ok_or(Broken::Capacity)?;
        if let Some(place) = self.by_user.get_mut(order.user.index()) {
            *place = Owned { newest: Some(slot), count };
        }
        self.count = self.count.checked_add(1).ok_or(Broken::Capacity)?;
        self.by_number.insert(order.no.0, slot)?;
        Ok(slot)
    }

    /// Takes out an order; it must be in no queue any more.
    pub fn remove(&mut self, slot: Slot) -> Result<Order, Broken> {
        let place = self.entries.get_mut(slot.0 as usize).ok_or(Broken::Dangling)?;
        let Entry { order, owner, .. } = place.take().ok_or(Broken::Dangling)?;
        self.free.push(slot);
        if let Some(next) = owner.after {
            self.entry_mut(next)?.owner.before = owner.before;
        }
        if let Some(previous) = owner.before {
            self.entry_mut(previous)?.owner.after = owner.after;
        }
        let list = self.by_user.get_mut(order.user.index()).ok_or(Broken::Dangling)?;
        // Script pitfall_owners_list.
        if owner.before.is_none() {
            list.newest = owner.after;
        }
        list.count = list.count.checked_sub(1).ok_or(Broken::Dangling)?;
        self.count = self.count.checked_sub(1).ok_or(Broken::Dangling)?;
        // No number leads to the slot's next order: scripts pitfall_stale_id, pitfall_reused_slot.
        self.by_number.remove(order.no.0)?;
        Ok(order)
    }

    /// A user's resting orders, oldest first: at most as many as the rules allow one user.
    pub fn of_user_oldest_first(&self, user: UserNo) -> Result<Vec<Slot>, Broken> {
        let mut slots = Vec::new();
        let mut next = self.by_user.get(user.index()).and_then(|owned| owned.newest);
        while let Some(slot) = next {
            slots.push(slot);
            next = self.entry(slot)?.owner.after;
        }
        self.sort_oldest_first(&mut slots);
        Ok(slots)
    }

    /// Sorts slots by the number of the order in them.
    pub fn sort_oldest_first(&self, slots: &mut [Slot]) {
        slots.sort_unstable_by_key(|slot| self.get(*slot).map(|order| order.no).ok());
    }

    /// Every resting order, in the order of slots; for checks only.
    pub fn all(&self) -> impl Iterator<Item = &Order> {
        self.entries.iter().flatten().map(|entry| &entry.order)
    }

    fn entry(&self, slot: Slot) -> Result<&Entry, Broken> {
        self.entries.get(slot.0 as usize).and_then(Option::as_ref).ok_or(Broken::Dangling)
    }

    fn entry_mut(&mut self, slot: Slot) -> Result<&mut Entry, Broken> {
        self.entries.get_mut(slot.0 as usize).and_then(Option::as_mut).ok_or(Broken::Dangling)
    }
}

/// Sequence numbers in one page of the index: small, so that an old order that rests alone for
/// months keeps little alive.
const PAGE: usize = 64;

/// From sequence number to slot, by two array steps. A page lives while one of its orders rests;
/// the table of pages costs 8 bytes for every 64 records ever journaled.
#[derive(Debug, Clone, Default)]
struct SequenceIndex {
    pages: Vec<Option<Box<Page>>>,
}

#[derive(Debug, Clone)]
struct Page {
    slots: [Option<Slot>; PAGE],
    live: u32,
}

impl SequenceIndex {
    const fn split(sequence: Sequence) -> (usize, usize) {
        #[expect(clippy::cast_possible_truncation, reason = "64-bit targets only, see lib.rs")]
        let sequence = sequence.get() as usize;
        (sequence / PAGE, sequence % PAGE)
    }

    fn get(&self, sequence: Sequence) -> Option<Slot> {
        let (page, place) = Self::split(sequence);
        *self.pages.get(page)?.as_ref()?.slots.get(place)?
    }

    fn insert(&mut self, sequence: Sequence, slot: Slot) -> Result<(), Broken> {
        let (page, place) = Self::split(sequence);
        if self.pages.len() <= page {
            let pages_count = page.saturating_add(1);
            let missing = pages_count.saturating_sub(self.pages.len());
            self.pages.try_reserve(missing).map_err(|_| Broken::Capacity)?;
            self.pages.resize(pages_count, None);
        }
        let page = self.pages.get_mut(page).ok_or(Broken::Dangling)?;
        let page = page.get_or_insert_with(|| Box::new(Page { slots: [None; PAGE], live: 0 }));
        let place = page.slots.get_mut(place).ok_or(Broken::Dangling)?;
        if place.replace(slot).is_some() {
            return Err(Broken::Dangling);
        }
        page.live = page.live.saturating_add(1);
        Ok(())
    }

    fn remove(&mut self, sequence: Sequence) -> Result<(), Broken> {
        let (page, place) = Self::split(sequence);
        let home = self.pages.get_mut(page).ok_or(Broken::Dangling)?;
        let page = home.as_mut().ok_or(Broken::Dangling)?;
        let place = page.slots.get_mut(place).ok_or(Broken::Dangling)?;
        place.take().ok_or(Broken::Dangling)?;
        page.live = page.live.checked_sub(1).ok_or(Broken::Dangling)?;
        if page.live == 0 {
            *home = None;
        }
        Ok(())
    }
}
