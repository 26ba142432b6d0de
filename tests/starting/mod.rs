//! The command that starts a server for a test.

#![allow(dead_code, reason = "each test uses a part")]

use std::path::Path;
use std::process::Command;

/// `openoutcry serve` on a data directory, which may be new, and a free port.
pub fn serve(data: &Path) -> Command {
    let mut command = plain();
    command.args(["--init", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    command
}

/// `openoutcry serve` and nothing else.
pub fn plain() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_openoutcry"));
    command.arg("serve");
    without_settings(&mut command);
    command
}

/// Keeps the variables of a test run from a server, which refuses those that it does not know.
pub fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OPENOUTCRY_") {
            command.env_remove(name);
        }
    }
}
