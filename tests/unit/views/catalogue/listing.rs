//! Unit tests of `src/views/catalogue.rs`.

use proptest::prelude::*;

use super::*;
use crate::table;
use exchange::units::TimeMs;

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// More markets than one word of bits, published in another order than created: the count
    /// and the list, newest first.
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
            table::set_of(markets.len(), numbers)
        });
        let (categories, found) = (categories.as_deref(), found.as_ref());
        let (count, listed) = listing.wanted(Wanted { highlighted, categories, found });
        prop_assert_eq!(count, expected.len());
        prop_assert!(listed.map(MarketNo::index).eq(expected));
    }
}
