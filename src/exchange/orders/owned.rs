//! Each user's resting orders: a doubly linked list through the pool. Once a user has many, the
//! orders of one market are neighbours in the list, so that what concerns one market does not walk
//! the others: a user with thousands of orders could otherwise make cheap commands expensive for
//! everybody (script `pitfall_owners_list`).

use rustc_hash::FxHashMap;

use super::{Links, OrderPool, Slot};
use crate::ids::{MarketNo, UserNo};
use crate::invariant::Broken;

/// From this many orders on, a user's list is grouped by market. Fewer are walked faster than an
/// index is maintained.
const GROUPED_FROM: u32 = 256;
/// Below this many it is no longer grouped. Less than [`GROUPED_FROM`], so that a user at the limit
/// does not group again and again.
const GROUPED_UNTIL: u32 = 128;

/// A user's resting orders.
#[derive(Debug, Clone, Default)]
pub(super) struct Owned {
    /// The first of the list.
    first: Option<Slot>,
    count: u32,
    /// The first order of each market in the list; only while the list is grouped. Looked up,
    /// never iterated.
    groups: Option<Box<FxHashMap<MarketNo, Slot>>>,
}

impl Owned {
    /// The first of the list.
    pub(super) const fn first(&self) -> Option<Slot> {
        self.first
    }

    /// Puts an order before the first one. Returns false if the list is grouped or has to be: then
    /// [`OrderPool::link_to_group`] finds its place.
    #[inline]
    pub(super) fn push(&mut self, slot: Slot) -> Result<bool, Broken> {
        self.count = self.count.checked_add(1).ok_or(Broken::Capacity)?;
        let grouped = self.count >= GROUPED_FROM || self.groups.is_some();
        if !grouped {
            self.first = Some(slot);
        }
        Ok(!grouped)
    }
}

impl OrderPool {
    /// Adds an empty list for a new user; users are numbered in order.
    pub fn add_user(&mut self) {
        self.by_user.push(Owned::default());
    }

    /// Resting orders of a user.
    pub fn count_of(&self, user: UserNo) -> u32 {
        self.by_user.get(user.index()).map_or(0, |owned| owned.count)
    }

    /// The first of a user's orders, which is the newest unless the user has many.
    pub(crate) fn first_of(&self, user: UserNo) -> Option<Slot> {
        self.by_user.get(user.index())?.first
    }

