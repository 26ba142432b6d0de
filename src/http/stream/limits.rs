//! The limits of the stream.

use std::time::Duration;

/// Connections of one user.
pub const CONNECTIONS_MAX: u32 = 32;
/// Bytes of a client's message.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Control messages of a connection in a second.
pub const CONTROLS_PER_SECOND: u32 = 100;
/// Commands of a connection that are not answered; beyond them it is not read.
pub const IN_FLIGHT_MAX: usize = 256;
/// Bytes that wait for a reader before nothing more is read from it or printed for it.
pub const UNSENT_BYTES_MAX: usize = 64 * 1024;
/// Bytes that a reader who is behind takes, in the time that a write may wait, unless it is stuck.
pub const STEADY_BYTES: u64 = 4 * 1024;
/// How often a connection is told that it has everything.
pub const HEARTBEAT_EVERY: Duration = Duration::from_secs(5);
/// How long a connection may be open before it sends a key.
pub const KEY_WAIT: Duration = Duration::from_secs(5);
/// How long the other side's word of its end is waited for.
pub const CLOSE_WAIT: Duration = Duration::from_secs(2);
