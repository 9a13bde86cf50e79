//! `charter completions`

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::Cli;
use crate::failure::EXIT_OK;
use crate::output;

/// Write a completion script for a shell.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(command: &Completions) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    generate(command.shell, &mut Cli::command(), "charter", &mut script);
    output::write(&script)?;
    Ok(EXIT_OK)
}
