//! The hub: prints each fact once and keeps the rings from which connections read.

use std::sync::Arc;

use super::listening::Listening;
use engine::Engine;
use engine::announcer::Announcer;

/// What all connections listen to.
#[derive(Debug, Default)]
pub struct Hub {}

impl Hub {
    /// The hub, and what tells it of everything: it goes into the engine's options.
    pub fn new() -> (Arc<Hub>, Option<Box<dyn Announcer>>) {
        (Arc::new(Hub::default()), None)
    }

    /// Begins to listen, to nothing at first.
    pub fn listen(self: &Arc<Self>, engine: &Engine) -> Listening {
        Listening { hub: Arc::clone(self), engine: engine.clone() }
    }
}
