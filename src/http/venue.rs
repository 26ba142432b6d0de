//! The venue as the door sees it: opening, or open with an engine.

use std::sync::{Arc, OnceLock};

use super::past::{ASKERS_MAX, Questions};
use super::problem::Problem;
use engine::Engine;
use engine::meter::{Meter, ReplayProgress};
use exchange::units::Sequence;

/// A venue that may still be opening. Clones share it.
#[derive(Debug, Clone)]
pub struct Venue {
    meter: Arc<Meter>,
    engine: Arc<OnceLock<Engine>>,
    questions: Arc<Questions>,
}

impl Venue {
    /// A venue whose engine is being started; `meter` reports its progress.
    pub fn opening(meter: Arc<Meter>) -> Venue {
        let questions = Arc::new(Questions::at_once(ASKERS_MAX));
        Venue { meter, engine: Arc::default(), questions }
    }

    /// Opens the venue to requests. It opens once; a second engine is ignored and logged.
    pub fn open(&self, engine: Engine) {
        if self.engine.set(engine).is_err() {
            tracing::error!("a venue cannot open twice");
        }
    }

    /// The engine; [`Problem::starting`] before the venue is open.
    pub fn engine(&self) -> Result<&Engine, Problem> {
        self.engine.get().ok_or_else(|| Problem::starting(self.progress()))
    }

    /// The slots for questions about the past.
    pub const fn questions(&self) -> &Arc<Questions> {
        &self.questions
    }

    /// The meter of the engine's threads.
    pub const fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Progress of the replay.
    pub fn progress(&self) -> ReplayProgress {
        self.meter.replay_progress()
    }

    /// The last record visible to readers.
    pub fn sequence(&self) -> Sequence {
        let open = self.engine.get();
        open.map_or_else(|| self.progress().applied, Engine::watermark)
    }
}

impl From<Engine> for Venue {
    fn from(engine: Engine) -> Venue {
        let venue = Venue::opening(Arc::clone(engine.meter()));
        venue.open(engine);
        venue
    }
}
