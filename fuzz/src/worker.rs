//! Runs one target in this process, input after input, on a stack as small as the server's. The supervisor determines
//! the cause if the process ends.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use charter_testkit::fuzz_targets::{FuzzTarget, INPUT_TIME, Process, STACK, Trial, Verdict};
use charter_testkit::measured::{bound_memory, held};

use crate::arguments::Work;
use crate::faults;
use crate::pool::Pool;
use crate::report::Tally;

/// Exit code of a worker whose input does not end.
pub(crate) const ENDLESS: u8 = 3;

/// Multiple of its limit that an input of the server may take before the process is ended.
const GIVEN_UP: u32 = 10;

/// Multiple of its limit that a target of the server may allocate before the process is ended.
const MEMORY: usize = 8;

/// Maximum number of faults stored; further ones are only counted.
const MOST_KEPT: u64 = 50;

/// Interval between progress reports.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Message of the last panic, with its location.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Runs inputs until the time is up, and reports in lines on standard output.
///
/// # Errors
/// If inputs cannot be written, or the supervisor is gone.
pub(crate) fn work(work: &Work) -> io::Result<()> {
    note_panics();
    on_a_small_stack(work.target.name, || try_all(work))
}

/// Runs one input and prints the outcome.
///
/// # Errors
/// If the input cannot be read.
pub(crate) fn repeat(target: &'static FuzzTarget, file: &Path) -> io::Result<bool> {
    let input = fs::read(file)?;
    let trial = on_a_small_stack(target.name, || Ok(target.try_input(&input)))?;
    println!("{trial:#?}");
    Ok(trial.fault.is_none())
}

fn on_a_small_stack<T: Send>(
    name: &str,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let small = thread::Builder::new()
            .name(name.to_owned())
            .stack_size(STACK);
        let joined = small.spawn_scoped(scope, work)?.join();
        joined.unwrap_or_else(|_| Err(io::Error::other("the worker panicked")))
    })
}

fn note_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut said = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        *said = panic.to_string();
    }));
}

fn try_all(work: &Work) -> io::Result<()> {
    let target = work.target;
    let mut pool = Pool::new(target, work.seed);
    let current = File::create(faults::current(&work.failures, target))?;
    let watch = Watch::start(target);
    let limit = match target.process {
        Process::Server => MEMORY * target.memory,
        Process::Confined => target.memory,
    };
    let mut tally = Tally::of(target.name);
    let start = Instant::now();
    let mut reported = start;
    while start.elapsed() < work.time {
        let input = pool.next_input();
        write_down(&current, &input)?;
        watch.begin();
        bound_memory(held() + limit);
        let trial = target.try_input(&input);
        watch.end();
        tally.count(&trial);
        if let Some(fault) = &trial.fault
            && tally.faults <= MOST_KEPT
        {
            let fault = format!("{fault}\n{}", noted(&trial));
            let file = faults::keep(&work.failures, target, work.seed, &input, &fault)?;
            eprintln!("{}: {fault}: {}", target.name, file.display());
        }
        pool.learn(input, &trial);
        if reported.elapsed() > REPORT_EVERY {
            reported = Instant::now();
            report(&tally)?;
        }
    }
    report(&tally)
}

/// Returns the message of the last panic, for an input that panicked.
fn noted(trial: &Trial) -> String {
    let mut said = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
    let said = std::mem::take(&mut *said);
    match trial.verdict {
        Verdict::Refused => said,
        Verdict::Accepted => String::new(),
    }
}

fn report(tally: &Tally) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{}", tally.line())?;
    output.flush()
}

/// Writes the input with its length, for the supervisor to find if the process ends.
fn write_down(current: &File, input: &[u8]) -> io::Result<()> {
    current.write_all_at(&(input.len() as u64).to_le_bytes(), 0)?;
    current.write_all_at(input, 8)
}

/// Reads the last input that a worker wrote.
///
/// # Errors
/// If there is none.
pub(crate) fn last_input(file: &Path) -> io::Result<Vec<u8>> {
    let written = fs::read(file)?;
    let (length, input) = written
        .split_first_chunk::<8>()
        .ok_or_else(|| io::Error::other("no input was written down"))?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(io::Error::other)?;
    Ok(input.get(..length).unwrap_or(input).to_vec())
}

/// Ends the process if one input takes too long.
struct Watch {
    /// Start of the current input, in milliseconds from the start of the watch, or 0 between two inputs.
    began: &'static AtomicU64,
    start: Instant,
}

impl Watch {
    fn start(target: &FuzzTarget) -> Self {
        static BEGAN: AtomicU64 = AtomicU64::new(0);
        let limit = match target.process {
            Process::Server => GIVEN_UP * INPUT_TIME,
            Process::Confined => INPUT_TIME,
        };
        let start = Instant::now();
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_millis(50));
                let began = Duration::from_millis(BEGAN.load(Ordering::Relaxed));
                if !began.is_zero() && start.elapsed() > began + limit {
                    std::process::exit(ENDLESS.into());
                }
            }
        });
        Self {
            began: &BEGAN,
            start,
        }
    }

    fn begin(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.began.store(now.max(1), Ordering::Relaxed);
    }

    fn end(&self) {
        self.began.store(0, Ordering::Relaxed);
    }
}