    /// A user's resting orders: at most as many as the rules allow one user.
    pub fn of_user(&self, user: UserNo) -> impl Iterator<Item = Result<Slot, Broken>> + '_ {
        self.listed(self.first_of(user), None, false)
    }

    /// A user's resting orders in one market. Walks few others.
    pub fn of_user_in(
        &self,
        user: UserNo,
        market: MarketNo,
    ) -> impl Iterator<Item = Result<Slot, Broken>> + '_ {
        let owned = self.by_user.get(user.index());
        let groups = owned.and_then(|owned| owned.groups.as_ref());
        let first = groups.map_or(self.first_of(user), |groups| groups.get(&market).copied());
        self.listed(first, Some(market), groups.is_some())
    }

    /// The orders from `next` on, of one market or of all; a group is walked to its end.
    fn listed(
        &self,
        mut next: Option<Slot>,
        market: Option<MarketNo>,
        grouped: bool,
    ) -> impl Iterator<Item = Result<Slot, Broken>> + '_ {
        std::iter::from_fn(move || {
            loop {
                let slot = next.take()?;
                let entry = match self.entry(slot) {
                    Ok(entry) => entry,
                    Err(broken) => return Some(Err(broken)),
                };
                if market.is_none_or(|market| entry.market == market) {
                    next = entry.owner.after;
                    return Some(Ok(slot));
                }
                next = entry.owner.after.filter(|_| !grouped);
            }
        })
    }

    /// A user's resting orders, of one market or of all, oldest first.
    pub fn of_user_oldest_first(
        &self,
        user: UserNo,
        market: Option<MarketNo>,
    ) -> Result<Vec<Slot>, Broken> {
        let slots: Result<Vec<Slot>, Broken> = match market {
            Some(market) => self.of_user_in(user, market).collect(),
            None => self.of_user(user).collect(),
        };
        let mut slots = slots?;
        self.sort_oldest_first(&mut slots);
        Ok(slots)
    }

    /// Adds an order to the list of an owner with many, before the others of its market.
    #[inline(never)]
    pub(super) fn link_to_group(
        &mut self,
        slot: Slot,
        user: UserNo,
        market: MarketNo,
    ) -> Result<(), Broken> {
        let owned = self.by_user.get_mut(user.index()).ok_or(Broken::Dangling)?;
        let Some(groups) = &mut owned.groups else {
            let after = owned.first;
            self.place_between(user, slot, Links { before: None, after })?;
            return self.group_orders_of(user);
        };
        let links = match groups.insert(market, slot) {
            Some(group) => Links { before: self.entry(group)?.owner.before, after: Some(group) },
            None => Links { before: None, after: owned.first },
        };
        self.place_between(user, slot, links)
    }

    /// Takes an order with these neighbours from its owner's list.
    #[inline]
    pub(super) fn unlink_from_owner(
        &mut self,
        slot: Slot,
        (user, market): (UserNo, MarketNo),
        neighbours: Links,
    ) -> Result<(), Broken> {
        let Links { before, after } = neighbours;
        if let Some(after) = after {
            self.entry_mut(after)?.owner.before = before;
        }
        if let Some(before) = before {
            self.entry_mut(before)?.owner.after = after;
        }
        let owned = self.by_user.get_mut(user.index()).ok_or(Broken::Dangling)?;
        // Script pitfall_owners_list.
        if before.is_none() {
            owned.first = after;
        }
        owned.count = owned.count.checked_sub(1).ok_or(Broken::Dangling)?;
        if owned.groups.is_some() {
            self.leave_group(slot, (user, market), after)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn leave_group(
        &mut self,
        slot: Slot,
        (user, market): (UserNo, MarketNo),
        after: Option<Slot>,
    ) -> Result<(), Broken> {
        let same = |after: &Slot| self.entry(*after).is_ok_and(|entry| entry.market == market);
        let next = after.filter(same);
        let owned = self.by_user.get_mut(user.index()).ok_or(Broken::Dangling)?;
        if owned.count < GROUPED_UNTIL {
            owned.groups = None;
        }
        if let Some(groups) = &mut owned.groups
            && groups.get(&market) == Some(&slot)
        {
            match next {
                Some(next) => groups.insert(market, next),
                None => groups.remove(&market),
            };
        }
        Ok(())
    }

    fn place_between(&mut self, user: UserNo, slot: Slot, links: Links) -> Result<(), Broken> {
        self.entry_mut(slot)?.owner = links;
        if let Some(after) = links.after {
            self.entry_mut(after)?.owner.before = Some(slot);
        }
        if let Some(before) = links.before {
            self.entry_mut(before)?.owner.after = Some(slot);
        } else {
            self.by_user.get_mut(user.index()).ok_or(Broken::Dangling)?.first = Some(slot);
        }
        Ok(())
    }

    /// Sorts a user's list by market and indexes it.
    fn group_orders_of(&mut self, user: UserNo) -> Result<(), Broken> {
        let mut orders = Vec::new();
        for slot in self.of_user(user) {
            let slot = slot?;
            orders.push((self.entry(slot)?.market, slot));
        }
        orders.sort_by_key(|(market, _)| *market);
        let mut groups = FxHashMap::default();
        let mut after = None;
        // From the last to the first, so that the first of each market stays in the index.
        for (market, slot) in orders.into_iter().rev() {
            self.place_between(user, slot, Links { before: None, after })?;
            groups.insert(market, slot);
            after = Some(slot);
        }
        let owned = self.by_user.get_mut(user.index()).ok_or(Broken::Dangling)?;
        owned.groups = Some(Box::new(groups));
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/exchange/orders/owned.rs"]
mod tests;
