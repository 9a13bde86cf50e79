//! `charter man`

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};

use super::Cli;
use crate::failure::EXIT_OK;

/// Write a manual page for every command.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory, e.g. /usr/local/share/man/man1.
    dir: PathBuf,
}

pub(crate) fn run(command: &Man) -> anyhow::Result<u8> {
    let dir = &command.dir;
    std::fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    clap_mangen::generate_to(Cli::command(), dir)
        .with_context(|| format!("writing manual pages to {}", dir.display()))?;
    Ok(EXIT_OK)
}
