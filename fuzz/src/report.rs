//! Results: counted for each target, sent as lines, shown as a table.

use std::time::Duration;

use charter_testkit::fuzz_targets::{Trial, Verdict};

/// The results of one target.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) target: String,
    /// Number of inputs run.
    pub(crate) inputs: u64,
    /// Number of accepted inputs.
    pub(crate) accepted: u64,
    /// Maximum CPU time of an input.
    pub(crate) time: Duration,
    /// Maximum memory of an input, in bytes.
    pub(crate) memory: u64,
    /// Number of confined processes that were ended at a limit.
    pub(crate) ended: u64,
    /// Number of inputs that are faults.
    pub(crate) faults: u64,
}

impl Tally {
    pub(crate) fn of(target: &str) -> Self {
        Self {
            target: target.to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn count(&mut self, trial: &Trial) {
        self.inputs += 1;
        self.accepted += u64::from(trial.verdict == Verdict::Accepted);
        self.time = self.time.max(trial.cost.time);
        self.memory = self.memory.max(trial.cost.heap as u64);
        self.faults += u64::from(trial.fault.is_some());
    }

    /// Returns the line that a worker sends.
    pub(crate) fn line(&self) -> String {
        let time = self.time.as_micros();
        format!(
            "{} {} {time} {} {}",
            self.inputs, self.accepted, self.memory, self.faults
        )
    }

    /// Adds the numbers from a worker's last line.
    pub(crate) fn add_line(&mut self, line: &str) {
        let numbers: Vec<u64> = line
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        if let [inputs, accepted, time, memory, faults] = numbers.as_slice() {
            self.inputs += inputs;
            self.accepted += accepted;
            self.time = self.time.max(Duration::from_micros(*time));
            self.memory = self.memory.max(*memory);
            self.faults += faults;
        }
    }
}

/// Formats all targets as a Markdown table.
pub(crate) fn table(tallies: &[Tally]) -> String {
    let mut text =
        "\n| Target | Inputs | Accepted | Most time | Most memory | Ended at a limit | Faults |\n\
                    |---|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
    for tally in tallies {
        let milliseconds = tally.time.as_millis();
        let tenths = (tally.memory * 10) >> 20;
        text += &format!(
            "| {} | {} | {} | {milliseconds} ms | {}.{} MiB | {} | {} |\n",
            tally.target,
            tally.inputs,
            tally.accepted,
            tenths / 10,
            tenths % 10,
            tally.ended,
            tally.faults
        );
    }
    text
}
