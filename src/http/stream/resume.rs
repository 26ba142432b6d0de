//! Resuming from the journal: a connection that comes back when the rings do not reach back to
//! where it was is told from the journal what it missed. One thread does that for all of them, and
//! each takes what waits for it at its own pace, until the rings reach back to where it has come.

mod telling;
mod turns;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::bell::Bell;
use super::channel::Topic;
use super::message::Message;
use crate::problem::{Kind, Problem};
use engine::Engine;
use engine::background::{End, ending};
use exchange::units::Sequence;
use turns::Turns;

/// Most connections that catch up from the journal at once; the next is refused. With
/// [`OUTBOX_BYTES_MAX`] it bounds what waits for all of them.
pub const RESUMERS_MAX: usize = 1024;
/// Of these, those of one connection: it may ask for more channels while it catches up on others.
const OWN_MAX: usize = 4;
/// Most bytes that wait for one of them, but for what one step of the replay adds.
const OUTBOX_BYTES_MAX: usize = 64 << 10;

/// All connections that catch up from the journal, and the thread that serves them once there is
/// one.
#[derive(Debug, Default)]
pub struct Resumers {
    shared: Arc<Shared>,
    /// Ends the thread when it is dropped.
    end: Mutex<Option<End>>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Somebody came, left or took something.
    stirred: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    resumers: Vec<Arc<Resumer>>,
    /// The journal could not be replayed.
    failed: bool,
}

/// A connection that catches up.
#[derive(Debug)]
struct Resumer {
    topics: Vec<Topic>,
    bell: Arc<Bell>,
    outbox: Mutex<Outbox>,
}

/// What waits for it.
#[derive(Debug)]
struct Outbox {
    messages: VecDeque<Arc<Message>>,
    bytes: usize,
    /// Everything up to this record was taken, or there was nothing.
    taken: Sequence,
    /// Everything up to this record was put here.
    position: Sequence,
    /// Later records are in the rings, unless they were evicted meanwhile.
    until: Sequence,
    /// When it last came forward.
    since: Instant,
    /// Whether it takes nothing: nobody waits for it then.
    stalled: bool,
    failed: bool,
}

impl Outbox {
    fn begin(from: Sequence, until: Sequence) -> Outbox {
        Outbox {
            messages: VecDeque::new(),
            bytes: 0,
            taken: from,
            position: from,
            until,
            since: Instant::now(),
            stalled: false,
            failed: false,
        }
    }

    const fn has_room(&self) -> bool {
        self.bytes < OUTBOX_BYTES_MAX
    }

    /// Whether there is something to be told, and room for it.
    fn is_ready(&self) -> bool {
        self.has_room() && self.position < self.until
    }
}

/// A connection's hold on what it is told; dropping it ends that.
#[derive(Debug)]
pub struct Resuming {
    shared: Arc<Shared>,
    resumer: Arc<Resumer>,
}

/// What was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// So many bytes of messages; there may be more.
    Messages(usize),
    /// Nothing: everything up to this record was taken, and all else is still to come.
    All(Sequence),
    /// The journal cannot be replayed.
    Failed,
}

impl Resumers {
    /// Begins to tell a connection from the journal what these topics told after a record, in the
    /// order of the records. The bell rings whenever there is something.
    ///
    /// # Errors
    /// As many connections catch up as may at once, or the journal cannot be replayed.
    pub fn resume(
        &self,
        engine: &Engine,
        topics: Vec<Topic>,
        from: Sequence,
        bell: &Arc<Bell>,
    ) -> Result<Resuming, Problem> {
        let shared = Arc::clone(&self.shared);
        let mut waiting = shared.waiting.lock();
        if std::mem::take(&mut waiting.failed) {
            // A read that failed may succeed the next time: the thread is started anew.
            drop(self.end.lock().take());
        }
        let own = waiting.resumers.iter().filter(|one| Arc::ptr_eq(&one.bell, bell)).count();
        if own >= OWN_MAX {
            let detail = format!("this connection catches up {OWN_MAX} times already");
            let problem = Problem::new(Kind::ReplayBusy, detail);
            return Err(Problem { sequence: Some(from), ..problem });
        }
        if waiting.resumers.len() >= RESUMERS_MAX {
            let detail = format!("{RESUMERS_MAX} connections catch up from the journal already");
            let problem = Problem::new(Kind::ReplayBusy, detail);
            return Err(Problem { sequence: Some(from), ..problem });
        }
        let started = self.start(engine);
        started.map_err(|_| Problem::internal("no thread to replay the journal"))?;
        let outbox = Outbox::begin(from, engine.watermark());
        let resuming = self.push(&mut waiting, outbox, topics, Arc::clone(bell));
        drop(waiting);
        shared.stirred.notify_all();
        Ok(resuming)
    }

