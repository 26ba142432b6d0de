//! The signals that a server knows.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Failure;
use super::output;

/// Signals whose default would end the process, and which people and tools send by habit.
const IGNORED: [SignalKind; 3] =
    [SignalKind::user_defined1(), SignalKind::user_defined2(), SignalKind::alarm()];

/// The signals that end the server.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    hangup: Signal,
    at_terminal: bool,
}

impl Signals {
    /// Takes the signals over.
    ///
    /// # Errors
    /// The system refuses that.
    pub(crate) fn listen() -> Result<Signals, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::Failed(format!("no signals: {error}")));
        for kind in IGNORED {
            // Once listened to, a signal never gets its default back.
            drop(listen(kind)?);
        }
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            quit: listen(SignalKind::quit())?,
            hangup: listen(SignalKind::hangup())?,
            at_terminal: output::has_terminal(),
        })
    }

    /// Waits for the first that ends the server. A hangup does where there is a terminal, which
    /// was closed; elsewhere it has the settings read again.
    pub(crate) async fn first(&mut self, reload: &mut impl FnMut()) {
        let name = loop {
            tokio::select! {
                _ = self.terminate.recv() => break "SIGTERM",
                _ = self.interrupt.recv() => break "SIGINT",
                _ = self.quit.recv() => break "SIGQUIT",
                _ = self.hangup.recv() => {
                    if self.at_terminal {
                        break "SIGHUP";
                    }
                    reload();
                }
            }
        };
        tracing::info!(signal = name, "stopping");
    }
}
