//! The public markets in list order, with indexes for the list filters, so that a page is found
//! without scanning all markets.

use rustc_hash::FxHashMap;

use crate::image::saved;
use crate::numbers::{self, Numbers};
use exchange::catalogue::MarketDraft;
use exchange::ids::{CategoryNo, MarketNo};

/// A public market's position in the order of publication, from 0.
type Position = u32;

/// A filter for public markets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// Only markets that are, or are not, highlighted.
    pub highlighted: Option<bool>,
    /// Only markets in one of these categories.
    pub categories: Option<&'a [CategoryNo]>,
    /// Only markets with these numbers.
    pub found: Option<&'a Numbers>,
}

/// The public markets.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// In order of publication.
    published: Vec<MarketNo>,
    /// Their positions in `published`.
    positions: FxHashMap<MarketNo, Position>,
    /// The highlighted ones, ascending.
    highlighted: Vec<Position>,
    /// The markets in each category, ascending.
    categories: FxHashMap<CategoryNo, Vec<Position>>,
}

saved!(Listing { published } made { positions, highlighted, categories });

impl Listing {
    /// Only which they are, to be listed again.
    pub(super) fn into_published(self) -> Vec<MarketNo> {
        self.published
    }

    /// All of them, in order of publication.
    pub(super) fn published(&self) -> &[MarketNo] {
        &self.published
    }

    /// The number of markets that match, and these markets, newest publication first.
    pub(super) fn wanted(
        &self,
        wanted: Wanted<'_>,
    ) -> (usize, impl Iterator<Item = MarketNo> + use<'_>) {
        let count = self.published.len();
        let filtered = (wanted != Wanted::default()).then(|| self.filtered(wanted));
        let all = if filtered.is_none() { count } else { 0 };
        let total = filtered.as_ref().map_or(count, |positions| positions.count_ones(..));
        let positions = filtered.into_iter().flat_map(|positions| positions.into_ones().rev());
        let positions = positions.chain((0..all).rev());
        (total, positions.filter_map(|position| self.published.get(position).copied()))
    }

    fn filtered(&self, Wanted { highlighted, categories, found }: Wanted<'_>) -> Numbers {
        let count = self.published.len();
        let of = |positions: &mut dyn Iterator<Item = &Position>| {
            numbers::these(count, positions.map(|position| *position as usize))
        };
        let mut kept = match categories {
            None => numbers::all(count),
            Some(wanted) => {
                let lists = wanted.iter().filter_map(|category| self.categories.get(category));
                of(&mut lists.flatten())
            }
        };
        match highlighted {
            None => {}
            Some(true) => kept.intersect_with(&of(&mut self.highlighted.iter())),
            Some(false) => kept.difference_with(&of(&mut self.highlighted.iter())),
        }
        if let Some(found) = found {
            let is_found = |market: &MarketNo| found.contains(market.index());
            let is_found = |position: &usize| self.published.get(*position).is_some_and(is_found);
            kept = numbers::these(count, kept.ones().filter(is_found));
        }
        kept
    }

    /// Adds a market that becomes public.
    pub(super) fn add(&mut self, market: MarketNo, draft: &MarketDraft) {
        let Ok(position) = Position::try_from(self.published.len()) else { return };
        self.published.push(market);
        self.positions.insert(market, position);
        self.note(position, draft);
    }

    /// Updates the indexes for a changed draft; does nothing for a market that is not public.
    pub(super) fn revise(&mut self, market: MarketNo, before: &MarketDraft, after: &MarketDraft) {
        let Some(position) = self.positions.get(&market).copied() else { return };
        remove_sorted(&mut self.highlighted, position);
        for category in &before.categories {
            if let Some(list) = self.categories.get_mut(category) {
                remove_sorted(list, position);
            }
        }
        self.note(position, after);
    }

    fn note(&mut self, position: Position, draft: &MarketDraft) {
        if draft.highlighted {
            insert_sorted(&mut self.highlighted, position);
        }
        for category in &draft.categories {
            insert_sorted(self.categories.entry(*category).or_default(), position);
        }
    }
}

/// Inserts a position into a sorted list, once.
fn insert_sorted(list: &mut Vec<Position>, position: Position) {
    if let Err(at) = list.binary_search(&position) {
        list.insert(at, position);
    }
}

/// Removes a position, if it is there.
fn remove_sorted(list: &mut Vec<Position>, position: Position) {
    if let Ok(at) = list.binary_search(&position) {
        list.remove(at);
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/views/catalogue/listing.rs"]
mod tests;
