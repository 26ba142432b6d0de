//! Room in the intake for commands that come together: one thing in its queue, which counts as
//! many.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::INTAKE_MAX;

/// How much room is taken by more than the queue itself counts.
#[derive(Debug, Default)]
pub struct IntakeQuota(Arc<AtomicUsize>);

/// Room for some commands, given back when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    room: Arc<AtomicUsize>,
    commands: usize,
}

impl IntakeQuota {
    /// Takes room for as many of so many commands as there is beside what is queued.
    pub fn take(&self, commands: usize, queued: usize) -> Reservation {
        let left =
            |taken: usize| commands.min(INTAKE_MAX.saturating_sub(queued).saturating_sub(taken));
        let more = |taken: usize| Some(taken.saturating_add(beyond_one(left(taken))));
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        let commands = left(taken.unwrap_or_else(|taken| taken));
        Reservation { room: Arc::clone(&self.0), commands }
    }

    /// Commands that wait and that the queue does not count.
    pub fn taken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Reservation {
    /// For how many commands it is.
    pub const fn commands(&self) -> usize {
        self.commands
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.room.fetch_sub(beyond_one(self.commands), Ordering::Relaxed);
    }
}

/// The one is counted by the queue.
const fn beyond_one(commands: usize) -> usize {
    commands.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_room_is_taken_than_there_is() {
        let room = IntakeQuota::default();
        let first = room.take(100, INTAKE_MAX - 150);
        assert_eq!((first.commands(), room.taken()), (100, 99));
        let second = room.take(100, INTAKE_MAX - 149);
        assert_eq!((second.commands(), room.taken()), (50, 148));
        let none = room.take(100, INTAKE_MAX - 148);
        assert_eq!((none.commands(), room.taken()), (0, 148));
        drop((first, none));
        let third = room.take(7, 0);
        assert_eq!((third.commands(), room.taken()), (7, 55));
        drop((second, third));
        assert_eq!(room.taken(), 0);
    }
}
