//! Messages as they go out: printed once, shared by all who read them.

use bytes::Bytes;

use super::channel::Channel;
use crate::problem::Problem;
use exchange::ids::MarketNo;
use exchange::units::Sequence;

/// A message, as it is sent.
#[derive(Debug, Clone)]
pub struct Message {
    /// The record that it tells of, or the moment of the state that it shows.
    pub sequence: Sequence,
    /// Its place among all messages: those of a record have an order.
    pub order: u64,
    /// The market that it is of, if it is of one.
    pub market: Option<MarketNo>,
    /// One JSON object.
    pub text: Bytes,
}

/// What was handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// Bytes of their texts.
    pub bytes: usize,
    /// Whether there was no room for more that is ready.
    pub more: bool,
}

/// A connection that ends because it must not miss anything and reads too slowly: close code 4008.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slow {
    /// The last record of which everything was handed out: it can go on from there.
    pub sequence: Sequence,
}

/// A subscription that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscribed {
    /// The channel.
    pub channel: Channel,
    /// The record as of which it begins: its snapshot shows it, or what was asked to go on from.
    pub sequence: Sequence,
}

/// What came of asking for one channel.
pub type Asked = Result<Subscribed, Problem>;
