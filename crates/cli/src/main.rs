//! The charter binary: the only place that reads configuration, environment and terminal, and
//! wires everything together.

mod boot;
mod client;
mod commands;
mod config;
mod evidence_key;
mod failure;
mod output;
mod seed_file;
mod terminal;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use commands::{Cli, extract, filter};

/// A thread of the runtime lives as long as the process. The kernel ends the children of a thread
/// with it (`crates/effects/src/sandbox/child.rs`), and a thread that waited for the disk is no
/// worker any more and would be given up when idle.
const THREADS_STAY: Duration = Duration::from_secs(u32::MAX as u64);

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    if first == filter::ARGUMENT || first == extract::ARGUMENT {
        let file = arguments.next().unwrap_or_default();
        return ExitCode::from(match first == filter::ARGUMENT {
            true => filter::run(file.as_ref()),
            false => extract::run(file.as_ref()),
        });
    }
    let cli = Cli::parse();
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        eprintln!("error: a TLS provider was installed before");
        return ExitCode::from(failure::EXIT_ERROR);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(THREADS_STAY)
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the asynchronous runtime did not start: {error}");
            return ExitCode::from(failure::EXIT_ERROR);
        }
    };
    match runtime.block_on(commands::run(cli)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => failure::report(&error),
    }
}
