//! How channels begin: with snapshots, of a few channels or of some books at a time, the next once
//! the reader has taken those before, so that nobody waits long for the read model, and what waits
//! for a reader is bounded.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::announcing::Task;
use super::drawing::Drawing;
use super::listening::{Listening, before};
use super::message::Slow;
use super::printing::message;
use super::ring::Cursor;
use super::subscription::{Begins, Subscription, has_all_books, is_of_orders};
use exchange::units::Sequence;

/// Snapshots that are made while others wait for the read model.
pub(super) const SNAPSHOTS_A_HOLD: usize = 16;

impl Listening {
    /// Has the snapshots made that are owed next, once those before them were taken: so many while
    /// others wait for the lock, or one that is drawn or comes in parts. What waits here for the
    /// reader is no more.
    pub(super) fn make_snapshots(&mut self) -> Result<(), Slow> {
        let is_busy = |of: &Subscription| {
            // What comes from the journal is of earlier records.
            !of.first.is_empty() || of.is_drawn() || of.resuming.is_some()
        };
        let owed = |of: &Subscription| of.begins.is_some();
        if !self.subscriptions.iter().any(owed) || self.subscriptions.iter().any(is_busy) {
            return Ok(());
        }
        let engine = self.engine.clone();
        let view = engine.read();
        let now = view.watermark();
        let (mut made, head) = (Vec::new(), self.head);
        let next = self.subscriptions.iter_mut().enumerate().filter(|(_, of)| owed(of));
        for (place, of) in next.take(SNAPSHOTS_A_HOLD) {
            let is_alone = is_of_orders(of.topic) || has_all_books(of.topic);
            if is_alone && !made.is_empty() {
                break;
            }
            if is_of_orders(of.topic) {
                let (drawing, asker) = Drawing::ask(now, &self.bell);
                of.cursor = Cursor { next: of.ring.end(), after: now };
                of.begins = Some(Begins::Drawing(drawing));
                let task = Task::Draw(of.topic, of.channel, asker);
                drop(view);
                self.tasks.send(task).unwrap_or_default();
                return Ok(());
            }
            let begun = of.begin(&view, engine.now());
            let (facts, conflated) = begun.map_err(|_| Slow { sequence: head })?;
            made.push((place, conflated, facts));
            if is_alone {
                break;
            }
        }
        drop(view);
        // The quotes that these snapshots show may not be those told last.
        self.hub.shared.begun.store(true, Ordering::SeqCst);
        for (place, conflated, facts) in made {
            let messages = facts.into_iter();
            let messages = messages.filter_map(|fact| message(&engine, fact, u64::MAX, conflated));
            if let Some(of) = self.subscriptions.get_mut(place) {
                of.first.extend(messages);
                of.look_for_end();
            }
        }
        self.reach(now);
        Ok(())
    }

    /// Takes the orders that were drawn, and returns how far messages can be handed out: nothing
    /// later than what is still to be drawn may come before it.
    pub(super) fn take_drawn(&mut self, complete: Sequence) -> Result<Sequence, Slow> {
        let mut through = complete;
        for of in &mut self.subscriptions {
            let Some(Begins::Drawing(drawing)) = &of.begins else { continue };
            match drawing.drawn() {
                None => through = through.min(before(drawing.since)),
                Some(Err(_)) => return Err(Slow { sequence: self.head }),
                Some(Ok((at, messages))) => {
                    (of.begins, of.cursor.after) = (None, at);
                    of.first.extend(messages);
                    // A hub that has ended is noticed when messages are asked for.
                    let task = Task::Reached(at, Arc::clone(&self.bell));
                    self.tasks.send(task).unwrap_or_default();
                }
            }
        }
        Ok(through)
    }
}
