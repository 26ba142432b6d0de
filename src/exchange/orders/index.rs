//! The index from sequence number to slot: three array steps and no hashing.
//!
//! A leaf exists while one of its orders rests; a branch exists while one of its leaves does. Only
//! the table of branches never shrinks: 8 bytes for every 32,768 records ever journaled.

use super::Slot;
use crate::invariant::Broken;
use crate::units::Sequence;

/// Sequence numbers in one leaf: few, so that one old resting order keeps little memory in use.
const LEAF: usize = 64;
/// Leaves of one branch.
const BRANCH: usize = 512;

/// A table of `N` places, and how many are taken.
#[derive(Debug, Clone)]
struct Table<T, const N: usize> {
    places: [Option<T>; N],
    taken: u32,
}

type Leaf = Table<Slot, LEAF>;
type Branch = Table<Box<Leaf>, BRANCH>;

impl<T, const N: usize> Table<T, N> {
    const EMPTY: Self = Table { places: [const { None }; N], taken: 0 };

    /// Takes what is in a place; whether the table is empty then.
    fn take(&mut self, at: usize) -> Result<bool, Broken> {
        self.places.get_mut(at).and_then(Option::take).ok_or(Broken::Dangling)?;
        self.taken = self.taken.checked_sub(1).ok_or(Broken::Dangling)?;
        Ok(self.taken == 0)
    }

    /// What is in a place, put there by `make` if it is free.
    fn at(&mut self, at: usize, make: impl FnOnce() -> T) -> Result<&mut T, Broken> {
        let place = self.places.get_mut(at).ok_or(Broken::Dangling)?;
        self.taken = self.taken.saturating_add(u32::from(place.is_none()));
        Ok(place.get_or_insert_with(make))
    }
}

/// The slots of all resting orders.
#[derive(Debug, Clone, Default)]
pub struct SequenceIndex {
    branches: Vec<Option<Box<Branch>>>,
}

/// The path to a sequence number: branch, leaf of the branch, index in the leaf.
#[derive(Debug, Clone, Copy)]
struct Path(usize, usize, usize);

impl Path {
    const fn to(sequence: Sequence) -> Path {
        #[expect(clippy::cast_possible_truncation, reason = "64-bit targets only, see lib.rs")]
        let sequence = sequence.get() as usize;
        Path(sequence / LEAF / BRANCH, sequence / LEAF % BRANCH, sequence % LEAF)
    }
}

impl SequenceIndex {
    /// The slot of an order.
    #[inline]
    pub fn get(&self, sequence: Sequence) -> Option<Slot> {
        let Path(branch, leaf, at) = Path::to(sequence);
        let branch = self.branches.get(branch)?.as_ref()?;
        *branch.places.get(leaf)?.as_ref()?.places.get(at)?
    }

    /// Adds an order that is not there yet.
    #[inline]
    pub fn insert(&mut self, sequence: Sequence, slot: Slot) -> Result<(), Broken> {
        let Path(branch, leaf, at) = Path::to(sequence);
        if self.branches.len() <= branch {
            let missing = branch.saturating_add(1).saturating_sub(self.branches.len());
            self.branches.try_reserve(missing).map_err(|_| Broken::Capacity)?;
            self.branches.resize_with(branch.saturating_add(1), || None);
        }
        let branch = self.branches.get_mut(branch).ok_or(Broken::Dangling)?;
        let leaves = branch.get_or_insert_with(|| Box::new(Branch::EMPTY));
        let leaf = leaves.at(leaf, || Box::new(Leaf::EMPTY))?;
        let mut is_new = false;
        leaf.at(at, || {
            is_new = true;
            slot
        })?;
        if is_new { Ok(()) } else { Err(Broken::Dangling) }
    }

    /// Removes an order that is there.
    #[inline]
    pub fn remove(&mut self, sequence: Sequence) -> Result<(), Broken> {
        let Path(branch, leaf, at) = Path::to(sequence);
        let whole = self.branches.get_mut(branch).ok_or(Broken::Dangling)?;
        let branch = whole.as_mut().ok_or(Broken::Dangling)?;
        let slots = branch.places.get_mut(leaf).and_then(Option::as_mut);
        if slots.ok_or(Broken::Dangling)?.take(at)? && branch.take(leaf)? {
            *whole = None;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/exchange/orders/index.rs"]
mod tests;
