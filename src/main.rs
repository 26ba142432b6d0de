//! The binary: calls the command line and sets the exit code.

fn main() {}
