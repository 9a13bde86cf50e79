//! Replays the corpus of the fuzz targets, in a separate program with a counting allocator.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::thread::{self, Builder};

use charter_testkit::corpus::{self, Input};
use charter_testkit::fuzz_targets::{FuzzTarget, STACK, TARGETS, Trial, Verdict};
use charter_testkit::hostile::Hostile;
use charter_testkit::measured::{CountingAllocator, is_counted};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Size of each hostile shape that every target receives, in bytes.
const SHAPE_BYTES: usize = 16 << 10;

/// Returns the corpus of a target, and a hostile document of each shape.
fn inputs(target: &FuzzTarget) -> Vec<Input> {
    let shapes = Hostile::ALL.map(|shape| Input {
        name: format!("{shape:?}"),
        bytes: shape.value(SHAPE_BYTES),
    });
    corpus::inputs(target.name)
        .into_iter()
        .chain(shapes)
        .collect()
}

/// Runs an input on a stack as small as the server's. A stack overflow ends the program and names the thread.
fn tried(target: &FuzzTarget, input: &Input) -> Trial {
    let name = format!("{}/{}", target.name, input.name);
    let on_a_small_stack = Builder::new().name(name).stack_size(STACK);
    thread::scope(|scope| {
        let trying = on_a_small_stack.spawn_scoped(scope, || target.try_input(&input.bytes));
        trying.unwrap().join().unwrap()
    })
}

/// No input crashes a target or exceeds its limits, and each target accepts at least one input, so the corpus gets
/// past the first checks.
#[test]
fn inputs_of_the_corpus_stay_within_the_limits_of_their_targets() {
    assert!(is_counted());
    let folders = corpus::targets();
    let mut names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    names.sort_unstable();
    assert_eq!(folders, names, "a folder for each target");
    let mut faults = Vec::new();
    for target in TARGETS {
        let inputs = inputs(target);
        let trials: Vec<Trial> = inputs.iter().map(|input| tried(target, input)).collect();
        let found = inputs.iter().zip(&trials);
        let found = found.filter_map(|(input, trial)| Some((input, trial.fault.as_ref()?)));
        faults
            .extend(found.map(|(input, fault)| format!("{}/{}: {fault}", target.name, input.name)));
        if trials.iter().all(|trial| trial.verdict == Verdict::Refused) {
            faults.push(format!("{}: every input is refused", target.name));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
