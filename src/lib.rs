//! Openoutcry: a self-hosted prediction-market exchange. The map of the crate, in the order of one
//! command's way through:
//!
//! 1. `cli` starts the server, and runs the operator's commands.
//! 2. `api` reads an HTTP request, checks its form and key, and makes a `Command` of it.
//! 3. `engine` runs the threads. Its sequencer gives the command a sequence number and a time,
//!    which makes it a `Record`, and groups waiting records into a block.
//! 4. `journal` appends the block to disk and syncs it; only then may it be applied. At a start it
//!    reads the blocks back.
//! 5. `exchange` applies each record to the books and accounts and reports what happened as
//!    `Effect`s. It is a pure state machine: no clock, disk, thread or randomness.
//! 6. `projection` folds the effects into the read model, which `api` reads from; then `engine`
//!    answers the caller.
//!
//! `flow` is beside that way: it reads recorded order flow, which `cli` plays to a server. So is
//! `os`: what a process asks of the system when it begins.
//!
//! The modules below are listed by imports instead: each imports only modules above it, never one
//! below, and not all of those (`tests/house/rooms.rs` has the list).

#[cfg(not(target_pointer_width = "64"))]
compile_error!("sequence numbers index tables: a 64-bit target is needed");

pub mod os;
pub mod exchange;
#[cfg(feature = "server")]
pub mod flow;
pub mod journal;
pub mod projection;
#[cfg(feature = "server")]
pub mod engine;
#[cfg(feature = "server")]
pub mod api;
#[cfg(feature = "server")]
pub mod cli;
