//! Runs generated inputs on the fuzz targets of the test kit. `make fuzz` runs it; `docs/dev/testing.md` describes it.
//!
//! Each target runs in its own process ([`worker`]), which [`supervisor`] restarts if an input ended it. An input that
//! is a fault is stored in a directory, with a description and the command that repeats it.

mod arguments;
mod faults;
mod pool;
mod report;
mod supervisor;
mod worker;

use std::process::ExitCode;

use charter_testkit::measured::CountingAllocator;

use arguments::Order;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let order = match arguments::read(std::env::args().skip(1)) {
        Ok(order) => order,
        Err(message) => {
            eprintln!("error: {message}\n\n{}", arguments::USAGE);
            return ExitCode::from(2);
        }
    };
    let done = match order {
        Order::Fuzz(plan) => supervisor::fuzz(&plan).map(|tallies| {
            println!("{}", report::table(&tallies));
            tallies.iter().all(|tally| tally.faults == 0)
        }),
        Order::Repeat(target, input) => worker::repeat(target, &input),
        Order::Work(work) => worker::work(&work).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
