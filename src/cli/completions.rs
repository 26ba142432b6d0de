//! `openoutcry completions`: what a shell needs to complete the command line, and a package's
//! manual pages.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::{Failure, output};

const DETAILS: &str = "\
Examples:
  openoutcry completions bash > ~/.local/share/bash-completion/completions/openoutcry
  openoutcry completions zsh > ~/.zfunc/_openoutcry      (with ~/.zfunc in fpath)
  openoutcry completions fish > ~/.config/fish/completions/openoutcry.fish";

/// For which shell.
#[derive(Debug, Args)]
#[command(after_help = DETAILS)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, required_unless_present = "manual")]
    shell: Option<Shell>,
    /// Write manual pages into this folder instead
    #[arg(long, value_name = "DIR", hide = true)]
    manual: Option<PathBuf>,
}

/// Prints the completions of `command` to stdout, or writes its manual pages.
///
/// # Errors
/// Stdout or the folder does not take them.
pub(crate) fn run(args: &CompletionsArgs, mut command: clap::Command) -> Result<(), Failure> {
    if let Some(folder) = &args.manual {
        let failed = |error| Failure::Failed(format!("{}: {error}", folder.display()));
        clap_mangen::generate_to(command.clone(), folder).map_err(failed)?;
    }
    let Some(shell) = args.shell else { return Ok(()) };
    let name = command.get_name().to_owned();
    // Write to memory first: the generator panics if its writer fails, as a closed pipe does.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    output::print(&String::from_utf8_lossy(&script))
        .map_err(|error| Failure::Failed(format!("stdout: {error}")))
}
