//! A user's open orders: leaves of some thirty orders each, in the order they were placed. An order
//! is found by binary search over the leaves and a scan of one. Packed tightly, since there may be
//! millions of open orders.

use std::ops::Range;

use super::leaf::{LEAF_BYTES, Leaf};
use super::open::OpenOrder;
use crate::history::pack::RowBuffer;
use exchange::ids::{OrderNo, UserNo};

/// A leaf with fewer bytes is merged with a neighbour if both together have no more than
/// [`JOINED_BYTES_MAX`].
const ALONE_BYTES_MIN: usize = LEAF_BYTES / 8;
/// Leaves space for orders that grow as they change.
const JOINED_BYTES_MAX: usize = LEAF_BYTES / 4 * 3;

/// Where an order was found. Valid until an order of the same user is added, changed or removed.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    leaf: usize,
    row: Range<usize>,
}

/// One user's open orders.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    leaves: Vec<Leaf>,
    count: usize,
}

impl Leaves {
    /// How many orders there are.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Where an order is.
    pub(super) fn find(&self, no: OrderNo) -> Option<Spot> {
        let leaf = self.leaves.partition_point(|leaf| leaf.begins() <= no).checked_sub(1)?;
        let row = self.leaves.get(leaf)?.find(no)?;
        Some(Spot { leaf, row })
    }

    /// The order at this spot.
    pub(super) fn get(&self, user: UserNo, spot: &Spot) -> Option<OpenOrder> {
        let (_, order) = self.leaves.get(spot.leaf)?.get(user, spot.row.clone())?;
        Some(order)
    }

    /// The orders before this one, newest first.
    pub(super) fn before(
        &self,
        user: UserNo,
        no: OrderNo,
    ) -> impl Iterator<Item = (OrderNo, OpenOrder)> {
        let leaves = self.leaves.partition_point(|leaf| leaf.begins() < no);
        let leaves = self.leaves.iter().take(leaves).rev();
        let newest_first = move |leaf: &'_ Leaf| leaf.spots().into_iter().rev();
        let all = leaves
            .flat_map(move |leaf| newest_first(leaf).filter_map(move |spot| leaf.get(user, spot)));
        all.skip_while(move |(other, _)| *other >= no)
    }

    /// Adds an order newer than all others; `None` if it cannot be packed.
    pub(super) fn add(
        &mut self,
        no: OrderNo,
        order: &OpenOrder,
        buffer: &mut RowBuffer,
    ) -> Option<()> {
        self.count = self.count.saturating_add(1);
        if let Some(newest) = self.leaves.last_mut()
            && newest.add((no, order), buffer)?
        {
            return Some(());
        }
        self.insert(self.leaves.len(), leaf_of(&[(no, *order)], buffer)?);
        Some(())
    }

    /// Replaces the order at this spot; its creation time and row index must stay the same.
    pub(super) fn set(
        &mut self,
        spot: Spot,
        (no, order): (OrderNo, &OpenOrder),
        buffer: &mut RowBuffer,
    ) -> Option<()> {
        let leaf = self.leaves.get_mut(spot.leaf)?;
        leaf.set(spot.row, (no, order), buffer)?;
        if leaf.len() > LEAF_BYTES {
            self.split(spot.leaf, order.user, buffer)?;
        }
        Some(())
    }

    /// Removes the order at this spot.
    pub(super) fn remove(
        &mut self,
        user: UserNo,
        spot: Spot,
        buffer: &mut RowBuffer,
    ) -> Option<()> {
        let leaf = self.leaves.get_mut(spot.leaf)?;
        leaf.remove(spot.row);
        self.count = self.count.saturating_sub(1);
        let length = leaf.len();
        if length == 0 {
            self.leaves.remove(spot.leaf);
            if self.leaves.len() < self.leaves.capacity() / 4 {
                self.leaves.shrink_to(self.leaves.len() * 2);
            }
        } else if length < ALONE_BYTES_MIN {
            let fits = |other: &usize| {
                let other = self.leaves.get(*other).map(Leaf::len);
                other.is_some_and(|other| other + length <= JOINED_BYTES_MAX)
            };
            let neighbours = [spot.leaf.checked_sub(1), spot.leaf.checked_add(1)];
            if let Some(other) = neighbours.into_iter().flatten().find(fits) {
                self.join(spot.leaf.min(other), user, buffer)?;
            }
        }
        Some(())
    }

    fn insert(&mut self, at: usize, leaf: Leaf) {
        if self.leaves.len() == self.leaves.capacity() {
            self.leaves.reserve_exact((self.leaves.len() / 4).max(1));
        }
        self.leaves.insert(at, leaf);
    }

    /// Moves the newer half of a leaf to a new leaf after it.
    fn split(&mut self, at: usize, user: UserNo, buffer: &mut RowBuffer) -> Option<()> {
        let whole = self.leaves.get(at)?;
        let orders: Vec<_> =
            whole.spots().into_iter().filter_map(|spot| whole.get(user, spot)).collect();
        let (older, newer) = orders.split_at(orders.len() / 2);
        let (older, newer) = (leaf_of(older, buffer)?, leaf_of(newer, buffer)?);
        *self.leaves.get_mut(at)? = older;
        self.insert(at + 1, newer);
        Some(())
    }

    /// Merges the leaf after this one into it, unless their order numbers are too far apart.
    fn join(&mut self, at: usize, user: UserNo, buffer: &mut RowBuffer) -> Option<()> {
        let [older, newer] = self.leaves.get_mut(at..=at + 1)? else { return None };
        let length = older.len();
        for spot in newer.spots() {
            let (no, moved) = newer.get(user, spot)?;
            if !older.add((no, &moved), buffer)? {
                older.cut(length);
                return Some(());
            }
        }
        self.leaves.remove(at + 1);
        Some(())
    }
}

/// A leaf with these orders; `None` if there are none.
fn leaf_of(orders: &[(OrderNo, OpenOrder)], buffer: &mut RowBuffer) -> Option<Leaf> {
    let (no, first) = orders.first()?;
    let mut leaf = Leaf::from(*no, first);
    for (no, order) in orders {
        leaf.add((*no, order), buffer)?.then_some(())?;
    }
    Some(leaf)
}

#[cfg(test)]
#[path = "../../../tests/unit/views/orders/leaves.rs"]
mod tests;
