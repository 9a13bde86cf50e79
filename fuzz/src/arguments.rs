//! The command line.

use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use charter_testkit::fuzz_targets::{FuzzTarget, TARGETS};

/// The forms of the command line.
pub(crate) const USAGE: &str = "\
usage: charter-fuzz [--seconds N] [--seed N] [--jobs N] [--failures DIR] [TARGET…]
       charter-fuzz repeat TARGET FILE";

/// The argument that makes this program a worker.
pub(crate) const WORK: &str = "work";

/// A command from the command line.
#[derive(Debug)]
pub(crate) enum Order {
    /// Fuzzes some targets.
    Fuzz(Plan),
    /// Runs one input and prints the outcome.
    Repeat(&'static FuzzTarget, PathBuf),
    /// Fuzzes one target in this process.
    Work(Work),
}

/// The targets to fuzz, with their settings.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) targets: Vec<&'static FuzzTarget>,
    /// Fuzzing time per target.
    pub(crate) time: Duration,
    pub(crate) seed: u64,
    /// Number of targets to fuzz concurrently.
    pub(crate) jobs: usize,
    /// Directory for inputs that are faults.
    pub(crate) failures: PathBuf,
}

/// The part of a plan for one process.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) target: &'static FuzzTarget,
    pub(crate) time: Duration,
    pub(crate) seed: u64,
    pub(crate) failures: PathBuf,
}

/// Parses the arguments after the program name.
///
/// # Errors
/// A message about the first invalid argument.
pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Order, String> {
    let mut words = Vec::new();
    let mut plan = Plan {
        targets: Vec::new(),
        time: Duration::from_secs(600),
        seed: 1,
        jobs: available_parallelism().map_or(1, usize::from),
        failures: PathBuf::from("failures"),
    };
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--seconds" => plan.time = Duration::from_secs(number(&value()?)?),
            "--seed" => plan.seed = number(&value()?)?,
            "--jobs" => {
                plan.jobs = usize::try_from(number(&value()?)?.max(1)).map_err(|e| e.to_string())?
            }
            "--failures" => plan.failures = PathBuf::from(value()?),
            option if option.starts_with('-') => {
                return Err(format!("there is no option `{option}`"));
            }
            _ => words.push(argument),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["repeat", target, file] => Ok(Order::Repeat(find_target(target)?, PathBuf::from(file))),
        [WORK, target] => Ok(Order::Work(Work {
            target: find_target(target)?,
            time: plan.time,
            seed: plan.seed,
            failures: plan.failures,
        })),
        [] => Ok(Order::Fuzz(Plan {
            targets: TARGETS.iter().collect(),
            ..plan
        })),
        names => {
            let targets = names.iter().map(|name| find_target(name));
            Ok(Order::Fuzz(Plan {
                targets: targets.collect::<Result<_, String>>()?,
                ..plan
            }))
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn find_target(name: &str) -> Result<&'static FuzzTarget, String> {
    FuzzTarget::find(name).ok_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!(
            "there is no target `{name}`; there are {}",
            names.join(", ")
        )
    })
}
