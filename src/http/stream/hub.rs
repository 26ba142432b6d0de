//! The hub: keeps the rings from which connections read, and starts the thread that fills them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::Builder;

use crossbeam_channel::{Sender, bounded};
use parking_lot::Mutex;

use super::announcing::{Announcing, Task};
use super::listening::Listening;
use super::resume::Resumers;
use super::rings::Shared;
use super::turn::Turns;
use crate::problem::Problem;
use engine::Engine;

/// Tasks that may wait for the hub, beside the bound of their facts.
const TASKS_MAX: usize = 1 << 12;

/// What all connections listen to. Its thread runs once anybody listens.
#[derive(Debug, Default)]
pub struct Hub {
    pub(super) shared: Arc<Shared>,
    /// Those who come back after long.
    pub(super) resumers: Resumers,
    tasks: Mutex<Option<Sender<Task>>>,
}

impl Hub {
    /// Begins to listen, to nothing at first.
    ///
    /// # Errors
    /// The hub cannot run.
    pub fn listen(self: &Arc<Self>, engine: &Engine) -> Result<Listening, Problem> {
        let tasks = self.start(engine)?;
        Ok(Listening::new(Arc::clone(self), tasks, engine.clone()))
    }

    /// Bytes of messages kept for readers.
    pub fn held_bytes(&self) -> u64 {
        self.shared.with_rings(|rings| {
            let held = rings.values().map(|ring| ring.lock().held());
            held.fold(0, u64::saturating_add)
        })
    }

    pub(super) fn start(&self, engine: &Engine) -> Result<Sender<Task>, Problem> {
        let mut running = self.tasks.lock();
        if self.shared.ended.load(Ordering::SeqCst) {
            return Err(Problem::internal("the hub of the stream has ended"));
        }
        if let Some(tasks) = &*running {
            return Ok(tasks.clone());
        }
        let (tasks, received) = bounded(TASKS_MAX);
        let announcing = Announcing {
            shared: Arc::clone(&self.shared),
            tasks: tasks.clone(),
            facts: Mutex::default(),
        };
        if !engine.announce(Arc::new(announcing)) {
            return Err(Problem::internal("the engine announces to somebody else"));
        }
        let both = (tasks.clone(), received);
        let turns = Turns::new(Arc::clone(&self.shared), both, engine.clone());
        let spawned = Builder::new().name("hub".to_owned()).spawn(move || turns.run());
        spawned.map_err(|_| Problem::internal("no thread for the hub of the stream"))?;
        *running = Some(tasks.clone());
        Ok(tasks)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(tasks) = self.tasks.lock().take() {
            // Only a thread that has ended does not take it.
            tasks.send(Task::End).unwrap_or_default();
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/hub.rs"]
mod tests;
