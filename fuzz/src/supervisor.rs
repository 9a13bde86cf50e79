//! Fuzzes each target in its own process, several concurrently. A process that ends early is restarted with the next
//! seed; the input that ended it is a fault, unless the product confines the target.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use charter_testkit::fuzz_targets::{FuzzTarget, Process};

use crate::arguments::{Plan, WORK};
use crate::faults;
use crate::report::Tally;
use crate::worker::{ENDLESS, last_input};

/// Number of processes that inputs may end before the target is abandoned.
const MOST_ENDED: u64 = 50;

/// Fuzzes the targets of a plan, and returns the results in their order.
///
/// # Errors
/// If the directory of failures cannot be created, or a process cannot be started.
pub(crate) fn fuzz(plan: &Plan) -> io::Result<Vec<Tally>> {
    fs::create_dir_all(&plan.failures)?;
    let left = Mutex::new(plan.targets.iter().enumerate());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let fuzzing = || {
            loop {
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((at, target)) = next else { return };
                let tally = fuzz_one(plan, target);
                eprintln!("{} is done", target.name);
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                done.push((at, tally));
            }
        };
        for _ in 0..plan.jobs {
            scope.spawn(fuzzing);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, tally)| tally).collect()
}

fn fuzz_one(plan: &Plan, target: &FuzzTarget) -> io::Result<Tally> {
    let end = Instant::now() + plan.time;
    let mut tally = Tally::of(target.name);
    let mut seed = plan.seed;
    let mut crashes = 0;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left < Duration::from_secs(1) || crashes > MOST_ENDED {
            return Ok(tally);
        }
        let (line, status) = worked(plan, target, left, seed)?;
        tally.add_line(&line);
        if status.success() {
            return Ok(tally);
        }
        match target.process {
            Process::Confined => tally.ended += 1,
            Process::Server => {
                crashes += 1;
                tally.faults += 1;
                let input = last_input(&faults::current(&plan.failures, target))?;
                let fault = ended_by(status);
                let file = faults::keep(&plan.failures, target, seed, &input, &fault)?;
                eprintln!("{}: {fault}: {}", target.name, file.display());
            }
        }
        seed += 1;
    }
}

/// Runs a worker to its end, and returns its last line and its exit status.
fn worked(
    plan: &Plan,
    target: &FuzzTarget,
    time: Duration,
    seed: u64,
) -> io::Result<(String, ExitStatus)> {
    let mut worker = Command::new(std::env::current_exe()?)
        .args([WORK, target.name, "--seconds", &time.as_secs().to_string()])
        .args(["--seed", &seed.to_string(), "--failures"])
        .arg(&plan.failures)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = worker.stdout.take().map(BufReader::new);
    let lines = output.into_iter().flat_map(BufRead::lines);
    let last = lines.map_while(Result::ok).last().unwrap_or_default();
    Ok((last, worker.wait()?))
}

fn ended_by(status: ExitStatus) -> String {
    match status.code() {
        Some(code) if code == i32::from(ENDLESS) => "it did not end".to_owned(),
        Some(_) | None => format!("it ended the process: {status}"),
    }
}
