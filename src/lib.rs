//! Openoutcry: a self-hosted prediction-market exchange.
//!
//! The map, in reading order; imports run from below to above and never back.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("sequence numbers index tables: a 64-bit target is needed");

pub mod exchange;
pub mod journal;
pub mod projection;
#[cfg(feature = "server")]
pub mod engine;
#[cfg(feature = "server")]
pub mod api;
#[cfg(feature = "server")]
pub mod flow;
#[cfg(feature = "server")]
pub mod cli;
