//! `completions`: what a shell needs to complete the command line, and a package's manual pages.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::answer::{Answer, Failure};

/// For which shell.
#[derive(Args)]
pub struct Completions {
    /// The shell.
    #[arg(value_enum, required_unless_present = "manual")]
    shell: Option<Shell>,
    /// Write manual pages into this folder instead.
    #[arg(long, value_name = "DIR", hide = true)]
    manual: Option<PathBuf>,
}

/// Prints the completions of `command`, or writes its manual pages.
pub fn completions(asked: &Completions, mut command: Command) -> Result<Answer, Failure> {
    if let Some(folder) = &asked.manual {
        let written = clap_mangen::generate_to(command.clone(), folder);
        written.map_err(|error| Failure::writing(folder, error))?;
    }
    if let Some(shell) = asked.shell {
        let name = command.get_name().to_owned();
        // Into memory first: the generator panics where a reader has left.
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, name, &mut script);
        io::stdout().lock().write_all(&script)?;
    }
    Ok(Answer::Streamed)
}
