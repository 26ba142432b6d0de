//! What is special about a seed. Each seed is first spread into options, so that rare mixtures come
//! up: one venue has tiny blocks and crashes all the time, another a full disk and many snapshots.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use crate::chance::Chance;
use crate::disk::Faults;
use crate::people;

/// The parts of the world that take turns.
pub const PARTS: [&str; 15] = [
    "people",
    "sequencer",
    "matcher",
    "keeper",
    "history",
    "snapshotter",
    "archiver",
    "watcher",
    "time",
    "check",
    "cut",
    "stop",
    "damage",
    "room",
    "readers",
];
/// How often each has its turn, usually.
const USUAL: [u64; PARTS.len()] = [300, 200, 200, 20, 20, 10, 10, 5, 60, 4, 2, 1, 1, 1, 3];

/// A seed's options.
#[derive(Debug, Clone)]
pub struct Options {
    /// Steps of the first phase.
    pub steps: u64,
    /// How often each part has its turn.
    pub parts: [u64; PARTS.len()],
    /// What orders look like.
    pub shape: people::Shape,
    /// Whether the limits of open orders are the product's, not a few.
    pub deep: bool,
    /// How often each kind of intent comes.
    pub intents: [u64; people::KINDS.len()],
    /// Commands submitted together, at most.
    pub batch: u64,
    /// Milliseconds that pass at a time, at most.
    pub pass_ms: u64,
    /// Whether the calendar is set wrong now and then.
    pub clock_leaps: bool,
    /// What goes wrong with the disk.
    pub faults: Faults,
    /// One start in so many is cut short.
    pub cut_starts: u64,
    /// After one start in so many the power goes soon.
    pub cut_soon: u64,
    /// After one loss of power in so many something is damaged, once the venue has started.
    pub damage_soon: u64,
    /// Records between two snapshots.
    pub snapshot_every: NonZeroU64,
    /// Rows of a page of history.
    pub rows: NonZeroU32,
    /// Whether there is an archive.
    pub archive: bool,
    /// Whether there is one in a bucket: one request to its store in so many goes wrong.
    pub bucket: Option<u64>,
}

