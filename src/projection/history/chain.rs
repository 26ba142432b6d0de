//! Chains: rows of a stream that belong together, each leading to the one before it. A row costs
//! its link and nothing else; a list for each of millions of keys would cost an allocation each.
//! Rows at round places of a chain also lead far back, so that no walk reads all pages between.

use super::HistoryError;
use super::pack::{pack, pass, unpack, unpack_u32};
use crate::exchange::image::coding::{BadImage, ImageSink, ImageSource};

/// Where a row stands in its stream.
pub(in crate::projection) type RowIndex = u32;

/// How far back a row leads: to the row before it, and from each 64th and 4096th to the one
/// before of the same roundness.
const STEPS: [u32; STEPS_COUNT as usize] = [1, 64, 4096];
const STEPS_COUNT: u32 = 3;

/// The newest rows of a chain, by roundness, and how many rows it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::projection) struct RowChain {
    newest: [RowIndex; STEPS.len()],
    count: u32,
}

/// Where a row leads, by how far; `None` where nothing is, or the row is not round enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::projection) struct Links([Option<RowIndex>; STEPS.len()]);

impl RowChain {
    /// Puts the row at `place` before all others. Gives the links that it must keep.
    pub(in crate::projection) fn push(&mut self, place: RowIndex) -> Links {
        let ordinal = self.count;
        let mut links = Links::default();
        let (Links([near, far @ ..]), [newest, rounder @ ..]) = (&mut links, &mut self.newest);
        *near = (ordinal > 0).then_some(*newest);
        *newest = place;
        let [_, steps @ ..] = STEPS;
        for ((link, newest), step) in far.iter_mut().zip(rounder).zip(steps) {
            // What is not round is not rounder either.
            if !ordinal.is_multiple_of(step) {
                break;
            }
            *link = (ordinal > 0).then_some(*newest);
            *newest = place;
        }
        self.count = self.count.saturating_add(1);
        links
    }

    /// The newest row, the oldest one and how many there are, if that is all: of a chain whose only
    /// round row is the first.
    pub(in crate::projection) fn short(self) -> Option<(RowIndex, RowIndex, u32)> {
        let ([newest, oldest, first], [_, round, _]) = (self.newest, STEPS);
        (self.count <= round && oldest == first).then_some((newest, oldest, self.count))
    }

    /// The chain of which [`short`](Chain::short) told this.
    pub(in crate::projection) const fn of_short(
        newest: RowIndex,
        oldest: RowIndex,
        count: u32,
    ) -> RowChain {
        RowChain { newest: [newest, oldest, oldest], count }
    }

    /// The rows, newest first.
    pub(in crate::projection) const fn walk(self) -> Walk {
        let [newest, ..] = self.newest;
        Walk { next: if self.count > 0 { Some((self.count - 1, newest)) } else { None }, of: self }
    }

    /// Writes it.
    pub(in crate::projection) fn pack(self, sink: &mut impl ImageSink) {
        pack(u64::from(self.count), sink);
        if self.count > 0 {
            let mut before = None;
            for place in self.newest {
                // The rounder, the older.
                let packed = before.map_or(u64::from(place), |before: RowIndex| {
                    u64::from(before.saturating_sub(place))
                });
                pack(packed, sink);
                before = Some(place);
            }
        }
    }

    /// What [`pack`](Chain::pack) wrote.
    pub(in crate::projection) fn unpack(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut chain = RowChain { count: unpack_u32(source)?, newest: [0; STEPS.len()] };
        if chain.count > 0 {
            let mut before: Option<RowIndex> = None;
            for place in &mut chain.newest {
                let packed = unpack_u32(source)?;
                let read = before.map_or(Some(packed), |before| before.checked_sub(packed));
                *place = read.ok_or(BadImage::Value("chain"))?;
                before = Some(*place);
            }
        }
        Ok(chain)
    }
}

impl RowChain {
    /// Passes over what [`pack`](Chain::pack) wrote.
    pub(in crate::projection) fn pass(source: &mut &[u8]) -> Result<(), BadImage> {
        if unpack(source)? > 0 {
            pass(STEPS_COUNT, source)?;
        }
        Ok(())
    }
}

impl Links {
    /// Writes the links of the row at `place`.
    pub(in crate::projection) fn pack(self, place: RowIndex, sink: &mut impl ImageSink) {
        // The nearest link is there if any is; the first bit says whether there are more.
        let [near, far @ ..] = self.0;
        let distance =
            |link: Option<RowIndex>| link.map_or(0, |link| u64::from(place.saturating_sub(link)));
        let more = far.iter().any(Option::is_some);
        pack(distance(near) << 1 | u64::from(more), sink);
        if more {
            for link in far {
                pack(distance(link), sink);
            }
        }
    }

    /// What [`pack`](Links::pack) wrote.
    pub(in crate::projection) fn unpack(
        place: RowIndex,
        source: &mut impl ImageSource,
    ) -> Result<Links, BadImage> {
        let link = |distance: u64| match u32::try_from(distance) {
            Ok(0) => Ok(None),
            Ok(distance) => place.checked_sub(distance).map(Some).ok_or(BadImage::Value("link")),
            Err(_) => Err(BadImage::Value("link")),
        };
        let near = unpack(source)?;
        let mut links = Links::default();
        let [to, far @ ..] = &mut links.0;
        *to = link(near >> 1)?;
        if near & 1 == 1 {
            for to in far.iter_mut() {
                *to = link(unpack(source)?)?;
            }
            // Said to be more, and are not.
            if far.iter().all(Option::is_none) {
                return Err(BadImage::Value("link"));
            }
        }
        Ok(links)
    }
}

