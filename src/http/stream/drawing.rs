//! Drawing: a book's orders as the exchange has them, copied between two blocks. The read model
//! does not have them in their order.

use std::sync::Arc;

use parking_lot::Mutex;

use super::bell::Bell;
use super::build::{Fact, Told};
use super::channel::{Channel, Topic};
use super::snapshot;
use crate::problem::Problem;
use engine::Engine;
use engine::matcher::Trying;
use engine::pending::wake;
use exchange::units::Sequence;

/// A snapshot that was asked for.
#[derive(Debug)]
pub struct Drawing {
    /// The record as of which it was asked for; it will show this one or a later one.
    pub since: Sequence,
    drawn: Arc<Mutex<State>>,
}

/// The snapshot, and the record that it shows.
type Drawn = (Sequence, Vec<Fact>);

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

impl Drawing {
    /// The snapshot, once.
    pub fn drawn(&self) -> Option<Result<Drawn, NeverDrawn>> {
        match std::mem::take(&mut *self.drawn.lock()) {
            State::Asked => None,
            State::Drawn(drawn) => Some(Ok(drawn)),
            State::Never => Some(Err(NeverDrawn)),
        }
    }
}

/// What the matcher's thread was given: says so if it is dropped undone.
struct Asked {
    drawn: Arc<Mutex<State>>,
    bell: Arc<Bell>,
}

impl Asked {
    fn draw(self, trying: &Trying<'_>, topic: Topic, channel: Channel) {
        let view = trying.read();
        let at = (view.watermark(), view.time());
        let books = snapshot::books(&view, topic).into_iter().map(|(topic, channel, previous)| {
            let body = snapshot::orders(trying.exchange, topic);
            Fact { topic, channel, at, previous, told: Told::Body(body) }
        });
        let mut facts = snapshot::of(&view, (topic, channel), at.1);
        facts.extend(books);
        *self.drawn.lock() = State::Drawn((at.0, facts));
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut state = self.drawn.lock();
        if let State::Asked = *state {
            *state = State::Never;
        }
        drop(state);
        wake(self.bell.ring());
    }
}

/// Asks for the orders of a topic that is listened to since the record `since`.
///
/// # Errors
/// As many ask as may at once, or the engine takes no commands.
pub fn draw(
    engine: &Engine,
    bell: &Arc<Bell>,
    topic: Topic,
    channel: Channel,
    since: Sequence,
) -> Result<Drawing, Problem> {
    let drawn = Arc::new(Mutex::new(State::Asked));
    let asked = Asked { drawn: Arc::clone(&drawn), bell: Arc::clone(bell) };
    engine.try_out(move |trying| asked.draw(trying, topic, channel))?;
    Ok(Drawing { since, drawn })
}
