//! Commands of a worker's turn leave together: whoever answers a connection finds its next request
//! there already if it is pipelined. Sent one by one, the first would have the sequencer commit it
//! alone, while all others wait for that commit.

use std::cell::RefCell;
use std::sync::Arc;
use std::task::Waker;

use engine::Engine;
use engine::pending::Caller;
use exchange::command::KeyedCommand;

/// So many commands leave at once, whoever has still to be looked at.
const WAITING_MAX: usize = 32;

thread_local! {
    static OUTBOX: RefCell<Outbox> = const { RefCell::new(Outbox::NONE) };
}

struct Outbox {
    /// Wakes what empties it; `None` on threads where nothing does.
    emptied_by: Option<Waker>,
    waiting: Vec<(Engine, Vec<KeyedCommand>, Arc<dyn Caller>)>,
    commands: usize,
}

impl Outbox {
    const NONE: Outbox = Outbox { emptied_by: None, waiting: Vec::new(), commands: 0 };
}

/// Submits commands with others of this worker's turn, in the order in which it was asked.
pub fn submit(engine: &Engine, commands: Vec<KeyedCommand>, caller: Arc<dyn Caller>) {
    let is_full = OUTBOX.with_borrow_mut(|outbox| {
        outbox.commands = outbox.commands.saturating_add(commands.len());
        if outbox.waiting.is_empty()
            && let Some(waker) = &outbox.emptied_by
        {
            // It comes after those who have their turn already.
            waker.wake_by_ref();
        }
        outbox.waiting.push((engine.clone(), commands, caller));
        outbox.emptied_by.is_none() || outbox.commands >= WAITING_MAX
    });
    if is_full {
        empty();
    }
}

/// Says who empties the outbox of this thread.
pub fn emptied_by(waker: &Waker) {
    OUTBOX.with_borrow_mut(|outbox| match &mut outbox.emptied_by {
        Some(known) => known.clone_from(waker),
        none => *none = Some(waker.clone()),
    });
}

/// Submits what waits.
pub fn empty() {
    let waiting = OUTBOX.with_borrow_mut(|outbox| {
        outbox.commands = 0;
        std::mem::take(&mut outbox.waiting)
    });
    for (engine, commands, caller) in waiting {
        engine.submit(commands, caller);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/outbox.rs"]
mod tests;
