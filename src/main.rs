//! The binary: calls the command line and sets the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    openoutcry::cli::run()
}
