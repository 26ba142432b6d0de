//! The public markets in the order in which lists show them, and where in it those are that lists
//! are filtered by: so that a page is found without a look at all markets.

use fixedbitset::FixedBitSet;

use crate::exchange::catalogue::MarketDraft;
use crate::exchange::ids::{CategoryNo, MarketNo};
use crate::projection::search::{Hits, hits};

/// Which of the public markets: the first that was published is 0.
type Place = u32;

/// Which public markets are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// Those only that are highlighted, or are not.
    pub highlighted: Option<bool>,
    /// Those only that are in one of these categories.
    pub categories: Option<&'a [CategoryNo]>,
    /// Those only whose numbers are among these.
    pub found: Option<&'a Hits>,
}

/// The public markets.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// In order of publication.
    published: Vec<MarketNo>,
    /// By market, its place among those, if it is public.
    places: Vec<Option<Place>>,
    /// Those that are highlighted, in order.
    highlighted: Vec<Place>,
    /// By category, those in it, in order.
    categories: Vec<Vec<Place>>,
}

impl Listing {
    /// All of them, in order of publication.
    pub(super) fn published(&self) -> &[MarketNo] {
        &self.published
    }

    /// How many are wanted, and these, newest publication first.
    pub(super) fn wanted(
        &self,
        wanted: Wanted<'_>,
    ) -> (usize, impl Iterator<Item = MarketNo> + use<'_>) {
        let count = self.published.len();
        let filtered = (wanted != Wanted::default()).then(|| self.filtered(wanted));
        let all = if filtered.is_none() { count } else { 0 };
        let total = filtered.as_ref().map_or(count, |places| places.count_ones(..));
        let places = filtered.into_iter().flat_map(|places| places.into_ones().rev());
        let places = places.chain((0..all).rev());
        (total, places.filter_map(|place| self.published.get(place).copied()))
    }

    fn filtered(&self, Wanted { highlighted, categories, found }: Wanted<'_>) -> FixedBitSet {
        let count = self.published.len();
        let of = |places: &mut dyn Iterator<Item = &Place>| {
            hits(count, places.map(|place| *place as usize))
        };
        let mut kept = match categories {
            None => {
                let mut all = FixedBitSet::with_capacity(count);
                all.insert_range(..);
                all
            }
            Some(wanted) => {
                let lists = wanted.iter().filter_map(|no| self.categories.get(no.index()));
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
            let is_found = |place: &usize| self.published.get(*place).is_some_and(is_found);
            kept = hits(count, kept.ones().filter(is_found));
        }
        kept
    }

    /// Lists a market that becomes public.
    pub(super) fn add(&mut self, market: MarketNo, draft: &MarketDraft) {
        let Ok(place) = Place::try_from(self.published.len()) else { return };
        self.published.push(market);
        if self.places.len() <= market.index() {
            self.places.resize(market.index().saturating_add(1), None);
        }
        if let Some(own) = self.places.get_mut(market.index()) {
            *own = Some(place);
        }
        self.note(place, draft);
    }

    /// Takes in what became of a market's draft; one that is not public is listed nowhere.
    pub(super) fn revise(&mut self, market: MarketNo, before: &MarketDraft, after: &MarketDraft) {
        let Some(place) = self.places.get(market.index()).copied().flatten() else { return };
        take_out(&mut self.highlighted, place);
        for category in &before.categories {
            if let Some(list) = self.categories.get_mut(category.index()) {
                take_out(list, place);
            }
        }
        self.note(place, after);
    }

    fn note(&mut self, place: Place, draft: &MarketDraft) {
        if draft.highlighted {
            put_in(&mut self.highlighted, place);
        }
        for category in &draft.categories {
            if self.categories.len() <= category.index() {
                self.categories.resize_with(category.index().saturating_add(1), Vec::new);
            }
            if let Some(list) = self.categories.get_mut(category.index()) {
                put_in(list, place);
            }
        }
    }
}

/// Puts a place in order, once.
fn put_in(list: &mut Vec<Place>, place: Place) {
    if let Err(at) = list.binary_search(&place) {
        list.insert(at, place);
    }
}

/// Takes a place away, if it is there.
fn take_out(list: &mut Vec<Place>, place: Place) {
    if let Ok(at) = list.binary_search(&place) {
        list.remove(at);
    }
}
