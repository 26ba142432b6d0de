//! Tables: a row for each user, market or other thing that is numbered from 0 in the order of
//! creation.

use std::marker::PhantomData;

use fixedbitset::FixedBitSet;

use super::fault::{Fault, is_next};
use super::saved::{Saved, Sink, Sizes, Source, hold, load_rows, save_rows};
use exchange::ids::{CategoryNo, EventNo, KeyNo, MarketNo, UserNo};
use exchange::image::coding::BadImage;

/// The numbers of one kind of thing.
pub(crate) trait Number: Copy {
    /// As an index into a table.
    fn index(self) -> usize;

    /// There is no such thing.
    fn unknown(self) -> Fault;

    /// How many of the kind there are.
    fn count(sizes: Sizes) -> usize;
}

/// Implements [`Number`]; in an image, a number of nothing that exists is refused.
macro_rules! numbers {
    ($($number:ident, $unknown:ident, $many:ident, $nothing:literal;)*) => {$(
        impl Number for $number {
            fn index(self) -> usize {
                $number::index(self)
            }

            fn unknown(self) -> Fault {
                Fault::$unknown(self)
            }

            fn count(sizes: Sizes) -> usize {
                sizes.$many
            }
        }

        impl Saved for $number {
            fn save(&self, sink: &mut Sink<'_>) {
                self.0.save(sink);
            }

            fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
                let number = $number(u32::load(source)?);
                hold(number.index() < source.sizes.$many, $nothing)?;
                Ok(number)
            }
        }
    )*};
}

numbers!(
    UserNo, UnknownUser, users, "a user that does not exist";
    KeyNo, UnknownKey, keys, "a key that does not exist";
    CategoryNo, UnknownCategory, categories, "a category that does not exist";
    EventNo, UnknownEvent, events, "an event that does not exist";
    MarketNo, UnknownMarket, markets, "a market that does not exist";
);

/// A row for each thing of a kind.
#[derive(Debug, Clone)]
pub(crate) struct Table<N, T> {
    rows: Vec<T>,
    numbers: PhantomData<N>,
}

impl<N, T> Default for Table<N, T> {
    fn default() -> Self {
        Table { rows: Vec::new(), numbers: PhantomData }
    }
}

impl<N: Number, T> Table<N, T> {
    /// Adds the row of a new thing, which must have the next number.
    pub(crate) fn add(&mut self, number: N, row: T) -> Result<(), Fault> {
        is_next(number.index(), self.rows.len())?;
        self.rows.push(row);
        Ok(())
    }

    /// A row.
    #[inline]
    pub(crate) fn get(&self, number: N) -> Option<&T> {
        self.rows.get(number.index())
    }

    /// A row, to be changed.
    #[inline]
    pub(crate) fn row(&mut self, number: N) -> Result<&mut T, Fault> {
        self.rows.get_mut(number.index()).ok_or_else(|| number.unknown())
    }

    /// A copy of a row; the default if there is no such thing.
    #[inline]
    pub(crate) fn at(&self, number: N) -> T
    where
        T: Copy + Default,
    {
        self.get(number).copied().unwrap_or_default()
    }

    /// All rows.
    pub(crate) fn rows(&self) -> &[T] {
        &self.rows
    }

    /// How many rows there are.
    pub(crate) const fn len(&self) -> usize {
        self.rows.len()
    }

    /// A table with this many empty rows.
    pub(crate) fn of_empty(count: usize) -> Self
    where
        T: Default,
    {
        let rows = std::iter::repeat_with(T::default).take(count).collect();
        Table { rows, numbers: PhantomData }
    }
}

impl<N: Number, T: Saved> Saved for Table<N, T> {
    fn save(&self, sink: &mut Sink<'_>) {
        save_rows(&self.rows, sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        let rows = load_rows(N::count(source.sizes), source)?;
        Ok(Table { rows, numbers: PhantomData })
    }
}

/// A row with a number and a public id. Ids grow with numbers, so an id is found by binary search,
/// without an index.
pub(crate) trait Identified {
    /// Its number.
    type No: Number;
    /// Its public id.
    type Id: Copy + Ord;

    /// Its number.
    fn no(&self) -> Self::No;

    /// Its public id.
    fn id(&self) -> Self::Id;
}

/// Implements [`Identified`] for a row with fields `no` and `id`.
macro_rules! identified {
    ($name:ident($no:ident, $id:ident)) => {
        impl $crate::table::Identified for $name {
            type No = $no;
            type Id = $id;

            fn no(&self) -> $no {
                self.no
            }

            fn id(&self) -> $id {
                self.id
            }
        }
    };
}
pub(crate) use identified;

impl<T: Identified> Table<T::No, T> {
    /// The number of the row with this id. O(log n).
    pub(crate) fn no_of(&self, id: T::Id) -> Option<T::No> {
        let index = self.rows.binary_search_by_key(&id, T::id).ok()?;
        self.rows.get(index).map(T::no)
    }

    /// Checks that the rows are in the order of their numbers and ids.
    pub(crate) fn check(&self) -> Result<(), BadImage> {
        let numbered = self.rows.iter().enumerate().all(|(at, row)| row.no().index() == at);
        hold(numbered, "a row with the number of another")?;
        hold(self.rows.is_sorted_by(|a, b| a.id() < b.id()), "ids out of order")
    }
}

// Sets of small numbers, one bit per possible number.

/// A set of numbers.
pub type Numbers = FixedBitSet;

/// The set of all numbers below `count`.
pub(super) fn set_of_all(count: usize) -> Numbers {
    let mut all = Numbers::with_capacity(count);
    all.insert_range(..);
    all
}

/// The set of those `numbers` that are below `count`, in any order. Allocates once, where `collect`
/// would grow with each larger number.
pub(super) fn set_of(count: usize, numbers: impl Iterator<Item = usize>) -> Numbers {
    let mut these = Numbers::with_capacity(count);
    numbers.filter(|number| *number < count).for_each(|number| these.insert(number));
    these
}

#[cfg(test)]
#[path = "../../tests/unit/views/numbers.rs"]
mod tests;
