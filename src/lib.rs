//! Openoutcry: a self-hosted prediction-market exchange.
//!
//! The map, in reading order; imports run from below to above and never back.

#[cfg(feature = "server")]
pub mod cli;
pub mod exchange;
