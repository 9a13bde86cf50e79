//! Inputs that others are made from: the corpus, hostile shapes, and what was found on the way. There is no coverage to go
//! by, and none is needed: what is looked for is cost. An input is kept if it makes the target work in another way than all
//! before, as far as memory shows that.

use std::collections::HashSet;

use charter_testkit::corpus;
use charter_testkit::fuzz_targets::{FuzzTarget, INPUT_BYTES, Trial, Verdict};
use charter_testkit::hostile::Hostile;
use charter_testkit::mutation::{Random, mutated};

/// Inputs that are kept; a further one takes the place of one of them.
const MOST_KEPT: usize = 2_000;

/// How long the hostile shapes are, in bytes.
const SHAPES: [usize; 3] = [100, 10_000, INPUT_BYTES];

/// How a target worked: whether it accepted, and roughly how often it took memory, how much, and for how long an input.
type Signature = (bool, u32, u32, u32);

pub(crate) struct Pool {
    inputs: Vec<Vec<u8>>,
    /// How many of the first inputs were not tried as they are.
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
            inputs,
            seen: HashSet::new(),
            random: Random::new(seed),
            words: target.words,
        }
    }

    /// The next input to try.
    pub(crate) fn next_input(&mut self) -> Vec<u8> {
        if let Some(at) = self.untried.checked_sub(1) {
            self.untried = at;
            return self.inputs.get(at).cloned().unwrap_or_default();
        }
        let [base, other] = [(); 2].map(|()| self.random.below(self.inputs.len()));
        let input = |at: usize| self.inputs.get(at).map(Vec::as_slice).unwrap_or_default();
        mutated(&mut self.random, input(base), input(other), self.words)
    }

    /// Keeps an input that was tried, if it is unlike those before.
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
        if self.inputs.len() < MOST_KEPT {
            self.inputs.push(input);
        } else {
            let at = self.random.below(MOST_KEPT);
            if let Some(place) = self.inputs.get_mut(at) {
                *place = input;
            }
        }
    }
}

/// The logarithm of a number in steps of a half.
fn halves(number: u64) -> u32 {
    let number = number.saturating_add(1);
    let log = number.ilog2();
    let upper_half = log > 0 && (number >> (log - 1)) & 1 == 1;
    2 * log + u32::from(upper_half)
}
