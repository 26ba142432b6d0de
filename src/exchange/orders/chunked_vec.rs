//! Room for what is kept by number: it comes by the thousand and never moves. What grew in one
//! piece would have to be copied now and then, and leave holes that nothing fits into.

/// Things in a room.
const ROOM: usize = 1024;
/// Things that there is room for first.
const FIRST: usize = 64;

/// Things by their index.
#[derive(Debug, Clone)]
pub struct ChunkedVec<T> {
    /// All full but the last.
    rooms: Vec<Vec<T>>,
}

impl<T> Default for ChunkedVec<T> {
    fn default() -> ChunkedVec<T> {
        ChunkedVec { rooms: Vec::new() }
    }
}

impl<T> ChunkedVec<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        let full = self.rooms.len().saturating_sub(1).saturating_mul(ROOM);
        full.saturating_add(self.rooms.last().map_or(0, Vec::len))
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.rooms.get(index / ROOM)?.get(index % ROOM)
    }

    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.rooms.get_mut(index / ROOM)?.get_mut(index % ROOM)
    }

    /// Adds one after the others.
    pub fn push(&mut self, thing: T) {
        if let Some(room) = self.rooms.last_mut().filter(|room| room.len() < ROOM) {
            // A venue may stay small, and a copy has no more room than it needed.
            if room.len() == room.capacity() {
                room.reserve_exact(room.len().min(ROOM.saturating_sub(room.len())));
            }
            room.push(thing);
            return;
        }
        let mut room = Vec::with_capacity(if self.rooms.is_empty() { FIRST } else { ROOM });
        room.push(thing);
        self.rooms.push(room);
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.rooms.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each stays where it was put, in a copy too, and no room is larger than it should be.
    #[test]
    fn what_is_put_there_is_found_by_its_index() {
        let mut rooms = ChunkedVec::default();
        for index in 0..ROOM * 3 + 7 {
            assert_eq!((rooms.len(), rooms.get(index)), (index, None));
            rooms.push(index);
            if index % 700 == 0 {
                rooms = rooms.clone();
            }
        }
        for changed in [ROOM, ROOM + 700] {
            *rooms.get_mut(changed).unwrap() = 0;
        }
        let changed = |index| [ROOM, ROOM + 700].contains(&index);
        let expected = (0..ROOM * 3 + 7).map(|index| if changed(index) { 0 } else { index });
        assert!(rooms.iter().copied().eq(expected.clone()));
        for (index, expected) in expected.enumerate() {
            assert_eq!(rooms.get(index), Some(&expected));
        }
        assert!(rooms.rooms.iter().all(|room| room.capacity() <= ROOM));
        assert_eq!((rooms.get(rooms.len()), rooms.get(usize::MAX)), (None, None));
    }
}
