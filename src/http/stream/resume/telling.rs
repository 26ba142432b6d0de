//! What a replay tells those who catch up: the same facts as are told live, each printed once for
//! all who miss it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::Resumer;
use crate::stream::build::Facts;
use crate::stream::channel::Topic;
use crate::stream::message::Message;
use crate::stream::printing::message;
use crate::stream::topics::Topics;
use engine::Engine;
use engine::follower::Onlooker;
use exchange::command::Record;
use exchange::effect::Applied;
use exchange::results::Results;
use exchange::units::Sequence;
use views::ReadModel;

/// Those who catch up, as they are told by one step of the replay.
#[derive(Debug)]
pub(super) struct Telling<'a> {
    engine: &'a Engine,
    lines: Vec<Line>,
    /// Who listens to what.
    readers: FxHashMap<Topic, Vec<usize>>,
    topics: Topics,
    /// Nobody misses anything up to this record.
    floor: Sequence,
    facts: Facts,
}

/// One of them.
#[derive(Debug)]
struct Line {
    resumer: Arc<Resumer>,
    /// It was told everything up to this record.
    position: Sequence,
    /// Bytes that it may still be given.
    room: usize,
    told: Vec<Arc<Message>>,
}

impl<'a> Telling<'a> {
    /// Those whose place is at or after the record at which the replay stands.
    pub fn new(engine: &'a Engine, at: Sequence, ready: &[Arc<Resumer>]) -> Telling<'a> {
        let (mut lines, mut readers) = (Vec::new(), FxHashMap::<_, Vec<_>>::default());
        let mut topics = Topics::default();
        for resumer in ready {
            let outbox = resumer.outbox.lock();
            let position = outbox.position;
            let room = super::OUTBOX_BYTES_MAX.saturating_sub(outbox.bytes);
            drop(outbox);
            if position < at {
                continue;
            }
            for topic in &resumer.topics {
                topics.set(*topic, true);
                readers.entry(*topic).or_default().push(lines.len());
            }
            let resumer = Arc::clone(resumer);
            lines.push(Line { resumer, position, room, told: Vec::new() });
        }
        let floor = lines.iter().map(|line| line.position).min().unwrap_or_default();
        Telling { engine, lines, readers, topics, floor, facts: Facts::default() }
    }

    /// Gives everybody what the step told, which has come to this record; returns whom to wake, and
    /// those for whom there was not enough room.
    pub fn hand_over(self, at: Sequence) -> (Vec<Waker>, Vec<Arc<Resumer>>) {
        let (mut wakers, mut full) = (Vec::new(), Vec::new());
        for line in self.lines {
            let mut outbox = line.resumer.outbox.lock();
            if at > outbox.position {
                (outbox.position, outbox.since) = (at, Instant::now());
            }
            let bytes: usize = line.told.iter().map(|message| message.text.len()).sum();
            outbox.bytes = outbox.bytes.saturating_add(bytes);
            outbox.messages.extend(line.told);
            let (has_room, has_all) = (outbox.has_room(), outbox.position >= outbox.until);
            drop(outbox);
            // One that has come to the end reads on from the rings.
            if bytes > 0 || has_all {
                wakers.extend(line.resumer.bell.ring());
            }
            if !has_room {
                full.push(line.resumer);
            }
        }
        (wakers, full)
    }

    fn tell(&mut self) {
        self.facts.quotes.clear();
        for fact in std::mem::take(&mut self.facts.facts) {
            let (topic, sequence) = (fact.topic, fact.at.0);
            let every = match topic {
                Topic::Market(channel, _) => Some(Topic::EveryMarket(channel)),
                _ => None,
            };
            let readers = [Some(topic), every].into_iter().flatten();
            let readers = readers.filter_map(|topic| self.readers.get(&topic)).flatten();
            let mut readers = readers.filter(|reader| {
                let line = self.lines.get(**reader);
                line.is_some_and(|line| line.position < sequence)
            });
            let Some(first) = readers.next().copied() else { continue };
            let readers: Vec<usize> = std::iter::once(first).chain(readers.copied()).collect();
            let Some(message) = message(self.engine, fact, 0, false) else { continue };
            for reader in readers {
                if let Some(line) = self.lines.get_mut(reader) {
                    line.room = line.room.saturating_sub(message.text.len());
                    line.told.push(Arc::clone(&message));
                }
            }
        }
    }
}

impl Onlooker for Telling<'_> {
    fn see(&mut self, view: &ReadModel, record: &Record, applied: &Applied<'_>) -> ControlFlow<()> {
        if record.sequence <= self.floor {
            return ControlFlow::Continue(());
        }
        self.facts.see(&self.topics, view, record, applied);
        self.tell();
        // Whoever is full is not left behind at once.
        let full = self.lines.iter().any(|line| line.room == 0);
        if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn end_block(&mut self, view: &ReadModel, results: Results) {
        if view.watermark() > self.floor {
            self.facts.end_block(&self.topics, view, results);
            self.tell();
        }
    }
}
