//! The twin's order book: two sorted lists.

use exchange::command::Direction;

/// An order's position in the queue: price, then time priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePosition {
    pub order: u64,
    /// Yes-ticks.
    pub price: u8,
    /// Arrival number in the queue; later is larger.
    pub arrival: u64,
}

/// One market's book: each side sorted, the order matched first in front.
#[derive(Debug, Clone, Default)]
pub struct Book {
    pub ups: Vec<QueuePosition>,
    pub downs: Vec<QueuePosition>,
}

/// Whether an incoming order with this direction and yes-price crosses one that rests at `resting`.
pub const fn crosses(incoming: Direction, price: u8, resting: u8) -> bool {
    match incoming {
        Direction::Up => resting <= price,
        Direction::Down => resting >= price,
    }
}

impl Book {
    pub fn side(&self, direction: Direction) -> &Vec<QueuePosition> {
        match direction {
            Direction::Up => &self.ups,
            Direction::Down => &self.downs,
        }
    }

    fn side_mut(&mut self, direction: Direction) -> &mut Vec<QueuePosition> {
        match direction {
            Direction::Up => &mut self.ups,
            Direction::Down => &mut self.downs,
        }
    }

    /// Resting orders of both sides.
    pub fn len(&self) -> usize {
        self.ups.len() + self.downs.len()
    }

    /// Inserts an order by price-time priority.
    pub fn add(&mut self, direction: Direction, place: QueuePosition) {
        let side = self.side_mut(direction);
        side.push(place);
        side.sort_by_key(|place| match direction {
            Direction::Up => (-i16::from(place.price), place.arrival),
            Direction::Down => (i16::from(place.price), place.arrival),
        });
    }

    pub fn remove(&mut self, direction: Direction, order: u64) {
        let side = self.side_mut(direction);
        let before = side.len();
        side.retain(|place| place.order != order);
        assert_eq!(side.len() + 1, before, "an order that rests stands once on the book");
    }

    /// The orders that an incoming order would match, in order.
    pub fn met_by(&self, incoming: Direction, price: u8) -> Vec<u64> {
        self.side(incoming.opposite())
            .iter()
            .filter(|place| crosses(incoming, price, place.price))
            .map(|place| place.order)
            .collect()
    }
}
