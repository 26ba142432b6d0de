//! Room for open orders: 48 bytes for each, and some more for one that was touched since it was
//! placed. Rooms come by the thousand and never move, and are used again.

use std::num::NonZeroU32;

use super::marks::Marks;
use super::standing::Standing;
use crate::exchange::command::TimeInForce;
use crate::exchange::ids::{MarketNo, OrderNo, UserNo};
use crate::exchange::units::{Lots, Money, Sequence, Tick, TimeMs};
use crate::projection::history::chain::{Chain, Place};

/// Rooms that are made at once.
const CHUNK: usize = 1024;
/// The number of no order: in a room that is free.
const NOBODY: OrderNo = OrderNo(Sequence::new(u64::MAX));

/// Where something is kept, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(NonZeroU32);

impl Slot {
    pub(super) fn at(index: usize) -> Option<Slot> {
        let number = index.checked_add(1).and_then(|number| u32::try_from(number).ok());
        number.and_then(NonZeroU32::new).map(Slot)
    }

    pub(super) const fn index(self) -> usize {
        self.0.get().saturating_sub(1) as usize
    }
}

/// Rooms for one kind of thing.
#[derive(Debug)]
struct Rooms<T> {
    chunks: Vec<Vec<T>>,
    free: Option<Slot>,
}

impl<T> Default for Rooms<T> {
    fn default() -> Rooms<T> {
        Rooms { chunks: Vec::new(), free: None }
    }
}

impl<T> Rooms<T> {
    fn get(&self, slot: Slot) -> Option<&T> {
        self.chunks.get(slot.index() / CHUNK)?.get(slot.index() % CHUNK)
    }

    fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        self.chunks.get_mut(slot.index() / CHUNK)?.get_mut(slot.index() % CHUNK)
    }

    /// Puts something where `next_free` says that nothing is, which it says of the next such
    /// room; else into a new room. `None` if there can be no more.
    fn add(&mut self, thing: T, next_free: impl Fn(&T) -> Option<Slot>) -> Option<Slot> {
        if let Some(slot) = self.free {
            let room = self.get_mut(slot)?;
            let next = next_free(room);
            *room = thing;
            self.free = next;
            return Some(slot);
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let full = self.chunks.len().saturating_sub(1).saturating_mul(CHUNK);
        let chunk = self.chunks.last_mut()?;
        let slot = Slot::at(full.saturating_add(chunk.len()))?;
        chunk.push(thing);
        Some(slot)
    }

    fn all(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }
}

/// An open order as it is kept. Where there is none, the number is that of no order, and `after`
/// is the next such room.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    no: OrderNo,
    quantity: Lots,
    /// Low and high bits of the time of placing: of a [`TimeMs`], 48 bits say all.
    created_low: u32,
    created_high: u16,
    price: Tick,
    marks: Marks,
    pub(super) user: UserNo,
    market: MarketNo,
    place: Place,
    /// Its owner's open orders next to it: an older one, and a newer one.
    pub(super) before: Option<Slot>,
    pub(super) after: Option<Slot>,
    touched: Option<Slot>,
}

const _: () = assert!(size_of::<Entry>() == 48);
const _: () = assert!(TimeMs::MAX.get() < 1 << 48);

/// What differs from how an order was placed, or few orders have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Touched {
    filled: Lots,
    filled_cost: Money,
    updated_at: TimeMs,
    expires_at: Option<TimeMs>,
    fills: Chain,
    next_free: Option<Slot>,
}

impl Entry {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "48 bits, not < 0")]
    fn of(no: OrderNo, standing: &Standing) -> Entry {
        let Standing { user, market, wording, price, quantity, .. } = *standing;
        let Standing { time_in_force, created_at, place, .. } = *standing;
        let created = created_at.get() as u64;
        Entry {
            no,
            quantity,
            created_low: created as u32,
            created_high: (created >> 32) as u16,
            price,
            marks: Marks::of(wording, time_in_force),
            user,
            market,
            place,
            before: None,
            after: None,
            touched: None,
        }
    }

    /// When it was placed.
    pub(super) fn created_at(&self) -> TimeMs {
        let ms = i64::from(self.created_high) << 32 | i64::from(self.created_low);
        TimeMs::new(ms).unwrap_or_default()
    }

    fn taken(&self) -> bool {
        self.no != NOBODY
    }
}

