//! The first and last rows of a list that may be long.

use std::collections::VecDeque;

/// The first and last rows of a list of any length.
#[derive(Debug)]
pub struct Ends<T> {
    each: usize,
    first: Vec<T>,
    last: VecDeque<T>,
    count: u64,
}

impl<T> Ends<T> {
    /// An empty list that keeps `each` rows at either end.
    pub fn of(each: usize) -> Ends<T> {
        Ends { each, first: Vec::new(), last: VecDeque::new(), count: 0 }
    }

    /// Adds a row.
    pub fn push(&mut self, row: T) {
        self.count = self.count.saturating_add(1);
        if self.first.len() < self.each {
            self.first.push(row);
            return;
        }
        if self.last.len() >= self.each {
            self.last.pop_front();
        }
        self.last.push_back(row);
    }

    /// Total number of rows.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The first rows, the number of rows omitted after them, and the last rows.
    pub fn parts(&self) -> (&[T], u64, impl Iterator<Item = &T>) {
        let shown = self.first.len().saturating_add(self.last.len());
        let shown = u64::try_from(shown).unwrap_or(u64::MAX);
        (&self.first, self.count.saturating_sub(shown), self.last.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_counted_and_forgotten() {
        for (length, first, left_out, last) in [
            (0, vec![], 0, vec![]),
            (3, vec![0, 1], 0, vec![2]),
            (4, vec![0, 1], 0, vec![2, 3]),
            (9, vec![0, 1], 5, vec![7, 8]),
        ] {
            let mut ends = Ends::of(2);
            (0..length).for_each(|row| ends.push(row));
            let (head, hidden, tail) = ends.parts();
            assert_eq!((head, hidden), (first.as_slice(), left_out));
            assert_eq!(tail.copied().collect::<Vec<_>>(), last);
            assert_eq!(ends.count(), length);
        }
    }
}
