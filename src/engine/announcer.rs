//! Whoever tells listeners what happens, on the matcher's thread, while they can still be told
//! exactly: between one record and the next.

use exchange::command::Record;
use exchange::effect::Applied;
use exchange::results::Results;
use exchange::units::Sequence;
use views::ReadModel;

/// Tells what happens. It runs under the read model's write lock and delays every command: it must
/// only copy what is needed, and never wait.
pub trait Announcer: Send + Sync + std::fmt::Debug {
    /// Whether anybody listens, asked once a block under the lock: whoever begins to listen under
    /// the lock for reading misses nothing.
    fn wanted(&self) -> bool;

    /// A record was folded, and the next one was not.
    fn see(&self, view: &ReadModel, record: &Record, applied: &Applied<'_>);

    /// A block was folded, up to whose end these are the results.
    fn end_block(&self, view: &ReadModel, results: Results);

    /// What was seen up to this record is about to be published, and its callers answered.
    fn publish(&self, through: Sequence);
}
