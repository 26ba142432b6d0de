//! The binary: calls the command line and sets the exit code.

use std::process::ExitCode;

use clap::Parser;
use openoutcry::cli::play::{self, PlayArgs};

/// A self-hosted prediction-market exchange.
#[derive(Parser)]
enum Arguments {
    /// Plays recorded order flow against a running server and compares what comes of it.
    Play(PlayArgs),
}

fn main() -> ExitCode {
    match Arguments::parse() {
        Arguments::Play(args) => play::run(&args),
    }
}
