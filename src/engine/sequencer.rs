//! The sequencer: gives every command its sequence number and time, and makes it durable before it
//! is applied.
//!
//! Group commit: what arrives while the last block is made durable becomes the next block, so an
//! idle venue answers at once and a busy one fills larger blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, SendError, Sender, unbounded};

use super::clock::Clock;
use super::halt::{Halt, HaltReason};
use super::heartbeats::Heartbeats;
use super::matcher_status::MatcherStatus;
use super::meter::Meter;
use super::pending::{Intake, Pending, Refusal, Slot};
use super::watcher;
use exchange::command::{Command, KeyedCommand, Record};
use exchange::units::{Sequence, TimeMs};
use journal::block::{Block, BlockBuilder, Head, Refill};
use journal::{Durable, Journal, JournalError, record};

/// Commands that may wait for the sequencer; the next is refused at once. Worth some ten group
/// commits: with more, clients would give up before their turn.
pub const INTAKE_MAX: usize = 8_192;

/// How late a deadline, the end of a window or an expiry may be journaled when nothing else
/// happens. No order can exploit the delay: the exchange decides by the stamp.
const DUE_CHECK_EVERY: Duration = Duration::from_millis(50);

/// A durable block on its way to the matcher.
#[derive(Debug)]
pub struct Sequenced {
    /// The block.
    pub block: Durable<Block>,
    /// Who waits for its records, and the index of the first record that each waits for.
    pub slots: Vec<(usize, Slot)>,
}

/// The callers' end of the intake. The queue has no bound, and they count what is in it: a bounded
/// queue would keep commands that arrive just before the sequencer ends, and their callers would
/// wait forever.
#[derive(Debug)]
pub struct IntakeQueue {
    queue: Sender<Intake>,
    waiting: Arc<AtomicUsize>,
}

/// The sequencer's end of the intake.
#[derive(Debug)]
pub struct Arrivals {
    queue: Receiver<Intake>,
    waiting: Arc<AtomicUsize>,
}

/// The intake.
pub fn intake() -> (IntakeQueue, Arrivals) {
    let (sender, receiver) = unbounded();
    let waiting = Arc::<AtomicUsize>::default();
    let arrivals = Arrivals { queue: receiver, waiting: Arc::clone(&waiting) };
    (IntakeQueue { queue: sender, waiting }, arrivals)
}

impl IntakeQueue {
    /// Makes room for commands, for fewer if there is less.
    pub fn reserve(&self, commands: usize) -> usize {
        let room = |waiting: usize| commands.min(INTAKE_MAX.saturating_sub(waiting));
        let more = |waiting: usize| Some(waiting.saturating_add(room(waiting)));
        let waiting = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        room(waiting.unwrap_or_else(|waiting| waiting))
    }

    /// Hands over commands for which there is room, or the word to stop; gives back commands that
    /// nobody takes any more.
    pub fn send(&self, intake: Intake) -> Option<Pending> {
        match self.queue.send(intake) {
            Ok(()) | Err(SendError(Intake::Stop)) => None,
            Err(SendError(Intake::Commands(pending))) => Some(pending),
        }
    }

    /// How many commands wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Something was done, and there may be more to do.
    Worked,
    /// There is nothing to do before something arrives, or so much time has passed.
    Idle(Duration),
    /// It has ended.
    Ended,
}

/// The sequencer's state.
pub struct Sequencer<J> {
    /// The journal; the sequencer is its only writer.
    pub journal: J,
    /// Source of commands.
    pub intake: Arrivals,
    /// Destination of durable blocks.
    pub blocks: Sender<Sequenced>,
    /// Says what is due, and the results so far.
    pub status: Arc<MatcherStatus>,
    /// Halts the engine.
    pub halt: Arc<Halt>,
    /// Counts the work.
    pub meter: Arc<Meter>,
    /// Stamps records.
    pub clock: Arc<Clock>,
    /// Heartbeats renewed without a record, which are journaled in time.
    pub heartbeats: Arc<Heartbeats>,
    /// What no longer fit the last block, or has just arrived.
    next: Option<Pending>,
    /// The last clock command journaled.
    last_clock: Sequence,
    /// Records in the last block.
    last_records: usize,
    /// Whether [`Intake::Stop`] has come.
    stopping: bool,
}

