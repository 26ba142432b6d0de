//! Bounds the commands waiting in the intake: a batch is one element of the queue but counts as
//! many commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::INTAKE_MAX;

/// Reserved capacity beyond what the queue's own length counts.
#[derive(Debug, Default)]
pub struct IntakeQuota(Arc<AtomicUsize>);

/// Capacity for a batch of commands, released on drop.
#[derive(Debug)]
pub struct Reservation {
    reserved: Arc<AtomicUsize>,
    commands: usize,
}

impl IntakeQuota {
    /// Reserves capacity for up to `commands` commands, fewer if less is left beside `queued`
    /// elements.
    pub fn take(&self, commands: usize, queued: usize) -> Reservation {
        let left =
            |taken: usize| commands.min(INTAKE_MAX.saturating_sub(queued).saturating_sub(taken));
        let more = |taken: usize| Some(taken.saturating_add(beyond_one(left(taken))));
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        let commands = left(taken.unwrap_or_else(|taken| taken));
        Reservation { reserved: Arc::clone(&self.0), commands }
    }

    /// Waiting commands that the queue's length does not count.
    pub fn taken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Reservation {
    /// How many commands it covers.
    pub const fn commands(&self) -> usize {
        self.commands
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.reserved.fetch_sub(beyond_one(self.commands), Ordering::Relaxed);
    }
}

/// The queue's length counts one of them.
const fn beyond_one(commands: usize) -> usize {
    commands.saturating_sub(1)
}

#[cfg(test)]
#[path = "../../tests/unit/engine/intake_quota.rs"]
mod tests;
