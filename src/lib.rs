//! Openoutcry: a self-hosted prediction-market exchange.
//!
//! The map, in reading order; imports run from below to above and never back.

pub mod exchange;
pub mod projection;