/// A block being filled.
struct OpenBlock {
    builder: BlockBuilder,
    slots: Vec<(usize, Slot)>,
    records: usize,
    last: Sequence,
    time: TimeMs,
}

/// A block that is being made durable, and who waits for it. A log that answers later than it is
/// asked would have several of these in flight, and [settle](Sequencer::settle) them in order.
struct InFlight {
    slots: Vec<(usize, Slot)>,
    records: usize,
    last: Sequence,
    began: Instant,
}

impl OpenBlock {
    /// A block after `head`, with capacity for about `records`.
    fn after(head: &Head, time: TimeMs, records: usize) -> OpenBlock {
        let builder = BlockBuilder::expecting(head, records);
        let slots = Vec::with_capacity(records);
        OpenBlock { builder, slots, records: 0, last: head.sequence, time }
    }

    /// Stamps a command as the next record; returns it if the block is full.
    #[inline]
    fn stamp(&mut self, asked: KeyedCommand) -> Option<KeyedCommand> {
        let sequence = self.last.next();
        let KeyedCommand { once, act, command } = asked;
        match self.builder.push(Record { sequence, time: self.time, once, act, command }) {
            Ok(()) => {
                self.last = sequence;
                self.records = self.records.saturating_add(1);
                None
            }
            Err(Refill(Record { once, act, command, .. })) => {
                Some(KeyedCommand { once, act, command })
            }
        }
    }

    /// Notes who waits for the last `run` records.
    fn answer_to(&mut self, pending: &mut Pending, run: usize) {
        if run > 0 {
            self.slots.push((self.records.saturating_sub(run), pending.slot(run)));
        }
    }
}

impl<J: Journal> Sequencer<J> {
    /// A sequencer that continues where the journal ends.
    pub fn new(
        journal: J,
        intake: Arrivals,
        blocks: Sender<Sequenced>,
        status: Arc<MatcherStatus>,
        halt: Arc<Halt>,
        meter: Arc<Meter>,
        clock: Arc<Clock>,
    ) -> Sequencer<J> {
        let (heartbeats, last_clock) = (Arc::default(), Sequence::ZERO);
        let (next, last_records, stopping) = (None, 0, false);
        Sequencer {
            journal,
            intake,
            blocks,
            status,
            halt,
            meter,
            clock,
            heartbeats,
            next,
            last_clock,
            last_records,
            stopping,
        }
    }

    /// Takes commands until stopped, or until the engine halts. Returns the journal, so that it
    /// stays open for its readers.
    pub fn run(mut self) -> J {
        loop {
            match self.step() {
                Progress::Worked => {}
                Progress::Idle(wait) => self.wait(wait),
                Progress::Ended => return self.journal,
            }
        }
    }

    /// Commits a block if there is anything to commit.
    pub fn step(&mut self) -> Progress {
        // A block committed after a halt would be applied by nobody.
        let stepped = self.halt.reason().map_or_else(|| self.commit(), Err);
        stepped.unwrap_or_else(|reason| {
            self.halt.halt(reason);
            self.refuse_the_rest(reason);
            Progress::Ended
        })
    }

    /// Waits for something to arrive.
    fn wait(&mut self, wait: Duration) {
        match self.intake.queue.recv_timeout(wait) {
            Ok(intake) => self.take_in(intake),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.stopping = true,
        }
    }

    fn take_in(&mut self, intake: Intake) {
        match intake {
            Intake::Commands(pending) => self.next = Some(pending),
            Intake::Stop => self.stopping = true,
        }
    }

    /// Takes what has arrived, unless there is something left.
    fn poll(&mut self) {
        if self.next.is_none()
            && !self.stopping
            && let Ok(intake) = self.intake.queue.try_recv()
        {
            self.take_in(intake);
        }
    }

