//! The public markets in list order, with indexes for the list filters, so that a page is found
//! without scanning all markets.

use rustc_hash::FxHashMap;

use crate::numbers::{self, Numbers};
use crate::saved::saved;
use exchange::catalogue::MarketDraft;
use exchange::ids::{CategoryNo, MarketNo};

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
    positions: FxHashMap<MarketNo, usize>,
    /// The positions of the highlighted ones.
    highlighted: Numbers,
    /// The positions of those in each category.
    categories: FxHashMap<CategoryNo, Numbers>,
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
        let mut kept = Numbers::default();
        match categories {
            None => kept = numbers::all(self.published.len()),
            Some(wanted) => {
                for category in wanted.iter().filter_map(|no| self.categories.get(no)) {
                    kept.union_with(category);
                }
            }
        }
        match highlighted {
            None => {}
            Some(true) => kept.intersect_with(&self.highlighted),
            Some(false) => kept.difference_with(&self.highlighted),
        }
        if let Some(found) = found {
            let is_found = |market: &MarketNo| found.contains(market.index());
            let is_found = |position: &usize| self.published.get(*position).is_some_and(is_found);
            kept = numbers::these(self.published.len(), kept.ones().filter(is_found));
        }
        kept
    }

    /// Adds a market that becomes public.
    pub(super) fn add(&mut self, market: MarketNo, draft: &MarketDraft) {
        let position = self.published.len();
        self.published.push(market);
        self.positions.insert(market, position);
        self.note(position, draft, true);
    }

    /// Updates the indexes for a changed draft; does nothing for a market that is not public.
    pub(super) fn revise(&mut self, market: MarketNo, before: &MarketDraft, after: &MarketDraft) {
        if let Some(position) = self.positions.get(&market).copied() {
            self.note(position, before, false);
            self.note(position, after, true);
        }
    }

    /// Notes whether a market is among those that a filter finds by its draft.
    fn note(&mut self, position: usize, draft: &MarketDraft, listed: bool) {
        if draft.highlighted {
            self.highlighted.grow_and_insert(position);
            self.highlighted.set(position, listed);
        }
        for category in &draft.categories {
            let category = self.categories.entry(*category).or_default();
            category.grow_and_insert(position);
            category.set(position, listed);
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/views/catalogue/listing.rs"]
mod tests;
