//! The twin's book: two sorted lists.

use openoutcry::exchange::command::Direction;

/// An order's place: what decides who is met first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub order: u64,
    /// Yes-ticks.
    pub price: u8,
    /// When it joined the queue; later is larger.
    pub arrival: u64,
}

/// One market's book: each side with the order that is met first in front.
#[derive(Debug, Clone, Default)]
pub struct Book {
    pub ups: Vec<Place>,
    pub downs: Vec<Place>,
}

/// Whether an incoming order of this direction and yes-price meets one that rests at `resting`.
pub const fn crosses(incoming: Direction, price: u8, resting: u8) -> bool {
    match incoming {
        Direction::Up => resting <= price,
        Direction::Down => resting >= price,
    }
}

impl Book {
    pub fn side(&self, direction: Direction) -> &Vec<Place> {
        match direction {
            Direction::Up => &self.ups,
            Direction::Down => &self.downs,
        }
    }

    fn side_mut(&mut self, direction: Direction) -> &mut Vec<Place> {
        match direction {
            Direction::Up => &mut self.ups,
            Direction::Down => &mut self.downs,
        }
    }

    /// Puts an order behind all that are met before it: best price first, then first come.
    pub fn add(&mut self, direction: Direction, place: Place) {
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

    /// Who an incoming order would meet, in that order.
    pub fn met_by(&self, incoming: Direction, price: u8) -> Vec<u64> {
        self.side(incoming.opposite())
            .iter()
            .filter(|place| crosses(incoming, price, place.price))
            .map(|place| place.order)
            .collect()
    }
}