    /// Fills a block, makes it durable and passes it on.
    fn commit(&mut self) -> Result<Progress, HaltReason> {
        self.poll();
        let now = self.clock.now();
        if self.next.is_none() {
            if self.stopping {
                self.keep_promises()?;
                return Ok(Progress::Ended);
            }
            if !self.wants_clock(now) && !self.heartbeats.wake(now) {
                let at = self.clock.monotonic();
                let wait = self.status.ask_again_in(self.last_clock, at, DUE_CHECK_EVERY);
                return Ok(Progress::Idle(wait));
            }
        }
        let time = self.stamp_after_renewals()?;
        let mut open = OpenBlock::after(self.journal.head(), time, self.last_records);
        // Due work comes before commands (semantics 3).
        if self.wants_clock(time) && open.stamp(Command::AdvanceClock.into()).is_none() {
            self.last_clock = open.last;
        }
        self.fill(&mut open);
        if open.records == 0 {
            // All commands were refused: no block of this stamp will ever be.
            self.clock.wrote();
            return Ok(Progress::Worked);
        }
        self.last_records = open.records;
        self.make_durable(open).map(|()| Progress::Worked)
    }

    fn wants_clock(&self, now: TimeMs) -> bool {
        self.status.wants_clock(now, self.last_clock, || self.clock.monotonic())
    }

    /// Adds what waits now, until the block is full.
    fn fill(&mut self, open: &mut OpenBlock) {
        loop {
            self.poll();
            let Some(mut pending) = self.next.take() else { return };
            let waited = pending.left();
            let full = self.add(open, &mut pending);
            let taken = waited.saturating_sub(pending.left());
            self.intake.waiting.fetch_sub(taken, Ordering::Relaxed);
            self.meter.sequencer.intake_wait.count_times_since(pending.since, taken);
            if full {
                self.next = Some(pending);
                return;
            }
        }
    }

    /// Adds a caller's commands, those in a row under one slot; whether the block is full.
    fn add(&self, open: &mut OpenBlock, pending: &mut Pending) -> bool {
        let mut run: usize = 0;
        while let Some(asked) = pending.take() {
            if record::admit(&asked).is_err() {
                open.answer_to(pending, std::mem::take(&mut run));
                pending.slot(1).refuse(Refusal::TooLarge);
                continue;
            }
            let full = if matches!(asked.command, Command::Heartbeat { .. }) {
                open.answer_to(pending, std::mem::take(&mut run));
                self.stamp_heartbeat(open, asked)
            } else {
                open.stamp(asked)
            };
            if let Some(asked) = full {
                pending.put_back(asked);
                open.answer_to(pending, run);
                return true;
            }
            run = run.saturating_add(1);
        }
        open.answer_to(pending, run);
        false
    }

    /// Stamps a heartbeat. One with a key may be a repetition, which changes nothing: what was
    /// promised before must hold after it.
    fn stamp_heartbeat(&self, open: &mut OpenBlock, asked: KeyedCommand) -> Option<KeyedCommand> {
        let Command::Heartbeat { user, timeout_seconds, ref group } = asked.command else {
            return open.stamp(asked);
        };
        let whose = (user, group.as_deref().copied());
        let keyed = asked.once.is_some();
        let before = if keyed { self.heartbeats.take(whose) } else { None };
        let renewal = before.and_then(|beat| beat.renewal(open.time));
        let full = renewal.is_some_and(|renewal| open.stamp(renewal.into()).is_some());
        let left = if full { Some(asked) } else { open.stamp(asked) };
        match (&left, before) {
            (Some(_), Some(before)) => self.heartbeats.put_back(before),
            (None, _) if !keyed => self.heartbeats.stamped(whose, timeout_seconds, open.time),
            _ => {}
        }
        left
    }

    /// The next block's stamp, before which every heartbeat is journaled that would run out by it.
    fn stamp_after_renewals(&mut self) -> Result<TimeMs, HaltReason> {
        loop {
            let time = self.clock.stamp();
            let Some((at, renewals)) = self.heartbeats.due(time) else { return Ok(time) };
            self.journal_renewals(at, renewals)?;
        }
    }

