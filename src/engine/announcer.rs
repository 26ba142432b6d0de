//! Whoever tells listeners what happens, on the matcher's thread, while they can still be told
//! exactly: between one record and the next.

use exchange::command::Record;
use exchange::effect::Applied;
use exchange::results::ResultsHash;
use exchange::units::Sequence;
use views::ReadModel;

/// Tells what happens. All but [`Announcer::wanted`] run under the read model's write lock and
/// delay every command: they must only copy what is needed, and never wait.
pub trait Announcer: Send + std::fmt::Debug {
    /// Whether anybody listens, asked once a block under the lock: whoever begins to listen under
    /// the lock for reading misses nothing.
    fn wanted(&self) -> bool;

    /// A record was folded, and the next one was not.
    fn see(&mut self, view: &ReadModel, record: &Record, applied: &Applied<'_>);

    /// A block was folded: the last record of it, and the hash of the results up to it.
    fn end_block(&mut self, view: &ReadModel, through: Sequence, results: ResultsHash);

    /// What was seen is about to be published, and its callers answered.
    fn publish(&mut self);
}
