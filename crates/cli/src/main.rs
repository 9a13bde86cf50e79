//! The charter binary: the only place that reads configuration, environment and terminal, and that connects the other
//! crates.

// Printing macros panic when a reader has gone: `output` and `messages` write instead.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod boot;
mod client;
mod commands;
mod config;
mod evidence_key;
mod failure;
mod local_time;
mod messages;
mod output;
mod platform;
mod sandbox_process;
mod screen;
mod secrets;
mod seed_file;
mod telemetry;
mod terminal;
mod text_file;
mod usage;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use commands::Cli;
use messages::Form;
use sandbox_process::{extract, filter, keep, render};

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
    messages::set_form(Form::asked(std::env::args_os().skip(1)));
    failure::report_panics();
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(usage::report(&error)),
    };
    let ran = catch_unwind(AssertUnwindSafe(|| run(cli)));
    // The panic hook has already reported a panic.
    ExitCode::from(ran.unwrap_or(failure::EXIT_ERROR))
}

/// Runs a command to its end, reports its failure, and returns the exit code.
fn run(cli: Cli) -> u8 {
    let runtime = match start() {
        Ok(runtime) => runtime,
        Err(error) => return failure::report(&error),
    };
    match runtime.block_on(commands::run(cli)) {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}

fn start() -> anyhow::Result<tokio::runtime::Runtime> {
    let provider = rustls::crypto::ring::default_provider();
    if provider.install_default().is_err() {
        anyhow::bail!("a TLS provider is already installed");
    }
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().build();
    runtime.context("starting the asynchronous runtime")
}
