//! The binary: calls the command line and sets the exit code. The crates beside it, in the order of
//! one command's way through:
//!
//! 1. `cli` starts the server, and runs the operator's commands.
//! 2. `http` reads a request, checks its form and key, and makes a `Command` of it.
//! 3. `engine` runs the threads. Its sequencer gives the command a sequence number and a time,
//!    which makes it a `Record`, and groups waiting records into a block.
//! 4. `journal` appends the block to disk and syncs it; only then may it be applied. At a start it
//!    reads the blocks back.
//! 5. `exchange` applies each record to the books and accounts and reports what happened as
//!    `Effect`s. It is a pure state machine: no clock, disk, thread or randomness.
//! 6. `views` folds the effects into the read model, which `http` reads from; then `engine` answers
//!    the caller.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
