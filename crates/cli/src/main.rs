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
mod telemetry;
mod terminal;
mod text_file;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use commands::{Cli, extract, filter, keep, render};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    // The sandbox starts this program with one of these arguments.
    let confined: Option<fn(&Path) -> u8> = match first.to_str() {
        Some(filter::ARGUMENT) => Some(filter::run),
        Some(render::ARGUMENT) => Some(render::run),
        Some(extract::ARGUMENT) => Some(extract::run),
        _ => None,
    };
    if let Some(run) = confined {
        let file = arguments.next().unwrap_or_default();
        return ExitCode::from(run(file.as_ref()));
    }
    if first == keep::ARGUMENT {
        return ExitCode::from(keep::run());
    }
    charter_effects::allocator::set_up();
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
