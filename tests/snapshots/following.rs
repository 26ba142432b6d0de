//! Following a venue's journal behind it: from wherever one begins, each record is seen once, with
//! the read model that the venue's readers had just after it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use engine::Engine;
use engine::follower::{Followed, Follower, Onlooker};
use engine::start::{self, Options};
use engine::throttle::Throttle;
use exchange::command::Record;
use exchange::effect::Applied;
use exchange::results::Results;
use exchange::units::Sequence;
use journal::memory::MemoryJournal;
use journal::replay::{Replayer, replay};
use journal::snapshot::{Kind, SnapshotFolder};
use views::ReadModel;
use views::history::History;

use super::venue::{ROWS, commands, history, play, start, stop, wait_for_taken};

/// Records between two moments that are compared.
const EVERY: u64 = 397;

/// The read model at some records, and everything that its lists show.
type Moments = BTreeMap<Sequence, (Vec<u8>, Vec<String>)>;

fn moment(view: &ReadModel) -> (Vec<u8>, Vec<String>) {
    let mut image = Vec::new();
    view.write_image(&mut image).unwrap();
    (image, history(view))
}

/// The moments of a journal, folded from its first record, with pages of its own.
fn moments(followed: &Followed, pages: &History) -> Moments {
    let (mut view, mut moments) = (ReadModel::on(pages), Moments::new());
    let blocks = followed.journal.read(Sequence::new(1));
    replay(blocks, &mut Replayer::new(), |record, effects| {
        let (sequence, time) = (record.sequence, record.time);
        view.fold(&Applied { sequence, time, effects });
        if sequence.get() % EVERY == 0 {
            moments.insert(sequence, moment(&view));
        }
    })
    .unwrap();
    moments
}

fn follower(engine: &Engine, after: Sequence, given: Option<Follower>) -> Follower {
    engine.followed().follower(after, given, &mut Throttle::full()).unwrap()
}

/// Compares what is seen.
struct Comparing<'a> {
    seen: Sequence,
    moments: &'a Moments,
    /// The results that each block ended with.
    results: Vec<Results>,
    /// One record is enough.
    hasty: bool,
}

impl Onlooker for Comparing<'_> {
    fn see(&mut self, view: &ReadModel, record: &Record, applied: &Applied<'_>) -> ControlFlow<()> {
        self.seen = self.seen.next();
        let found = (applied.sequence, record.sequence, view.watermark());
        assert_eq!(found, (self.seen, self.seen, self.seen));
        if let Some(expected) = self.moments.get(&self.seen) {
            assert!(moment(view) == *expected, "the read model differs at {}", self.seen);
        }
        if self.hasty { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn end_block(&mut self, view: &ReadModel, results: Results) {
        assert_eq!(results.through, view.watermark());
        self.results.push(results);
    }
}

/// Follows from after a record to the end, in steps of so many records; what is seen is compared.
fn follow(engine: &Engine, after: Sequence, step: usize, moments: &Moments) -> Follower {
    let mut follower = follower(engine, after, None);
    assert!(follower.sequence() <= after);
    let (end, from) = (engine.watermark(), follower.sequence());
    let hasty = step == 1_000;
    let mut comparing = Comparing { seen: from, moments, results: Vec::new(), hasty };
    while follower.sequence() < end {
        let before = follower.sequence();
        follower.step(Sequence::new(u64::MAX), step, &mut comparing).unwrap();
        let steps = follower.sequence().get() - before.get();
        let expected = if hasty { 1 } else { step as u64 };
        assert!(steps == expected || follower.sequence() == end);
    }
    assert_eq!(comparing.seen, end);
    assert!(moment(follower.read_model()) == moment(&engine.read()));
    let (mut replayer, mut blocks) = (Replayer::new(), Vec::new());
    for block in engine.followed().journal.read(Sequence::new(1)) {
        replay([block].into_iter(), &mut replayer, |_, _| ()).unwrap();
        blocks.push(replayer.known());
    }
    blocks.retain(|results| results.through > from);
    assert_eq!(comparing.results, blocks);
    follower
}

/// Steps on and looks at nothing.
struct Blind;

impl Onlooker for Blind {
    fn see(&mut self, _: &ReadModel, _: &Record, _: &Applied<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn each_record_is_seen_as_readers_saw_it_from_wherever_one_begins() {
    let data = tempfile::tempdir().unwrap();
    let running = start(data.path(), 300);
    let engine = running.engine();
    let parts = commands().chunks_exact(500);
    let rest = parts.remainder();
    for part in parts {
        let taken = engine.snapshots().taken;
        play(&engine, part);
        wait_for_taken(&engine, taken + 1);
    }
    play(&engine, rest);
    let moments = moments(engine.followed(), &History::default().paged(ROWS));
    let folder = SnapshotFolder::of(data.path());
    let snapshots = folder.list(Kind::Views).unwrap();
    assert_eq!(snapshots, folder.list(Kind::State).unwrap(), "kept as long as each other");
    assert!(snapshots.len() > 3, "{snapshots:?}");
    let end = engine.watermark();
    for after in snapshots.iter().copied().chain([Sequence::ZERO, end]) {
        follow(&engine, after, 97, &moments);
        // Each of them is begun with.
        let begun = follower(&engine, after, None).sequence();
        assert!(begun == after || after == end, "{begun} for {after}");
    }
    // One that is at hand goes on, unless a snapshot is nearer or it is too far.
    let newest = snapshots[0];
    let late = follow(&engine, end, 1_000, &moments);
    assert_eq!(
        follower(&engine, Sequence::new(newest.get() - 1), Some(late)).sequence(),
        snapshots[1]
    );
    let mut early = follower(&engine, snapshots[2], None);
    early.step(Sequence::new(u64::MAX), 7, &mut Blind).unwrap();
    let at = early.sequence();
    let near = follower(&engine, at.next(), Some(early));
    assert_eq!(near.sequence(), at);
    assert_eq!(follower(&engine, end, Some(near)).sequence(), newest);
    let seen = stop(running);

    // The venue's own pages are as they were.
    let running = start(data.path(), 0);
    follow(&running.engine(), newest, 97, &moments);
    assert_eq!(stop(running), seen);
}

#[test]
fn a_venue_in_memory_is_followed_too() {
    let running = start::start(MemoryJournal::new(), Options::default()).unwrap();
    let engine = running.engine();
    play(&engine, &commands()[..2_000]);
    let moments = moments(engine.followed(), &History::default());
    let follower = follow(&engine, Sequence::ZERO, 256, &moments);
    play(&engine, &commands()[2_000..2_300]);
    let at = follower.sequence();
    let mut follower = self::follower(&engine, at, Some(follower));
    follower.step(engine.watermark(), 1_000, &mut Blind).unwrap();
    assert!(follower.sequence() > at);
    assert!(moment(follower.read_model()) == moment(&engine.read()));
    stop(running);
}
