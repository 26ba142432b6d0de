//! Chains: rows of a table that belong together, each leading to the one before it. A row costs
//! its link and nothing else; a list for each of millions of keys would cost an allocation each.

/// Where a row stands in its table.
pub(super) type Place = u32;

/// The newest row of a chain and how many rows it has; the table keeps the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Chain {
    newest: Place,
    /// There are as many rows as places at most; they end the chain, so no link says "none".
    count: u32,
}

impl Chain {
    /// Puts the row at `place` before all others. Gives the link that its table must keep.
    pub(super) fn push(&mut self, place: Place) -> Place {
        self.count = self.count.saturating_add(1);
        std::mem::replace(&mut self.newest, place)
    }

    /// How many rows.
    pub(super) const fn len(self) -> usize {
        self.count as usize
    }

    /// The newest row, if there is one.
    pub(super) const fn newest(self) -> Option<Place> {
        if self.count > 0 { Some(self.newest) } else { None }
    }

    /// Takes the newest row away; `before` is its link.
    pub(super) fn pass(&mut self, before: Place) {
        self.newest = before;
        self.count = self.count.saturating_sub(1);
    }

    /// The rows' places, newest first, by the links of their table.
    pub(super) fn places(
        mut self,
        before: impl Fn(Place) -> Option<Place>,
    ) -> impl Iterator<Item = Place> {
        std::iter::from_fn(move || {
            let place = self.newest()?;
            // A link that is missing ends the chain.
            match before(place) {
                Some(before) => self.pass(before),
                None => self = Chain::default(),
            }
            Some(place)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn a_chain_is_what_a_walk_over_the_table_finds(
            owners in prop::collection::vec(0..5_usize, 0..200),
        ) {
            let (mut chains, mut links) = ([Chain::default(); 6], Vec::new());
            for (place, owner) in (0..).zip(&owners) {
                links.push(chains[*owner].push(place));
            }
            for (owner, chain) in chains.iter().enumerate() {
                let all = (0..).zip(&owners).filter(|(_, other)| **other == owner);
                let mut all: Vec<Place> = all.map(|(place, _)| place).collect();
                all.reverse();
                let places = chain.places(|place| links.get(place as usize).copied());
                prop_assert_eq!(places.collect::<Vec<_>>(), &all[..]);
                prop_assert_eq!((chain.len(), chain.newest()), (all.len(), all.first().copied()));
            }
        }
    }

    #[test]
    fn a_missing_link_ends_a_chain() {
        let mut chain = Chain::default();
        for place in 0..3 {
            chain.push(place);
        }
        assert_eq!(chain.places(|_| None).collect::<Vec<_>>(), [2]);
    }
}