    fn journal_renewals(&mut self, at: TimeMs, renewals: Vec<Command>) -> Result<(), HaltReason> {
        let head = self.journal.head();
        let mut open = OpenBlock::after(head, at.max(head.time), renewals.len());
        for renewal in renewals {
            // Few enough for one block.
            drop(open.stamp(renewal.into()));
        }
        self.make_durable(open)
    }

    /// Journals what was promised and is not journaled yet, since nobody remembers it after a stop.
    fn keep_promises(&mut self) -> Result<(), HaltReason> {
        while let Some((at, renewals)) = self.heartbeats.close(self.clock.stamp()) {
            self.journal_renewals(at, renewals)?;
        }
        self.clock.wrote();
        Ok(())
    }

    fn make_durable(&mut self, open: OpenBlock) -> Result<(), HaltReason> {
        let OpenBlock { builder, slots, records, last, .. } = open;
        let block = InFlight { slots, records, last, began: Instant::now() };
        let appended = match builder.build(self.status.results()) {
            Ok(built) => self.journal.append(built),
            Err(error) => {
                tracing::error!(%error, records, "a block could not be built");
                self.clock.wrote();
                return Err(self.refuse_block(block, HaltReason::JournalFailed));
            }
        };
        self.settle(block, appended)
    }

    /// Takes what became of the oldest block in flight: it is durable, refused, or nobody knows.
    fn settle(
        &mut self,
        InFlight { slots, records, last, began }: InFlight,
        appended: Result<Durable<Block>, JournalError>,
    ) -> Result<(), HaltReason> {
        let unknown = matches!(appended, Err(JournalError::Unknown { .. }));
        // A block whose outcome is unknown counts as being written until the next start decides.
        if !unknown {
            // Before the matcher takes the block, which may last. The journal's head includes the
            // block by now, which queries about the past rely on.
            self.clock.wrote();
        }
        match appended {
            Ok(block) => {
                let meter = &self.meter.sequencer;
                meter.append.count_since(began);
                meter.block_records.count(u64::try_from(records).unwrap_or(u64::MAX));
                meter.post_journal_head(last);
                let sent = self.blocks.send(Sequenced { block, slots });
                sent.map_err(|SendError(unapplied)| {
                    let died = HaltReason::ThreadDied("matcher");
                    let reason = self.halt.reason().unwrap_or(died);
                    refuse(unapplied.slots, Refusal::OutcomeUnknown(reason));
                    reason
                })
            }
            Err(error) => {
                tracing::error!(%error, records, "a block was not made durable");
                let reason = if unknown { HaltReason::JournalUnknown } else { self.why_refused() };
                Err(self.refuse_block(InFlight { slots, records, last, began }, reason))
            }
        }
    }

    /// Why a refused append halts the engine: what was done to the journal's files, if that is why.
    fn why_refused(&self) -> HaltReason {
        let changed = self.journal.files().as_deref().and_then(watcher::changed);
        changed.unwrap_or(HaltReason::JournalFailed)
    }

    fn refuse_block(&self, block: InFlight, reason: HaltReason) -> HaltReason {
        // Halt before anyone is answered, so that a caller that retries is refused for the same
        // reason.
        self.halt.halt(reason);
        let refusal = match reason {
            HaltReason::JournalUnknown => Refusal::OutcomeUnknown(reason),
            _ => Refusal::JournalUnavailable(reason),
        };
        refuse(block.slots, refusal);
        reason
    }

    fn refuse_the_rest(&mut self, reason: HaltReason) {
        let refusal = Refusal::JournalUnavailable(reason);
        let queued = self.intake.queue.try_iter().filter_map(|intake| match intake {
            Intake::Commands(pending) => Some(pending),
            Intake::Stop => None,
        });
        for pending in self.next.take().into_iter().chain(queued) {
            self.intake.waiting.fetch_sub(pending.left(), Ordering::Relaxed);
            pending.rest().refuse(refusal);
        }
    }
}

/// Refuses every slot.
pub fn refuse(slots: impl IntoIterator<Item = (usize, Slot)>, refusal: Refusal) {
    for (_, slot) in slots {
        slot.refuse(refusal);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/sequencer.rs"]
mod tests;
