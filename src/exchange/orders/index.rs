//! The index from sequence number to slot: three array steps and no hashing.
//!
//! A leaf exists while one of its orders rests, and is then reused; a branch exists while one of
//! its leaves does. Only the table of branches never shrinks: 8 bytes for every 32,768 records ever
//! journaled.

use std::num::NonZeroU32;

use super::Slot;
use super::grow;
use crate::invariant::Broken;
use crate::units::Sequence;

/// Sequence numbers in one leaf: few, so that one old resting order keeps little memory in use.
const LEAF: usize = 64;
/// Leaves of one branch.
const BRANCH: usize = 512;

/// The number of a leaf, from 1.
type LeafNo = NonZeroU32;

#[derive(Debug, Clone)]
struct Leaf {
    slots: [Option<Slot>; LEAF],
    live: u32,
}

#[derive(Debug, Clone)]
struct Branch {
    leaves: [Option<LeafNo>; BRANCH],
    live: u32,
}

impl Leaf {
    const EMPTY: Leaf = Leaf { slots: [None; LEAF], live: 0 };
}

/// The slots of all resting orders.
#[derive(Debug, Clone, Default)]
pub struct SequenceIndex {
    branches: Vec<Option<Box<Branch>>>,
    leaves: Vec<Leaf>,
    free: Vec<LeafNo>,
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

const fn leaf_index(leaf: LeafNo) -> usize {
    leaf.get().saturating_sub(1) as usize
}

impl SequenceIndex {
    /// The slot of the order with this number.
    #[inline]
    pub fn get(&self, sequence: Sequence) -> Option<Slot> {
        let Path(branch, leaf, at) = Path::to(sequence);
        let leaf = (*self.branches.get(branch)?.as_ref()?.leaves.get(leaf)?)?;
        *self.leaves.get(leaf_index(leaf))?.slots.get(at)?
    }

    /// Adds an order that is not there yet.
    #[inline]
    pub fn insert(&mut self, sequence: Sequence, slot: Slot) -> Result<(), Broken> {
        let path = Path::to(sequence);
        let leaf = match self.leaf(path) {
            Some(leaf) => leaf,
            None => self.add_leaf(path)?,
        };
        let leaf = self.leaves.get_mut(leaf_index(leaf)).ok_or(Broken::Dangling)?;
        let at = leaf.slots.get_mut(path.2).ok_or(Broken::Dangling)?;
        if at.replace(slot).is_some() {
            return Err(Broken::Dangling);
        }
        leaf.live = leaf.live.saturating_add(1);
        Ok(())
    }

    /// Removes an order that is there.
    #[inline]
    pub fn remove(&mut self, sequence: Sequence) -> Result<(), Broken> {
        let path = Path::to(sequence);
        let number = self.leaf(path).ok_or(Broken::Dangling)?;
        let leaf = self.leaves.get_mut(leaf_index(number)).ok_or(Broken::Dangling)?;
        let at = leaf.slots.get_mut(path.2).ok_or(Broken::Dangling)?;
        at.take().ok_or(Broken::Dangling)?;
        leaf.live = leaf.live.checked_sub(1).ok_or(Broken::Dangling)?;
        if leaf.live == 0 { self.remove_leaf(path, number) } else { Ok(()) }
    }

    #[inline]
    fn leaf(&self, Path(branch, leaf, _): Path) -> Option<LeafNo> {
        *self.branches.get(branch)?.as_ref()?.leaves.get(leaf)?
    }

    #[cold]
    fn add_leaf(&mut self, Path(branch, leaf, _): Path) -> Result<LeafNo, Broken> {
        if self.branches.len() <= branch {
            let count = branch.saturating_add(1);
            let missing = count.saturating_sub(self.branches.len());
            self.branches.try_reserve(missing).map_err(|_| Broken::Capacity)?;
            self.branches.resize(count, None);
        }
        let number = if let Some(number) = self.free.pop() {
            number
        } else {
            grow(&mut self.leaves);
            self.leaves.push(Leaf::EMPTY);
            let number = u32::try_from(self.leaves.len()).ok().and_then(LeafNo::new);
            number.ok_or(Broken::Capacity)?
        };
        let branch = self.branches.get_mut(branch).ok_or(Broken::Dangling)?;
        let branch =
            branch.get_or_insert_with(|| Box::new(Branch { leaves: [None; BRANCH], live: 0 }));
        *branch.leaves.get_mut(leaf).ok_or(Broken::Dangling)? = Some(number);
        branch.live = branch.live.saturating_add(1);
        Ok(number)
    }

    #[cold]
    fn remove_leaf(&mut self, Path(at, leaf, _): Path, number: LeafNo) -> Result<(), Broken> {
        self.free.push(number);
        let branch_slot = self.branches.get_mut(at).ok_or(Broken::Dangling)?;
        let branch = branch_slot.as_mut().ok_or(Broken::Dangling)?;
        *branch.leaves.get_mut(leaf).ok_or(Broken::Dangling)? = None;
        branch.live = branch.live.checked_sub(1).ok_or(Broken::Dangling)?;
        if branch.live == 0 {
            *branch_slot = None;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/exchange/orders/index.rs"]
mod tests;
