//! The exchange: a pure state machine. A record goes in, effects come out, nothing else.
//!
//! Must not know: the clock, the disk, threads, randomness, floats, JSON, who is waiting.

pub mod catalogue;
pub mod command;
pub mod effect;
pub mod ids;
pub mod lifecycle;
pub mod reject;
pub mod rules;
pub mod script;
pub mod units;
