//! The world: a machine with its disk and clocks, the venue on it, and the people. One step of one
//! part comes after the other, as the seed says. Each step draws from a stream of its own, so that a
//! step can be left out and the others stay what they are.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use exchange::command::{Command, KeyedCommand, Record};
use exchange::effect::Effect;
use exchange::rules::Rules;
use exchange::units::Sequence;
use journal::disk::mounted::{ROOT, mount};
use parking_lot::Mutex;

use crate::bucket::{self, Bucket};
use crate::chance::Chance;
use crate::clock::Clocks;
use crate::commands;
use crate::disk::{Counts, Disk, Faults, Mounted};
use crate::marks::Marks;
use crate::options::{Options, PARTS};
use crate::oracle::{self, Heard, Letters, Oracle, Person};
use crate::people;
use crate::readers::Readers;
use crate::venue::{Refused, Venue, data};

mod elsewhere;
mod harm;

/// Commands that may be unanswered at a time.
const WAITING_MAX: usize = 600;
/// Tries of a start whose power is cut each time.
const CUT_STARTS_MAX: u32 = 5;
/// Starts of which one has made history anew.
const STARTS_MAX: u32 = 20;
/// After one start in so many everything is made again from the journal.
const MADE_AGAIN_ONE_IN: u64 = 12;
/// Before one in so many starts without a loss of power everything is salvaged, and after one in a
/// quarter as many that were refused.
const SALVAGED_ONE_IN: u64 = 20;
/// Somebody meddles with the archive in the bucket instead of one turn of the archiver in so many.
const MEDDLED_ONE_IN: u64 = 40;
/// The parts that write to the disk.
const WRITERS: [&str; 5] = ["sequencer", "keeper", "history", "snapshotter", "archiver"];
/// Steps in which a healthy venue answers what it is asked.
const ANSWERED_IN: u32 = 10_000;
/// Failures of the disk that may refuse a start or a command; the operator then mends the disk.
const DISK_FAILS: [&str; 4] = ["os error 5", "os error 28", "an earlier", "HISTORY"];

/// What a run of one seed came to.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Records.
    pub records: u64,
    /// Losses of power.
    pub crashes: u64,
    /// A number that two runs share only if they did the same.
    pub digest: u64,
    /// What was reached.
    pub marks: Marks,
}

/// What was wrong, and when.
#[derive(Debug, Clone)]
pub struct Trouble {
    /// The step at which it showed.
    pub step: u64,
    /// What.
    pub what: String,
    /// The newest records.
    pub newest: String,
    /// How many records there were.
    pub records: u64,
}

/// A machine, a venue and people.
pub struct World<'a> {
    seed: u64,
    options: &'a Options,
    chance: Chance,
    disk: Arc<Disk>,
    bucket: Bucket,
    clocks: Clocks,
    oracle: Oracle,
    readers: Readers,
    venue: Option<Venue>,
    letters: Letters,
    /// Requests on their way, each command until it is heard of.
    waiting: BTreeMap<(u64, usize), KeyedCommand>,
    /// What nobody knows the outcome of, and will be asked for again.
    again: Vec<KeyedCommand>,
    requests: u64,
    crashes: u64,
    marks: Marks,
    /// The copy was damaged when it reached so far, and is not known to be sound before it reaches
    /// further.
    copy_sound_after: Option<u64>,
    /// How many objects of the bucket were found to be the journal, and up to which record.
    copied: (usize, Sequence),
    /// Whether faults still come.
    safe: bool,
    /// What goes wrong with the disk now.
    faults: Faults,
    /// That of all that was made again at the end.
    digest: u64,
}