    /// Tells of these topics instead of those of another, after what was taken of it.
    pub fn instead(&self, of: &Resuming, topics: Vec<Topic>) -> Resuming {
        let outbox = Outbox::begin(of.taken(), of.resumer.outbox.lock().until);
        let mut waiting = self.shared.waiting.lock();
        let resuming = self.push(&mut waiting, outbox, topics, Arc::clone(&of.resumer.bell));
        drop(waiting);
        self.shared.stirred.notify_all();
        resuming
    }

    fn push(
        &self,
        waiting: &mut Waiting,
        outbox: Outbox,
        topics: Vec<Topic>,
        bell: Arc<Bell>,
    ) -> Resuming {
        let resumer = Arc::new(Resumer { topics, bell, outbox: Mutex::new(outbox) });
        waiting.resumers.push(Arc::clone(&resumer));
        Resuming { shared: Arc::clone(&self.shared), resumer }
    }

    fn start(&self, engine: &Engine) -> io::Result<()> {
        let mut running = self.end.lock();
        if running.is_none() {
            let (end, ending) = ending();
            let turns = Turns::new(Arc::clone(&self.shared), engine.clone(), ending);
            Builder::new().name("resume".to_owned()).spawn(move || turns.run())?;
            *running = Some(end);
        }
        Ok(())
    }
}

impl Drop for Resumers {
    fn drop(&mut self) {
        drop(self.end.lock().take());
        self.shared.stirred.notify_all();
    }
}

impl Resuming {
    /// Takes the next messages, some `bytes_max` of them, but all of a record, and none after the
    /// record `through`.
    pub fn take(
        &self,
        into: &mut Vec<Arc<Message>>,
        bytes_max: usize,
        through: Option<Sequence>,
    ) -> Taken {
        let mut outbox = self.resumer.outbox.lock();
        if outbox.failed {
            return Taken::Failed;
        }
        let was_roomy = outbox.has_room();
        let (mut bytes, mut last) = (0_usize, None);
        while let Some(next) = outbox.messages.front() {
            let is_full = bytes >= bytes_max && last.is_some_and(|last| last < next.sequence);
            if is_full || through.is_some_and(|through| next.sequence > through) {
                break;
            }
            last = Some(next.sequence);
            bytes = bytes.saturating_add(next.text.len());
            into.extend(outbox.messages.pop_front());
        }
        outbox.bytes = outbox.bytes.saturating_sub(bytes);
        outbox.taken = last.filter(|_| !outbox.messages.is_empty()).unwrap_or(outbox.position);
        if bytes == 0 {
            return Taken::All(outbox.position);
        }
        outbox.stalled = false;
        let has_room = outbox.has_room();
        drop(outbox);
        if has_room && !was_roomy {
            self.shared.stir();
        }
        Taken::Messages(bytes)
    }

    /// Nothing before this record is still to be taken.
    pub fn next(&self) -> Sequence {
        let outbox = self.resumer.outbox.lock();
        outbox.messages.front().map_or(outbox.position.next(), |first| first.sequence)
    }

    /// Everything up to this record was taken.
    pub fn taken(&self) -> Sequence {
        let outbox = self.resumer.outbox.lock();
        if outbox.messages.is_empty() { outbox.position } else { outbox.taken }
    }

    /// Has the replay go on from where it is, up to a record: the rings do not reach back to there.
    pub fn go_on(&self, from: Sequence, until: Sequence) {
        let mut outbox = self.resumer.outbox.lock();
        if outbox.until <= from {
            outbox.until = until;
            drop(outbox);
            self.shared.stir();
        }
    }
}

impl Drop for Resuming {
    fn drop(&mut self) {
        // Nobody waits for it any more.
        self.resumer.outbox.lock().stalled = true;
        let mut waiting = self.shared.waiting.lock();
        waiting.resumers.retain(|other| !Arc::ptr_eq(other, &self.resumer));
        drop(waiting);
        self.shared.stirred.notify_all();
    }
}

impl Shared {
    /// Says that somebody came or took something.
    fn stir(&self) {
        // One who has just looked is waiting by now.
        drop(self.waiting.lock());
        self.stirred.notify_all();
    }

    /// Waits until somebody comes or takes something, for so long at most.
    fn wait(&self, time: Duration, ready: impl Fn(&[Arc<Resumer>]) -> bool) {
        let mut waiting = self.waiting.lock();
        if !ready(&waiting.resumers) {
            self.stirred.wait_for(&mut waiting, time);
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/resume.rs"]
mod tests;
