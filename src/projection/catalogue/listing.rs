//! The public markets in the order in which lists show them, and where in it those are that lists
//! are filtered by: so that a page is found without a look at all markets.

use crate::exchange::catalogue::MarketDraft;
use crate::exchange::ids::{CategoryNo, MarketNo};
use crate::projection::numbers::{self, Numbers};

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
    pub found: Option<&'a Numbers>,
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

    fn filtered(&self, Wanted { highlighted, categories, found }: Wanted<'_>) -> Numbers {
        let count = self.published.len();
        let of = |places: &mut dyn Iterator<Item = &Place>| {
            numbers::these(count, places.map(|place| *place as usize))
        };
        let mut kept = match categories {
            None => numbers::all(count),
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
            kept = numbers::these(count, kept.ones().filter(is_found));
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::exchange::units::TimeMs;

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// Of as many markets as take several words of bits, published in another order than they
        /// were made in: how many are wanted, and these, the newest first.
        #[test]
        fn those_that_are_wanted_are_listed_newest_first(
            markets in prop::collection::vec((any::<bool>(), 0..4_u32), 0..300),
            highlighted in any::<Option<bool>>(),
            categories in prop::option::of(prop::collection::btree_set(0..5_u32, 0..3)),
            found in prop::option::of(2..5_usize),
        ) {
            let mut listing = Listing::default();
            let numbers: Vec<usize> = (0..markets.len()).rev().collect();
            for (number, (highlighted, category)) in numbers.iter().zip(&markets) {
                let draft = MarketDraft::plain(TimeMs::default());
                let (highlighted, categories) = (*highlighted, vec![CategoryNo(*category)]);
                let draft = MarketDraft { categories, highlighted, ..draft };
                listing.add(MarketNo(u32::try_from(*number).unwrap()), &draft);
            }
            let is_wanted = |(number, (flag, category)): &(&usize, &(bool, u32))| {
                highlighted.is_none_or(|wanted| wanted == *flag)
                    && categories.as_ref().is_none_or(|wanted| wanted.contains(category))
                    && found.is_none_or(|parts| *number % parts == 0)
            };
            let expected: Vec<usize> = numbers.iter().zip(&markets).filter(is_wanted)
                .map(|(number, _)| *number).rev().collect();
            let categories: Option<Vec<CategoryNo>> =
                categories.as_ref().map(|wanted| wanted.iter().copied().map(CategoryNo).collect());
            let found = found.map(|parts| {
                let numbers = (0..markets.len()).filter(|number| number % parts == 0);
                numbers::these(markets.len(), numbers)
            });
            let (categories, found) = (categories.as_deref(), found.as_ref());
            let (count, listed) = listing.wanted(Wanted { highlighted, categories, found });
            prop_assert_eq!(count, expected.len());
            prop_assert!(listed.map(MarketNo::index).eq(expected));
        }
    }
}
