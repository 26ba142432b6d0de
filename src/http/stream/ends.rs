//! What ends connections: a stop of the server, and keys that are not good any more.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::venue::Venue;
use exchange::units::Sequence;

/// How often keys are looked at: their connections end within a second.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What has happened by now that may end connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends {
    /// Whether the server stops.
    pub stopping: bool,
    /// The last record that added or revoked any key.
    pub keys: Sequence,
}

/// Tells all connections of it.
#[derive(Debug, Default)]
pub struct Teller(watch::Sender<Ends>);

impl Teller {
    /// A connection's ear.
    pub fn listen(&self) -> watch::Receiver<Ends> {
        self.0.subscribe()
    }

    /// Tells that the server stops.
    pub fn stop(&self) {
        self.0.send_modify(|ends| ends.stopping = true);
    }

    /// Looks at keys for as long as the server runs; never ends.
    pub async fn follow_keys(&self, venue: &Venue) {
        loop {
            sleep(LOOK_EVERY).await;
            if let Ok(engine) = venue.engine() {
                let (_, keys) = engine.watermark_and_keys();
                self.0.send_if_modified(|ends| std::mem::replace(&mut ends.keys, keys) != keys);
            }
        }
    }
}