/// A walk over a chain's rows, newest first.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::projection) struct Walk {
    /// The next row: which of the chain's, and its place.
    next: Option<(u32, RowIndex)>,
    of: RowChain,
}

impl Walk {
    /// How many rows are left.
    pub(in crate::projection) fn left(&self) -> usize {
        self.next.map_or(0, |(ordinal, _)| ordinal as usize + 1)
    }

    /// The next row's place; the walk goes on by its links.
    pub(in crate::projection) fn turn(
        &mut self,
        links: impl FnOnce(RowIndex) -> Result<Links, HistoryError>,
    ) -> Result<Option<RowIndex>, HistoryError> {
        let Some((ordinal, place)) = self.next.take() else { return Ok(None) };
        if let Some(before) = ordinal.checked_sub(1) {
            let Links([near, ..]) = links(place)?;
            self.next = near.map(|near| (before, near));
        }
        Ok(Some(place))
    }

    /// Passes over rows for as long as `pass` says so of the row's ordinal and place; of older
    /// rows it must not say so again. Reads few rows, however many are passed over.
    pub(in crate::projection) fn pass_while(
        &mut self,
        pass: impl Fn(u32, RowIndex) -> bool,
        mut links: impl FnMut(RowIndex) -> Result<Links, HistoryError>,
    ) -> Result<(), HistoryError> {
        let Some((mut ordinal, mut place)) = self.next.take() else { return Ok(()) };
        if !pass(ordinal, place) {
            self.next = Some((ordinal, place));
            return Ok(());
        }
        // The oldest of the chain's round rows that are to be passed over.
        for (newest, step) in self.of.newest.into_iter().zip(STEPS).rev() {
            let round = (self.of.count - 1) / step * step;
            if round < ordinal && pass(round, newest) {
                (ordinal, place) = (round, newest);
                break;
            }
        }
        loop {
            let Links(to) = links(place)?;
            let leads = to.into_iter().zip(STEPS).rev().find_map(|(link, step)| {
                let before = ordinal.checked_sub(step)?;
                Some((before, link?)).filter(|(before, link)| pass(*before, *link))
            });
            let Some(leads) = leads else {
                let [near, ..] = to;
                self.next = ordinal.checked_sub(1).zip(near);
                return Ok(());
            };
            (ordinal, place) = leads;
        }
    }

    /// Passes over so many rows.
    pub(in crate::projection) fn pass(
        &mut self,
        rows: usize,
        links: impl FnMut(RowIndex) -> Result<Links, HistoryError>,
    ) -> Result<(), HistoryError> {
        let left = u32::try_from(self.left().saturating_sub(rows)).unwrap_or(u32::MAX);
        self.pass_while(|ordinal, _| ordinal >= left, links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(64)
        })]

        #[test]
        fn a_chain_is_what_a_walk_over_the_table_finds(
            owners in prop::collection::vec(0..3_usize, 0..500),
            skipped in prop::collection::vec(0..500_usize, 5),
        ) {
            let (mut chains, mut links) = ([RowChain::default(); 4], Vec::new());
            for (place, owner) in (0..).zip(&owners) {
                let added = chains[*owner].push(place);
                let mut bytes = Vec::new();
                added.pack(place, &mut bytes);
                prop_assert_eq!(Links::unpack(place, &mut bytes.as_slice()), Ok(added));
                links.push(added);
            }
            for (owner, chain) in chains.iter().enumerate() {
                let mut bytes = Vec::new();
                chain.pack(&mut bytes);
                prop_assert_eq!(RowChain::unpack(&mut bytes.as_slice()), Ok(*chain));
                let mut passed = bytes.as_slice();
                prop_assert_eq!((RowChain::pass(&mut passed), passed.len()), (Ok(()), 0));
                let all = (0..).zip(&owners).filter(|(_, other)| **other == owner);
                let mut all: Vec<RowIndex> = all.map(|(place, _)| place).collect();
                all.reverse();
                prop_assert_eq!(chain.walk().left(), all.len());
                for skip in skipped.iter().copied().chain([0, all.len()]) {
                    let mut walk = chain.walk();
                    walk.pass(skip, |place| Ok(links[place as usize])).unwrap();
                    let mut walked = Vec::new();
                    while let Some(place) = walk.turn(|place| Ok(links[place as usize])).unwrap() {
                        walked.push(place);
                    }
                    prop_assert_eq!(&walked[..], all.get(skip..).unwrap_or_default());
                }
            }
        }
    }

    #[test]
    fn a_long_way_is_few_steps() {
        let (mut chain, mut links) = (RowChain::default(), Vec::new());
        for place in 0..1_000_000 {
            links.push(chain.push(place));
        }
        let (mut walk, mut read) = (chain.walk(), 0);
        let mut link = |place: RowIndex| {
            read += 1;
            Ok(links[place as usize])
        };
        walk.pass(999_990, &mut link).unwrap();
        assert_eq!(walk.turn(&mut link).unwrap(), Some(9));
        assert!(read <= 250 + 2 * 64 + 2, "{read}");
    }
}