impl Options {
    /// Those of a seed; `allowed` are the families of faults that may come.
    pub fn spread(seed: u64, allowed: &[String]) -> Options {
        let mut chance = Chance::of(seed ^ 0x5EED);
        let chance = &mut chance;
        let may = |fault: &str| allowed.is_empty() || allowed.iter().any(|name| name == fault);
        let mut parts = USUAL;
        // On an ailing disk syncs fail again and again, and the power goes soon after starts: what a
        // start leaves in memory only is lost.
        let ailing = may("disk") && chance.one_in(3);
        // A busy venue has long days between its misfortunes; others start all the time.
        let busy = !ailing && chance.one_in(2);
        for (name, weight) in PARTS.iter().zip(&mut parts) {
            let rare = ["cut", "stop", "damage", "room"].contains(name);
            let of_seed = chance.of_all(&[1, 2, 2, 2, 8], 2);
            let of_seed = if *name == "people" { 1 } else { of_seed };
            *weight = weight.saturating_mul(of_seed * if busy && !rare { 10 } else { 1 });
            if rare && (!may(name) || chance.one_in(4)) {
                *weight = 0;
            }
        }
        let faulty = ailing || may("disk") && chance.one_in(2);
        // A sync alone that fails leaves what was written to be seen.
        let mut kinds = vec![(1, 1), (1, 0), (0, 1), (0, 1)];
        kinds.retain(|(_, syncs)| !ailing || *syncs > 0);
        let (writes, syncs) = chance.of_all(&kinds, (0, 1));
        // Some fail so often that the start which a failure leads to meets the next one.
        let often = if ailing { 10 } else { chance.of_all(&[20, 60, 200], 200) };
        let once_in = |chance: &mut Chance, fails: u64| {
            if faulty { fails.saturating_mul(chance.within(often, often * 10)) } else { 0 }
        };
        let faults = Faults {
            write_fails: once_in(chance, writes),
            sync_fails: once_in(chance, syncs),
            short_reads: if may("disk") { chance.of_all(&[0, 0, 3, 20], 0) } else { 0 },
            in_a_row: chance.of_all(if ailing { &[10, 20, 40] } else { &[0, 0, 2, 10] }, 0),
            for_good: !ailing && chance.one_in(3),
        };
        let in_bucket = |fails| if may("bucket") { fails } else { 0 };
        let every = chance.of_all(&[20, 100, 400, 2_000], 400);
        let rows = chance.of_all(&[1, 2, 5, 64], 64);
        let shape = people::Shape::of(chance);
        let soon: &[u64] = if ailing { &[2] } else { &[0, 8, 2] };
        Options {
            steps: chance.within(1_000, 8_000),
            parts,
            shape,
            deep: shape == people::Shape::Ladder || chance.one_in(10),
            intents: people::weights(chance, shape),
            batch: chance.of_all(if busy { &[20, 60, 200, 300] } else { &[1, 4, 20, 60] }, 4),
            pass_ms: chance.of_all(&[2, 20, 200, 2_000], 20),
            clock_leaps: may("clock") && chance.one_in(4),
            faults,
            cut_starts: if may("cut") { chance.of_all(&[0, 8, 2], 0) } else { 0 },
            cut_soon: if may("cut") { chance.of_all(soon, 0) } else { 0 },
            damage_soon: if may("damage") { chance.of_all(&[0, 8, 2], 0) } else { 0 },
            snapshot_every: NonZeroU64::new(every).unwrap_or(NonZeroU64::MIN),
            rows: NonZeroU32::new(rows).unwrap_or(NonZeroU32::MIN),
            archive: chance.one_in(2),
            bucket: chance.one_in(2).then(|| chance.of_all(&[0, 3, 10, 40], 10)).map(in_bucket),
        }
    }
}

impl Options {
    /// One request to the bucket's store in so many goes wrong; none if zero.
    pub fn bucket_fails(&self) -> u64 {
        self.bucket.unwrap_or(0)
    }

    /// How often a part has its turn.
    pub fn weight(&self, part: &str) -> u64 {
        let mut parts = PARTS.iter().zip(self.parts);
        parts.find(|(name, _)| **name == part).map_or(0, |(_, weight)| weight)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Faults { write_fails, sync_fails, short_reads, in_a_row, for_good } = self.faults;
        writeln!(
            f,
            "  steps {}, batch up to {}, time by up to {} ms, clock leaps {}, {:?} orders{}",
            self.steps,
            self.batch,
            self.pass_ms,
            self.clock_leaps,
            self.shape,
            if self.deep { ", deep books" } else { "" }
        )?;
        writeln!(
            f,
            "  snapshot every {}, rows a page {}, starts cut short 1 in {}, cut soon after 1 in {}, \
             damage after 1 cut in {}",
            self.snapshot_every, self.rows, self.cut_starts, self.cut_soon, self.damage_soon
        )?;
        writeln!(
            f,
            "  archive {}, in a bucket {}, whose requests fail 1 in {}",
            self.archive,
            self.bucket.is_some(),
            self.bucket_fails()
        )?;
        writeln!(
            f,
            "  writes fail 1 in {write_fails}, syncs {sync_fails}, in a row {in_a_row}, for good \
             {for_good}, reads short {short_reads}"
        )?;
        let named = |names: &[&str], weights: &[u64]| {
            let named = names.iter().zip(weights).map(|(name, weight)| format!("{name} {weight}"));
            named.collect::<Vec<_>>().join(", ")
        };
        writeln!(f, "  turns: {}", named(&PARTS, &self.parts))?;
        write!(f, "  wishes: {}", named(&people::KINDS, &self.intents))
    }
}
