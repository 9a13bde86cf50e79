//! The pool of inputs to mutate: the corpus, hostile shapes, and inputs found while fuzzing. The fuzzer searches for
//! cost, so it needs no coverage data. An input is kept if its memory profile shows that the target processed it
//! differently from all previous inputs.

use std::collections::HashSet;

use charter_testkit::corpus;
use charter_testkit::fuzz_targets::{FuzzTarget, INPUT_BYTES, Trial, Verdict};
use charter_testkit::hostile::Hostile;
use charter_testkit::mutation::{Random, mutated};

/// Maximum number of inputs kept; a further one replaces another.
const MOST_KEPT: usize = 2_000;

/// Maximum bytes of the inputs kept.
const MOST_BYTES: usize = 256 << 20;

/// Sizes of the hostile shapes, in bytes.
const SHAPES: [usize; 3] = [100, 10_000, INPUT_BYTES];

/// How a target processed an input: its verdict, and rough numbers of allocations, memory and input size.
type Signature = (bool, u32, u32, u32);

pub(crate) struct Pool {
    inputs: Vec<Vec<u8>>,
    /// Bytes of all inputs.
    bytes: usize,
    /// Number of leading inputs that have not been run unchanged.
    untried: usize,
    seen: HashSet<Signature>,
    random: Random,
    words: &'static [&'static str],
}

impl Pool {
    pub(crate) fn new(target: &FuzzTarget, seed: u64) -> Self {
        let corpus = corpus::inputs(target.name).into_iter();
        let mut inputs: Vec<Vec<u8>> = corpus.map(|input| input.bytes).collect();
        for shape in Hostile::ALL {
            inputs.extend(SHAPES.map(|bytes| shape.value(bytes)));
        }
        for input in &mut inputs {
            input.truncate(INPUT_BYTES);
        }
        Self {
            untried: inputs.len(),
            bytes: inputs.iter().map(Vec::len).sum(),
            inputs,
            seen: HashSet::new(),
            random: Random::new(seed),
            words: target.words,
        }
    }

    /// Returns the next input to run.
    pub(crate) fn next_input(&mut self) -> Vec<u8> {
        if let Some(at) = self.untried.checked_sub(1) {
            self.untried = at;
            return self.inputs.get(at).cloned().unwrap_or_default();
        }
        let [base, other] = [(); 2].map(|()| self.random.below(self.inputs.len()));
        let input = |at: usize| self.inputs.get(at).map(Vec::as_slice).unwrap_or_default();
        mutated(&mut self.random, input(base), input(other), self.words)
    }

    /// Keeps an input that was run, if it differs from the previous ones.
    pub(crate) fn learn(&mut self, input: Vec<u8>, trial: &Trial) {
        let signature = (
            trial.verdict == Verdict::Accepted,
            halves(trial.cost.allocations),
            halves(trial.cost.heap as u64),
            (input.len() as u64 + 1).ilog2() / 4,
        );
        if !self.seen.insert(signature) {
            return;
        }
        self.bytes += input.len();
        while self.inputs.len() >= MOST_KEPT || self.bytes > MOST_BYTES {
            let at = self.random.below(self.inputs.len());
            self.bytes -= self.inputs.swap_remove(at).len();
        }
        self.inputs.push(input);
    }
}

/// Returns the logarithm of a number in steps of one half.
fn halves(number: u64) -> u32 {
    let number = number.saturating_add(1);
    let log = number.ilog2();
    let upper_half = log > 0 && (number >> (log - 1)) & 1 == 1;
    2 * log + u32::from(upper_half)
}
