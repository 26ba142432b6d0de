//! From an order's number to its room: a hash table that keeps nothing but the room, whose order
//! tells the number. It grows in parts and by quarters, so that it is never half empty, and nobody
//! waits until millions have been moved.

use std::num::NonZeroUsize;

use super::pool::Slot;
use crate::exchange::ids::OrderNo;

/// Parts, each of which grows by itself.
const PARTS_BITS: u32 = 8;
/// Of so many places of a part, one at least stays empty, so that searches are short.
const ONE_EMPTY_OF: usize = 5;
/// Places that a part begins with.
const PLACES_MIN: usize = 8;

/// The rooms of open orders.
#[derive(Debug)]
pub(super) struct Table {
    parts: Vec<Part>,
    count: usize,
}

/// Places, and how many of them are taken. A room stands at the place that its order's number
/// hashes to, or at the next ones if those before are taken.
#[derive(Debug, Clone, Default)]
struct Part {
    places: Vec<Option<Slot>>,
    taken: usize,
}

/// Where an order is looked for first: a part, and how far into it, in 2^-64 of its length.
#[derive(Debug, Clone, Copy)]
struct Home {
    part: usize,
    far: u64,
}

/// Where an order was found. It holds until the table changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    part: usize,
    place: usize,
    pub(super) slot: Slot,
}

impl Home {
    const fn of(no: OrderNo) -> Home {
        // Numbers one after the other are sent far from each other, and evenly.
        let mut hash = no.0.get();
        hash = (hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash = (hash ^ hash >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let part = (hash >> (u64::BITS - PARTS_BITS)) as usize;
        Home { part, far: hash << PARTS_BITS }
    }
}

impl Default for Table {
    fn default() -> Table {
        Table { parts: vec![Part::default(); 1 << PARTS_BITS], count: 0 }
    }
}

impl Table {
    /// How many orders are in it.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Where this order is; `number` tells whose a room is.
    pub(super) fn find(
        &self,
        no: OrderNo,
        number: impl Fn(Slot) -> Option<OrderNo>,
    ) -> Option<Spot> {
        let Home { part, far } = Home::of(no);
        let (place, slot) = self.parts.get(part)?.find(far, |slot| number(slot) == Some(no))?;
        Some(Spot { part, place, slot })
    }

    /// Takes in an order that is not there yet.
    pub(super) fn add(
        &mut self,
        no: OrderNo,
        slot: Slot,
        number: impl Fn(Slot) -> Option<OrderNo>,
    ) {
        let home = Home::of(no);
        let Some(part) = self.parts.get_mut(home.part) else { return };
        if part.taken >= part.places.len() - part.places.len() / ONE_EMPTY_OF {
            part.grow(|slot| number(slot).map(|no| Home::of(no).far));
        }
        part.put(home.far, slot);
        part.taken += 1;
        self.count += 1;
    }

    /// Takes an order away that was found there.
    pub(super) fn remove(&mut self, spot: Spot, number: impl Fn(Slot) -> Option<OrderNo>) {
        let Some(part) = self.parts.get_mut(spot.part) else { return };
        part.clear(spot.place, |slot| number(slot).map(|no| Home::of(no).far));
        part.taken = part.taken.saturating_sub(1);
        self.count = self.count.saturating_sub(1);
    }
}

impl Part {
    fn len(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.places.len())
    }

    /// The place that is looked at first.
    #[expect(clippy::cast_possible_truncation, reason = "less than the number of places")]
    const fn first(&self, far: u64) -> usize {
        ((far as u128 * self.places.len() as u128) >> u64::BITS) as usize
    }

    const fn next(&self, place: usize) -> usize {
        if place + 1 < self.places.len() { place + 1 } else { 0 }
    }

    fn find(&self, far: u64, own: impl Fn(Slot) -> bool) -> Option<(usize, Slot)> {
        let mut place = self.first(far);
        // One is empty at least.
        while let Some(slot) = self.places.get(place).copied().flatten() {
            if own(slot) {
                return Some((place, slot));
            }
            place = self.next(place);
        }
        None
    }

    fn put(&mut self, far: u64, slot: Slot) {
        let mut place = self.first(far);
        while self.places.get(place).is_some_and(Option::is_some) {
            place = self.next(place);
        }
        if let Some(empty) = self.places.get_mut(place) {
            *empty = Some(slot);
        }
    }

    fn grow(&mut self, far: impl Fn(Slot) -> Option<u64>) {
        let places = (self.places.len() + self.places.len() / 4).max(PLACES_MIN);
        let before = std::mem::replace(&mut self.places, vec![None; places]);
        for slot in before.into_iter().flatten() {
            if let Some(far) = far(slot) {
                self.put(far, slot);
            }
        }
    }

    /// Empties a place. Those after it that would be found no more move up.
    fn clear(&mut self, mut empty: usize, far: impl Fn(Slot) -> Option<u64>) {
        let Some(length) = self.len() else { return };
        let after = |from: usize, to: usize| (to + length.get() - from) % length;
        let mut place = self.next(empty);
        while let Some(slot) = self.places.get(place).copied().flatten() {
            let first = far(slot).map_or(place, |far| self.first(far));
            if after(first, place) >= after(empty, place) {
                self.set(empty, Some(slot));
                empty = place;
            }
            place = self.next(place);
        }
        self.set(empty, None);
    }

    fn set(&mut self, place: usize, slot: Option<Slot>) {
        if let Some(there) = self.places.get_mut(place) {
            *there = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::exchange::units::Sequence;

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(64)
        })]

        /// Numbers of few homes among others, so that many stand where others would.
        #[test]
        fn orders_are_found_until_they_are_taken_away(
            steps in prop::collection::vec((0..600_u64, any::<bool>()), 0..3000),
        ) {
            let crowded = |number: u64| {
                let mut all = (0..).map(Sequence::new).map(OrderNo);
                let near = |no: &OrderNo| Home::of(*no).part < 2 && Home::of(*no).far >> 62 != 1;
                if number.is_multiple_of(3) { OrderNo(Sequence::new(number << 20)) } else {
                    all.by_ref().filter(near).nth(usize::try_from(number % 100).unwrap()).unwrap()
                }
            };
            let (mut table, mut expected) = (Table::default(), BTreeMap::new());
            let mut numbers: Vec<OrderNo> = Vec::new();
            for (number, adds) in steps {
                let no = crowded(number);
                let spot = table.find(no, |slot| numbers.get(slot.index()).copied());
                let found = spot.map(|spot| spot.slot);
                prop_assert_eq!(found, expected.get(&no).copied());
                if adds && found.is_none() {
                    let slot = Slot::at(numbers.len()).unwrap();
                    numbers.push(no);
                    expected.insert(no, slot);
                    table.add(no, slot, |slot| numbers.get(slot.index()).copied());
                } else if let Some(spot) = spot.filter(|_| !adds) {
                    table.remove(spot, |slot| numbers.get(slot.index()).copied());
                    expected.remove(&no);
                }
                prop_assert_eq!(table.len(), expected.len());
            }
            for (no, slot) in &expected {
                let found = table.find(*no, |slot| numbers.get(slot.index()).copied());
                prop_assert_eq!(found.map(|spot| spot.slot), Some(*slot));
            }
        }
    }
}
