//! Openoutcry: a self-hosted prediction-market exchange.
//!
//! The map, in reading order; imports run from below to above and never back.

pub mod exchange;
#[cfg(feature = "server")]
pub mod flow;

#[cfg(feature = "server")]
pub mod cli;
