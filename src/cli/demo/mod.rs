//! The demo: a venue with a catalogue, users and living books, made on the spot.
//!
//! Must not know: any rule of trade; HTTP beyond the lines it prints.

pub mod texts;
pub mod people;
pub mod seed;
pub mod books;
pub mod bets;
pub mod quotes;
pub mod pipeline;
pub mod banner;

use std::net::SocketAddr;

use crate::engine::pending::Refusal;
use crate::exchange::reject::Reject;
use crate::exchange::units::Sequence;
use crate::flow::{AccountIndex, FlowError, OrderRef};

use texts::CatalogueError;

/// Why the demo could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// The data directory holds a venue that the demo did not make.
    #[error("this data directory holds a venue that is not a demo; give the demo its own")]
    NotADemo,
    /// The embedded catalogue is wrong.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The embedded recording is wrong.
    #[error("the demo's recorded flow cannot be read: {0}")]
    Flow(#[from] FlowError),
    /// A command was refused that never should be.
    #[error("record {} was refused: {reject}", sequence.get())]
    Refused {
        /// The command's record.
        sequence: Sequence,
        /// Why.
        reject: Reject,
    },
    /// Something was created and is not there.
    #[error("the demo's {0} was created and cannot be found")]
    Vanished(String),
    /// The catalogue asks for a flow that was not recorded.
    #[error("the recorded flow has no market {0:?}")]
    NoSuchFlow(String),
    /// The recorded flow has an account without a user.
    #[error("account {} of the recorded flow has no user", .0.0)]
    NoSuchAccount(AccountIndex),
    /// The recorded flow cancels an order that was not placed.
    #[error("order {} of the recorded flow was never accepted", .0.0)]
    NoSuchOrder(OrderRef),
    /// The engine takes no commands.
    #[error("the engine takes no commands: {0}")]
    Engine(Refusal),
    /// The engine went away with commands unanswered.
    #[error("the engine stopped before it answered")]
    Stopped,
}

/// The demo was asked to listen where others could reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the demo's keys are public, so it listens on the loopback only, not on {0}")]
pub struct NotLoopback(pub SocketAddr);

/// Refuses an address that is not this machine's own.
///
/// # Errors
/// The address is not a loopback address.
pub fn loopback_only(address: SocketAddr) -> Result<(), NotLoopback> {
    if address.ip().to_canonical().is_loopback() { Ok(()) } else { Err(NotLoopback(address)) }
}

/// A venue without a disk as a start leaves it before the demo comes, for the tests of this room.
#[cfg(test)]
async fn venue() -> crate::engine::Engine {
    let journal = crate::journal::memory::MemoryJournal::new();
    let engine = crate::engine::start::start(journal).unwrap().engine();
    super::bootstrap::bootstrap(&engine, None, |_| Ok(())).await.unwrap();
    engine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_will_do() {
        for own in ["127.0.0.1:80", "127.1.2.3:0", "[::1]:8080", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(loopback_only(own.parse().unwrap()), Ok(()), "{own}");
        }
        for open in ["0.0.0.0:80", "10.0.0.1:80", "[::]:80", "[::ffff:10.0.0.1]:1"] {
            let open = open.parse().unwrap();
            assert_eq!(loopback_only(open), Err(NotLoopback(open)));
        }
    }
}