impl<'a> World<'a> {
    fn of(seed: u64, options: &'a Options) -> World<'a> {
        let mut chance = Chance::of(seed);
        let disk = Arc::new(Disk::new(chance.split()));
        mount(Some(Arc::new(Mounted(Arc::clone(&disk)))));
        let cuts = options.weight("cut") > 0;
        let bucket = Bucket::new(Arc::clone(&disk), cuts);
        let letters = Arc::new(Mutex::new(Vec::new()));
        let (clocks, oracle, marks) = (Clocks::new(), Oracle::new(), Marks::default());
        World {
            seed,
            options,
            chance,
            disk,
            bucket,
            clocks,
            oracle,
            readers: Readers::default(),
            venue: None,
            letters,
            waiting: BTreeMap::new(),
            again: Vec::new(),
            requests: 0,
            crashes: 0,
            marks,
            copy_sound_after: None,
            copied: (0, Sequence::ZERO),
            safe: false,
            faults: Faults::default(),
            digest: 0,
        }
    }

    fn mark(&mut self, what: &str) {
        self.marks.reach(self.seed, what);
    }

    /// Submits commands of one caller.
    fn submit(&mut self, commands: Vec<KeyedCommand>) {
        let Some(venue) = &self.venue else { return };
        self.requests = self.requests.saturating_add(1);
        let request = self.requests;
        for (place, command) in commands.iter().enumerate() {
            self.waiting.insert((request, place), command.clone());
        }
        let heard = Arc::clone(&self.letters);
        venue.stations.engine.submit(commands, Arc::new(Person { request, heard }));
    }

    /// Somebody asks for something.
    fn people(&mut self) {
        if self.waiting.len() > WAITING_MAX {
            return;
        }
        let Some(venue) = &self.venue else { return };
        let (now, mut wanted) = (venue.stations.engine.now(), Vec::new());
        let batch =
            if self.chance.one_in(3) { self.chance.within(1, self.options.batch) } else { 1 };
        for _ in 0..batch {
            let known = self.chance.index(self.again.len());
            if self.chance.one_in(2) && known < self.again.len() {
                wanted.push(self.again.swap_remove(known));
            } else {
                let (intents, shape) = (&self.options.intents, self.options.shape);
                let step = people::step(&mut self.chance, intents, shape);
                let asked = commands::asked(&self.oracle.twin, &step, now);
                let market = matches!(asked.command, Command::CreateMarket(_));
                wanted.push(asked);
                if market {
                    // Where no market is open everybody would make one.
                    break;
                }
            }
        }
        self.submit(wanted);
    }

    /// Reads what people were told. What they were told by a machine without power never reached
    /// them.
    fn read_letters(&mut self, reached: bool) -> Result<(), String> {
        let letters = std::mem::take(&mut *self.letters.lock());
        for (request, place, heard) in letters {
            let Some(asked) = self.waiting.remove(&(request, place)) else {
                return Err("ANSWERED: somebody heard of a command twice".to_owned());
            };
            let heard = if reached { heard } else { Heard::Unknown };
            match heard {
                Heard::Applied(sequence) => {
                    self.oracle.answered(&asked, sequence)?;
                    // Now and then the answer is lost on the way, and asked for again.
                    if is_named(&asked) && self.chance.one_in(50) {
                        self.again.push(asked);
                    }
                }
                Heard::Refused => {
                    self.mark("a command was refused, since nothing could be journaled");
                    if is_named(&asked) {
                        self.oracle.refused.push(asked);
                    }
                }
                Heard::Unknown => {
                    if is_named(&asked) {
                        self.again.push(asked);
                    }
                }
            }
        }
        self.again.truncate(WAITING_MAX);
        Ok(())
    }

    /// After each step: what was applied is compared, and what was answered looked at.
    fn look(&mut self) -> Result<(), String> {
        let (marks, seed) = (&mut self.marks, self.seed);
        self.oracle.compare(|record, effects| mark_record(marks, seed, record, effects))?;
        for met in self.bucket.marks().into_iter().chain(self.readers.marks()) {
            self.mark(met);
        }
        self.read_letters(self.disk.is_on())
    }

    /// A step of the sequencer; what it has in hand when the power goes may be there or not.
    fn sequence(&mut self) {
        let Some(venue) = &mut self.venue else { return };
        venue.sequence();
        self.oracle.known = venue.head();
        let halted = venue.halted();
        let unknown = halted.is_some_and(|reason| reason.code() == "JOURNAL_UNKNOWN");
        self.oracle.doubt |= !self.disk.is_on() || unknown;
        if let Some(reason) = halted {
            self.mark(&format!("halted: {}", reason.code()));
        }
    }

    fn part(&mut self, part: &str) -> Result<(), String> {
        match part {
            "people" => self.people(),
            "sequencer" => self.sequence(),
            "time" => self.time(),
            "cut" if self.chance.one_in(2) => {
                // In the middle of what somebody writes who seldom has a turn.
                self.disk.cut_in(self.chance.within(1, 4));
                let writer = self.chance.of_all(&WRITERS, "sequencer");
                return self.part(writer);
            }
            "cut" => {
                let changes = self.chance.of_all(&[1, 5, 40, 400], 5);
                self.disk.cut_in(self.chance.within(1, changes));
            }
            "stop" => return self.stop(),
            "damage" if !self.safe => return self.damage(),
            "archiver" if self.options.bucket_fails() > 0 && self.chance.one_in(MEDDLED_ONE_IN) => {
                self.meddle()?;
            }
            "room" if !self.safe => {
                let full = self.chance.one_in(2);
                self.disk.set_full(full);
            }
            "check" => {
                if let Some(venue) = &self.venue {
                    let all = venue.stations.matcher.blocks.is_empty();
                    if all && venue.halted().is_none() && !venue.history.has_failed() {
                        let same = self.oracle.state(venue);
                        let anew = |error: &String| self.is_made_anew(venue, error);
                        return same
                            .or_else(|error| if anew(&error) { Ok(()) } else { Err(error) });
                    }
                }
            }
            "readers" => {
                let venue = self.venue.as_ref().filter(|venue| venue.halted().is_none());
                if let Some(venue) = venue {
                    self.readers.step(venue, &self.oracle, &mut self.chance)?;
                }
            }
            other => {
                let Some(venue) = &mut self.venue else { return Ok(()) };
                match other {
                    "matcher" => drop(venue.apply()),
                    "keeper" => drop(venue.keep()),
                    "history" => venue.history.tidy(),
                    "snapshotter" => venue.snapshot(),
                    "archiver" => venue.archive(),
                    _ => venue.watch(),
                }
            }
        }
        Ok(())
    }

    fn time(&mut self) {
        // Whole seconds meet the very moment at which something is due.
        let exact = self.chance.one_in(12);
        let ms = self.chance.below(self.options.pass_ms.saturating_add(1));
        let ms = if exact { 1_000 } else { ms };
        self.clocks.pass(ms);
        if self.options.clock_leaps && !self.safe && self.chance.one_in(40) {
            let by = self.chance.of_all(&[-3_600_000, -500, 30_000, 3_600_000], 0);
            self.clocks.set(by);
            self.mark("the calendar was set");
        }
    }

    /// One step: what happens, and what must be true after it.
    fn step(&mut self, number: u64) -> Result<(), String> {
        self.chance = Chance::of(self.seed.wrapping_mul(0x9E37_79B9).wrapping_add(number << 20));
        self.disk.draw_from(self.chance.split());
        self.bucket.draw_from(self.chance.split());
        let part = self.chance.weighted(&self.options.parts);
        self.part(PARTS.get(part).copied().unwrap_or_default())?;
        self.look()?;
        let halted = self.venue.as_ref().is_none_or(|venue| venue.halted().is_some());
        if self.disk.is_on() && !halted {
            return Ok(());
        }
        let power = !self.disk.is_on() || self.chance.one_in(2);
        self.restart(power)?;
        // Before the keeper makes up for what the copy lost.
        if power && self.chance.one_in(self.options.damage_soon) { self.damage() } else { Ok(()) }
    }

    /// An orderly end and a start.
    fn stop(&mut self) -> Result<(), String> {
        self.mark("an orderly stop");
        self.restart(false)
    }

    /// The machine or the venue ends, and starts until it runs.
    fn restart(&mut self, power: bool) -> Result<(), String> {
        self.end(power)?;
        if !power && !self.oracle.doubt && self.chance.split().one_in(SALVAGED_ONE_IN) {
            self.salvage_at_rest()?;
        }
        for round in 0.. {
            if self.chance.one_in(self.options.cut_starts) && round < CUT_STARTS_MAX && !self.safe {
                // What is decided about the log's end comes first.
                let changes = self.chance.of_all(&[10, 60], 60);
                self.disk.cut_in(self.chance.within(1, changes));
            }
            let opened = Venue::open(self.options, &self.clocks, &self.oracle.tap, &self.bucket);
            if !self.disk.is_on() {
                drop(opened);
                self.mark("the power went during a start");
                self.crash();
                continue;
            }
            match opened {
                Ok(venue) => {
                    self.disk.cut_never();
                    if !self.started(venue)? {
                        if round > STARTS_MAX {
                            return Err("LIVE: no start makes history anew".to_owned());
                        }
                        continue;
                    }
                    self.cut_soon();
                    return Ok(());
                }
                Err(refused) => self.refused(&refused, round)?,
            }
        }
        Ok(())
    }

    /// The power may go soon after a start: before the next blocks make up for what that left
    /// undone.
    fn cut_soon(&mut self) {
        if !self.safe && self.chance.one_in(self.options.cut_soon) {
            let changes = self.chance.of_all(&[1, 4, 20, 100], 4);
            self.disk.cut_in(self.chance.within(1, changes));
        }
    }

    fn end(&mut self, power: bool) -> Result<(), String> {
        let (venue, mut reached) = (self.venue.take(), !power);
        self.readers.part();
        if power {
            self.disk.cut();
            drop(venue);
            self.crash();
        } else {
            if let Some(venue) = venue {
                venue.stop();
            }
            reached = self.disk.is_on();
            if !reached {
                self.mark("the power went during a stop");
                self.crash();
            }
        }
        let (marks, seed) = (&mut self.marks, self.seed);
        self.oracle.compare(|record, effects| mark_record(marks, seed, record, effects))?;
        self.read_letters(reached)?;
        let lost = std::mem::take(&mut self.waiting);
        self.again.extend(lost.into_values().filter(is_named));
        Ok(())
    }

    fn crash(&mut self) {
        self.crashes = self.crashes.saturating_add(1);
        self.disk.boot();
        self.disk.set_faults(self.faults);
    }

    /// What goes wrong with the disk and the bucket's store from now on: what the seed has, or
    /// nothing.
    fn set_faults(&mut self, faults: bool) {
        let (disk, bucket) = (self.options.faults, self.options.bucket_fails());
        let (disk, bucket) = if faults { (disk, bucket) } else { (Faults::default(), 0) };
        self.faults = disk;
        self.disk.set_faults(disk);
        self.bucket.set_fails(bucket);
    }

    /// A start was refused: only a disk that fails may do that, and it is mended then.
    fn refused(&mut self, refused: &Refused, round: u32) -> Result<(), String> {
        let counts = self.disk.counts();
        let by_disk = counts.failures > 0 || counts.full > 0;
        if !by_disk || self.safe || !DISK_FAILS.iter().any(|words| refused.contains(words)) {
            return Err(format!("REFUSED: {refused}"));
        }
        self.mark("a failing disk refused a start");
        self.disk.set_full(false);
        if round > 3 {
            self.disk.set_faults(Faults::default());
        }
        Ok(())
    }

    /// Looks at a venue that has started; whether it goes on.
    fn started(&mut self, venue: Venue) -> Result<bool, String> {
        self.mark("a start");
        self.marks.count(self.seed, "damage was repaired by a start", venue.repairs);
        self.mark(&venue.row);
        if venue.cut {
            self.mark("a start cut off what was never acknowledged");
        }
        if venue.archive_torn {
            self.mark("a start cut a torn end off the archive");
        }
        let snapshots = self.disk.files(&data().join("snapshots"));
        if snapshots.iter().any(|path| path.extension().is_some_and(|of| of == "wrong")) {
            return Err("SNAPSHOT: the journal proved one wrong that nobody damaged".to_owned());
        }
        let ours = self.oracle.twin.sequence;
        // One like it may have been on its way.
        self.oracle.refused.retain(|asked| !self.again.contains(asked));
        let mut done = self.oracle.recovered(&venue);
        if done.is_ok() && self.chance.clone().one_in(MADE_AGAIN_ONE_IN) {
            done = self.oracle.made_again(&venue).map(drop);
        }
        if done.as_ref().is_err_and(|error| self.is_made_anew(&venue, error)) {
            self.mark("a page that a failed sync lost was found, and made anew");
            venue.stop();
            return Ok(false);
        }
        if done.is_ok() {
            self.copied = bucket::same(&self.bucket.objects(), &venue.reader(), self.copied)?;
        }
        if self.oracle.twin.sequence > ours {
            self.mark("a block is there that nobody was answered for");
        }
        if venue.stations.engine.snapshots().sequence > Sequence::ZERO {
            self.mark("a start from a snapshot");
        }
        self.venue = Some(venue);
        done.map(|()| true)
    }

    /// Whether a page cannot be read that a failed sync may have lost: the next start makes it.
    fn is_made_anew(&self, venue: &Venue, error: &str) -> bool {
        error.contains("HISTORY_") && venue.history.has_failed() && self.disk.counts().failures > 0
    }

    /// The first phase, and then the second: the faults stop, and the venue must answer.
    fn live(&mut self) -> Result<(), String> {
        self.safe = true;
        self.set_faults(false);
        self.disk.set_full(false);
        self.disk.cut_never();
        self.restart(self.chance.clone().one_in(2))?;
        for _ in 0..20 {
            self.people();
        }
        let mut steps = 0_u32;
        while !self.waiting.is_empty() || !self.again.is_empty() {
            if self.waiting.is_empty() {
                self.people();
            }
            self.clocks.pass(1);
            self.sequence();
            if let Some(venue) = &mut self.venue {
                venue.apply();
            }
            self.look()?;
            steps = steps.saturating_add(1);
            if steps > ANSWERED_IN {
                let left = self.waiting.len();
                return Err(format!("LIVE: {left} commands are not answered by a healthy venue"));
            }
        }
        let Some(mut venue) = self.venue.take() else { return Err("LIVE: no venue".to_owned()) };
        while venue.keep() {}
        venue.history.tidy();
        venue.snapshot();
        let snapshots = venue.snapshots_since();
        self.marks.count(self.seed, "a snapshot was taken", snapshots.taken);
        if snapshots.failing {
            return Err("LIVE: a healthy venue's snapshot fails".to_owned());
        }
        self.oracle.state(&venue)?;
        self.readers.finish(&venue, &self.oracle)?;
        self.digest = self.oracle.made_again(&venue)?;
        venue.archive();
        if self.options.bucket.is_some() {
            self.bucketed(&mut venue)?;
        }
        let (head, used) = (venue.head(), self.disk.used_in(&data()));
        let rows = venue.history.history().rows_per_page();
        venue.stop();
        // An auditor reads what is there afterwards, without the venue.
        let journaled = oracle::verified(&head, self.options.archive)?;
        oracle::bounded(used, journaled, rows)
    }

    /// The first commands: rules, users, markets.
    fn opening(&self) -> Vec<Command> {
        let mut commands = commands::opening();
        if let (true, Some(Command::OpenVenue(rules))) = (self.options.deep, commands.first_mut()) {
            let usual = Rules::current();
            rules.user_open_orders_max = usual.user_open_orders_max;
            rules.venue_open_orders_max = usual.venue_open_orders_max;
        }
        commands
    }

    fn run(&mut self, steps: &dyn Fn(u64) -> bool, count: u64) -> Result<(), (u64, String)> {
        self.restart(false).map_err(|what| (0, what))?;
        // Without its first commands a venue refuses all others.
        self.disk.cut_never();
        self.submit(self.opening().into_iter().map(KeyedCommand::from).collect());
        for _ in 0..10 {
            self.sequence();
            self.part("matcher").and_then(|()| self.look()).map_err(|what| (0, what))?;
        }
        self.set_faults(true);
        for number in (0..count).filter(|number| steps(*number)) {
            self.step(number).map_err(|what| (number, what))?;
        }
        self.live().map_err(|what| (count, what))
    }
}

/// Whether a repetition of the command is known as one.
fn is_named(asked: &KeyedCommand) -> bool {
    let placed = asked.command.placement();
    asked.once.is_some() || placed.is_some_and(|terms| terms.client_order_id.is_some())
}

fn mark_record(marks: &mut Marks, seed: u64, record: &Record, effects: &[Effect]) {
    match effects {
        [Effect::Refused(reject)] => marks.reach(seed, &format!("refused: {}", reject.code())),
        [Effect::Repeated { .. }] => marks.reach(seed, "a repetition got the first answer"),
        _ if matches!(record.command, Command::AdvanceClock) => marks.reach(seed, "clock"),
        _ => marks.reach(seed, "done"),
    }
}

/// Runs one seed; of the first phase only the steps that `steps` names. What a failure leaves on the
/// disk is written to the folder `left`.
pub fn run(
    seed: u64,
    options: &Options,
    steps: &dyn Fn(u64) -> bool,
    trace: bool,
    left: Option<&Path>,
) -> (Result<Summary, Trouble>, Vec<String>) {
    let mut world = World::of(seed, options);
    if trace {
        world.disk.trace();
    }
    let done = world.run(steps, options.steps);
    if let (Some(folder), Err(_)) = (left, &done)
        && let Err(error) = world.disk.copy_to(Path::new(ROOT), folder)
    {
        eprintln!("{}: {error}", folder.display());
    }
    let (counts, head) = (world.disk.counts(), world.oracle.known);
    let trace = world.disk.traced();
    let (newest, records) = (world.oracle.newest(6), world.oracle.twin.sequence);
    let mut digest = Chance::of(u64::from_le_bytes(*head.hash.0.first_chunk().unwrap_or(&[0; 8])));
    let Counts { changes, syncs, failures, full } = counts;
    for number in [changes, syncs, failures, full, world.crashes, world.digest] {
        digest = Chance::of(digest.number() ^ number);
    }
    let summary = Summary {
        records,
        crashes: world.crashes,
        digest: digest.number(),
        marks: std::mem::take(&mut world.marks),
    };
    world.disk.cut();
    drop(world);
    mount(None);
    let done = done.map(|()| summary);
    (done.map_err(|(step, what)| Trouble { step, what, newest, records }), trace)
}
