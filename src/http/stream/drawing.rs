//! A snapshot of a book's orders, asked of the hub: only the exchange has them in their order, and
//! who asks for the same while it is drawn shares it (`draft.rs`).

use std::sync::Arc;
use std::task::Waker;

use parking_lot::Mutex;

use super::bell::Bell;
use super::message::Message;
use exchange::units::Sequence;

/// A snapshot that was asked for.
#[derive(Debug)]
pub struct Drawing {
    /// The record as of which it was asked for; it will show this one or a later one.
    pub since: Sequence,
    state: Arc<Mutex<State>>,
}

/// The record that a snapshot shows, and its messages.
pub type Drawn = (Sequence, Vec<Arc<Message>>);

/// It never comes: the engine has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeverDrawn;

#[derive(Debug, Default)]
enum State {
    #[default]
    Asked,
    Drawn(Drawn),
    Never,
}

/// Whoever is to be given it; told that it never comes if this is dropped before.
#[derive(Debug)]
pub struct Asker {
    state: Arc<Mutex<State>>,
    bell: Arc<Bell>,
}

impl Drawing {
    /// Asks for one, as of the record `since`.
    pub fn ask(since: Sequence, bell: &Arc<Bell>) -> (Drawing, Asker) {
        let state = Arc::default();
        let asker = Asker { state: Arc::clone(&state), bell: Arc::clone(bell) };
        (Drawing { since, state }, asker)
    }

    /// The snapshot, once.
    pub fn drawn(&self) -> Option<Result<Drawn, NeverDrawn>> {
        match std::mem::take(&mut *self.state.lock()) {
            State::Asked => None,
            State::Drawn(drawn) => Some(Ok(drawn)),
            State::Never => Some(Err(NeverDrawn)),
        }
    }
}

impl Asker {
    /// Gives it; returns whom to wake.
    pub fn give(&self, drawn: Drawn) -> Option<Waker> {
        *self.state.lock() = State::Drawn(drawn);
        self.bell.ring()
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if let State::Asked = *state {
            *state = State::Never;
            drop(state);
            engine::pending::wake(self.bell.ring());
        }
    }
}
