//! The resting orders of one user: a list for each API key that they were sent with, so that who
//! cancels those of one key walks no others (script `pitfall_owners_list`).

use super::Slot;
use crate::ids::KeyNo;
use crate::invariant::Broken;

/// Lists beyond which empty ones are dropped: until then they keep their memory for the next order.
const LISTS_KEPT: usize = 8;

/// The orders of one user.
#[derive(Debug, Clone, Default)]
pub struct Owned {
    /// By key; each in no order.
    lists: Vec<(Option<KeyNo>, Vec<Slot>)>,
    count: u32,
}

impl Owned {
    /// How many there are.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// All of them.
    pub fn all(&self) -> Vec<Slot> {
        self.lists.iter().flat_map(|(_, list)| list).copied().collect()
    }

    /// Those that were sent with this key, or with none.
    pub fn sent_with(&self, key: Option<KeyNo>) -> &[Slot] {
        let found = self.find(key).ok().and_then(|place| self.lists.get(place));
        found.map_or(&[], |(_, list)| list.as_slice())
    }

    fn find(&self, key: Option<KeyNo>) -> Result<usize, usize> {
        self.lists.binary_search_by_key(&key, |(key, _)| *key)
    }

    /// Adds one; returns its place in its list, unless there are too many.
    pub fn add(&mut self, key: Option<KeyNo>, slot: Slot) -> Option<u32> {
        let place = self.find(key).unwrap_or_else(|_| self.begin(key));
        let (_, list) = self.lists.get_mut(place)?;
        let owned = u32::try_from(list.len()).ok()?;
        self.count = self.count.checked_add(1)?;
        list.push(slot);
        Some(owned)
    }

    /// Begins the list of a key that has none.
    #[cold]
    fn begin(&mut self, key: Option<KeyNo>) -> usize {
        if self.lists.len() >= LISTS_KEPT {
            self.lists.retain(|(_, list)| !list.is_empty());
        }
        let place = self.find(key).unwrap_or_else(|place| place);
        self.lists.insert(place, (key, Vec::new()));
        place
    }

    /// Takes one out. The last of its list moves to its place; returns that if it is another.
    pub fn take(
        &mut self,
        key: Option<KeyNo>,
        slot: Slot,
        owned: u32,
    ) -> Result<Option<Slot>, Broken> {
        let place = self.find(key).map_err(|_| Broken::Dangling)?;
        let (_, list) = self.lists.get_mut(place).ok_or(Broken::Dangling)?;
        let moved = list.pop().ok_or(Broken::Dangling)?;
        self.count = self.count.checked_sub(1).ok_or(Broken::Dangling)?;
        if moved == slot {
            return Ok(None);
        }
        *list.get_mut(owned as usize).ok_or(Broken::Dangling)? = moved;
        Ok(Some(moved))
    }
}
