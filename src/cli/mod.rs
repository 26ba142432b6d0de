//! The command line: what the binary can be asked to do.
//!
//! Must not know: any rule of trade.

pub mod demo;
