//! Repository checks and code generation: `cargo run -p xtask -- tidy` and `… -- codegen [--check]`.
//!
//! Reads files and runs `cargo`; imports no crate of the project, so that it builds in seconds
//! and still runs when they do not compile.

mod codegen;
mod finding;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::bail;

use codegen::Mode;
use finding::{Finding, FindingSeverity};
use workspace::Workspace;

/// What the command line accepts.
const USAGE: &str = "usage: cargo run -p xtask -- tidy | codegen [--check]";

/// Exit code of a check that found something.
const EXIT_FOUND: u8 = 1;

/// Exit code of a command that could not do its work.
const EXIT_ERROR: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(findings) => report(&findings),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(EXIT_ERROR)
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<Vec<Finding>> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tidy"] => tidy::run(&Workspace::read()?),
        ["codegen"] => codegen::run(&Workspace::read()?, Mode::Write),
        ["codegen", "--check"] => codegen::run(&Workspace::read()?, Mode::Check),
        _ => bail!(USAGE),
    }
}

fn report(findings: &[Finding]) -> ExitCode {
    for finding in findings {
        eprintln!("{finding}");
    }
    let of = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let (errors, warnings) = (of(FindingSeverity::Error), of(FindingSeverity::Warning));
    eprintln!("{errors} error(s), {warnings} warning(s)");
    if errors == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_FOUND)
    }
}