impl Touched {
    const fn of(standing: &Standing) -> Touched {
        let Standing { filled, filled_cost, time_in_force, updated_at, fills, .. } = *standing;
        let expires_at = match time_in_force {
            TimeInForce::GoodTillCancelled { expires_at } => expires_at,
            TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => None,
        };
        Touched { filled, filled_cost, updated_at, expires_at, fills, next_free: None }
    }

    /// Of an order that is as it was placed then.
    fn not(created_at: TimeMs) -> Touched {
        Touched {
            filled: Lots::ZERO,
            filled_cost: Money::ZERO,
            updated_at: created_at,
            expires_at: None,
            fills: Chain::default(),
            next_free: None,
        }
    }
}

/// All open orders, in no order; each leads to its owner's next to it.
#[derive(Debug, Default)]
pub(super) struct Pool {
    entries: Rooms<Entry>,
    touched: Rooms<Touched>,
}

impl Pool {
    pub(super) fn entry(&self, slot: Slot) -> Option<&Entry> {
        self.entries.get(slot)
    }

    /// The number of the order there.
    pub(super) fn no(&self, slot: Slot) -> Option<OrderNo> {
        self.entry(slot).map(|entry| entry.no)
    }

    /// The order there.
    pub(super) fn get(&self, slot: Slot) -> Option<Standing> {
        self.standing(self.entry(slot)?)
    }

    fn standing(&self, entry: &Entry) -> Option<Standing> {
        let Entry { quantity, price, marks, user, market, place, .. } = *entry;
        let created_at = entry.created_at();
        let touched = entry.touched.map(|slot| self.touched.get(slot).copied());
        let touched = touched.unwrap_or_else(|| Some(Touched::not(created_at)))?;
        let Touched { filled, filled_cost, updated_at, expires_at, fills, next_free: _ } = touched;
        Some(Standing {
            user,
            market,
            wording: marks.wording(),
            price,
            quantity,
            filled,
            filled_cost,
            time_in_force: marks.time_in_force(expires_at),
            created_at,
            updated_at,
            place,
            fills,
        })
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = (OrderNo, Standing)> {
        let taken = self.entries.all().filter(|entry| entry.taken());
        taken.filter_map(|entry| Some((entry.no, self.standing(entry)?)))
    }

    /// Makes room for an order that is newer than this one, the newest of its owner's before.
    pub(super) fn add(
        &mut self,
        no: OrderNo,
        standing: &Standing,
        newest: Option<Slot>,
    ) -> Option<Slot> {
        let entry = Entry { before: newest, ..Entry::of(no, standing) };
        let slot = self.entries.add(entry, |free| free.after)?;
        if let Some(newest) = newest {
            self.entries.get_mut(newest)?.after = Some(slot);
        }
        self.touch(slot, standing)?;
        Some(slot)
    }

    /// Puts an order there that took the place of what it was before.
    pub(super) fn set(&mut self, slot: Slot, standing: &Standing) -> Option<()> {
        let entry = self.entries.get_mut(slot)?;
        let Entry { before, after, touched, .. } = *entry;
        *entry = Entry { before, after, touched, ..Entry::of(entry.no, standing) };
        self.touch(slot, standing)
    }

    fn touch(&mut self, slot: Slot, standing: &Standing) -> Option<()> {
        let entry = self.entries.get_mut(slot)?;
        let touched = Touched::of(standing);
        if let Some(there) = entry.touched {
            *self.touched.get_mut(there)? = touched;
        } else if touched != Touched::not(standing.created_at) {
            entry.touched = Some(self.touched.add(touched, |free| free.next_free)?);
        }
        Some(())
    }

    /// Takes an order away from between its neighbours.
    pub(super) fn remove(&mut self, slot: Slot) -> Option<()> {
        let Entry { before, after, touched, .. } = *self.entries.get(slot)?;
        if let Some(before) = before {
            self.entries.get_mut(before)?.after = after;
        }
        if let Some(after) = after {
            self.entries.get_mut(after)?.before = before;
        }
        if let Some(touched) = touched {
            self.touched.get_mut(touched)?.next_free = self.touched.free.replace(touched);
        }
        let free = self.entries.free.replace(slot);
        let entry = self.entries.get_mut(slot)?;
        (entry.no, entry.after, entry.touched) = (NOBODY, free, None);
        Some(())
    }
}
