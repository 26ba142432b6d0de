//! A resting order as the pool stores it: one cache line. Fields that few orders have are stored
//! apart.

use std::num::NonZeroU32;

use super::{Backing, Links, Order, Slot};
use crate::catalogue::Outcome;
use crate::command::{Condition, Direction, SelfTradePrevention, Side, Wording};
use crate::ids::{Group, KeyNo, MarketNo, OrderNo, UserNo};
use crate::invariant::Broken;
use crate::units::{Lots, Money, Sequence, Tick, TimeMs};

/// Flags a free slot: no order has this number.
const NO_ORDER: OrderNo = OrderNo(Sequence::new(u64::MAX));

/// A resting order with its neighbours in the queue of its price level. While the slot is free, the
/// number marks it so and `queue.after` is the next free slot.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Entry {
    pub no: OrderNo,
    pub filled: Lots,
    pub contracts: Lots,
    pub cash: Lots,
    pub user: UserNo,
    pub market: MarketNo,
    pub queue: Links,
    /// Its place among its owner's orders that were sent with the same key.
    pub owned: u32,
    pub key: Option<Sender>,
    pub price: Tick,
    pub flags: Flags,
}

/// An API key as an entry has room for it: its number counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender(NonZeroU32);

impl Sender {
    /// Of a key; none is made of the last number that there could be.
    #[inline]
    pub fn of(key: KeyNo) -> Option<Sender> {
        key.0.checked_add(1).and_then(NonZeroU32::new).map(Sender)
    }

    /// The key.
    #[inline]
    pub const fn key(self) -> KeyNo {
        KeyNo(self.0.get().saturating_sub(1))
    }
}

// One line of the cache.
const _: () = assert!(size_of::<Entry>() == 64);

/// Fields that few orders have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rare {
    pub expires_at: Option<TimeMs>,
    pub copy_from: Option<UserNo>,
    pub group: Option<Group>,
    /// Cash reserved for fees.
    pub fees: Money,
}

impl Rare {
    pub const NONE: Rare =
        Rare { expires_at: None, copy_from: None, group: None, fees: Money::ZERO };

    #[inline]
    pub const fn of(order: &Order) -> Rare {
        let Order { expires_at, copy_from, group, backing, .. } = *order;
        Rare { expires_at, copy_from, group, fees: backing.fees }
    }
}

/// An order's wording, self-trade mode and condition, two bits each, and whether it has rare
/// fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    #[inline]
    fn of(order: &Order) -> Flags {
        let outcome = match order.wording.outcome {
            Outcome::Yes => 0,
            Outcome::No => 1,
        };
        let side = match order.wording.side {
            Side::Buy => 0,
            Side::Sell => 2,
        };
        let self_trade = match order.self_trade {
            SelfTradePrevention::CancelTaker => 0,
            SelfTradePrevention::CancelMaker => 4,
            SelfTradePrevention::CancelBoth => 8,
        };
        let condition = match order.condition {
            Condition::Unconditional => 0,
            Condition::PostOnly => 16,
            Condition::ReduceOnly => 32,
            Condition::PostOnlyReduceOnly => 48,
        };
        let rare = if Rare::of(order) == Rare::NONE { 0 } else { 64 };
        Flags(outcome | side | self_trade | condition | rare)
    }

    pub const fn has_rare(self) -> bool {
        self.0 & 64 != 0
    }

    pub const fn wording(self) -> Wording {
        let outcome = if self.0 & 1 == 0 { Outcome::Yes } else { Outcome::No };
        let side = if self.0 & 2 == 0 { Side::Buy } else { Side::Sell };
        Wording { outcome, side }
    }

    pub const fn direction(self) -> Direction {
        self.wording().direction()
    }

    const fn self_trade(self) -> SelfTradePrevention {
        match self.0 >> 2 & 3 {
            0 => SelfTradePrevention::CancelTaker,
            1 => SelfTradePrevention::CancelMaker,
            _ => SelfTradePrevention::CancelBoth,
        }
    }

    const fn condition(self) -> Condition {
        match self.0 >> 4 & 3 {
            0 => Condition::Unconditional,
            1 => Condition::PostOnly,
            2 => Condition::ReduceOnly,
            _ => Condition::PostOnlyReduceOnly,
        }
    }
}

impl Entry {
    /// Flags the slot as free; `next` is the next free slot.
    #[inline]
    pub const fn set_free(&mut self, next: Option<Slot>) {
        self.no = NO_ORDER;
        self.queue.after = next;
    }

    /// An order in no queue yet. Its total quantity is not stored: it is the sum of the parts.
    #[inline]
    pub fn of(order: &Order) -> Result<Entry, Broken> {
        if order.quantity != order.filled.plus(order.backing.remaining()?)? {
            return Err(Broken::QuantityNotConserved);
        }
        Ok(Entry {
            no: order.no,
            filled: order.filled,
            contracts: order.backing.contracts,
            cash: order.backing.cash,
            user: order.user,
            market: order.market,
            queue: Links { before: None, after: None },
            owned: 0,
            key: order.key.and_then(Sender::of),
            price: order.price,
            flags: Flags::of(order),
        })
    }

    /// The order.
    #[inline]
    pub fn order(&self, rare: Rare) -> Result<Order, Broken> {
        let Entry { contracts, cash, .. } = *self;
        let backing = Backing { contracts, cash, fees: rare.fees };
        Ok(Order {
            no: self.no,
            user: self.user,
            market: self.market,
            wording: self.flags.wording(),
            price: self.price,
            quantity: self.filled.plus(self.remaining()?)?,
            filled: self.filled,
            backing,
            expires_at: rare.expires_at,
            self_trade: self.flags.self_trade(),
            condition: self.flags.condition(),
            copy_from: rare.copy_from,
            group: rare.group,
            key: self.key.map(Sender::key),
        })
    }

    /// The unfilled quantity.
    #[inline]
    pub fn remaining(&self) -> Result<Lots, Broken> {
        Ok(self.contracts.plus(self.cash)?)
    }

    /// Whether the slot holds an order.
    #[inline]
    pub fn is_occupied(&self) -> bool {
        self.no != NO_ORDER
    }
}
