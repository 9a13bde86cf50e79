//! The parsers and walkers that strangers reach, each as a function over bytes, with its limits: what `make fuzz` feeds
//! made-up inputs, and what the corpus is replayed on. A target is a function and a line in [`TARGETS`].
//!
//! A target panics where the code breaks its word, such as an output that is admitted and cannot be stored.
//! [`FuzzTarget::try_input`] compares the cost of an input with the limits.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a target panics where the code breaks its word"
)]

mod exports;
mod files;
mod json;
mod languages;
mod messages;
mod policies;
mod schemas;
mod sources;

use std::any::Any;
use std::panic::catch_unwind;
use std::time::Duration;

use charter_contract::bounds::{BUNDLE_MEMORY, EVALUATION_MEMORY, JSON_MEMORY};

use crate::measured::{Cost, measured};

/// Longest input of a target, in bytes: 1 MiB.
pub const INPUT_BYTES: usize = 1 << 20;

/// Memory that an input may take, in bytes: 64 MiB.
pub const INPUT_MEMORY: usize = 64 << 20;

/// Processor time that an input may take. Code that is not optimised gets more of it.
pub const INPUT_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });

/// The same for YAML, whose reader needs little more without optimisation.
const YAML_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 4 } else { 2 });

/// The stack of the server's threads, in bytes: 2 MiB.
pub const STACK: usize = 2 << 20;

/// Where the product runs the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// In the server: an input over a limit is a fault.
    Server,
    /// In a process that is killed at its limits: an input over one ends there.
    Confined,
}

/// Whether a target read an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It was read.
    Accepted,
    /// It was refused with an error.
    Refused,
}

impl Verdict {
    fn of<T, E>(result: &Result<T, E>) -> Self {
        match result {
            Ok(_) => Self::Accepted,
            Err(_) => Self::Refused,
        }
    }
}

/// A parser or walker.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// Its name, which is that of its folder in the corpus.
    pub name: &'static str,
    /// Where the product runs it.
    pub process: Process,
    /// Memory that an input may take, in bytes.
    pub memory: usize,
    /// Processor time that an input may take.
    pub time: Duration,
    /// Words and signs of its language, which made-up inputs are made of.
    pub words: &'static [&'static str],
    run: fn(&[u8]) -> Verdict,
}

/// The outcome of an input: the verdict, the cost, and the fault, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Whether it was read.
    pub verdict: Verdict,
    /// Time and memory that it took.
    pub cost: Cost,
    /// The limit that it was over, or the words of a panic.
    pub fault: Option<String>,
}

/// Every target.
pub const TARGETS: &[FuzzTarget] = &[
    server("json", json::message, json::WORDS),
    server("output", json::output, json::WORDS),
    server("body", json::body, json::BODY_WORDS),
    FuzzTarget {
        time: YAML_TIME,
        ..server("yaml", files::yaml, files::YAML_WORDS)
    },
    server("package", files::package, files::PACKAGE_WORDS),
    server("skill", files::skill, files::SKILL_WORDS),
    server("template", languages::template, languages::TEMPLATE_WORDS),
    confined(
        "template_evaluation",
        languages::evaluation,
        languages::TEMPLATE_WORDS,
    ),
    server("cel", languages::cel, languages::CEL_WORDS),
    server("jq", languages::jq, languages::JQ_WORDS),
    // The document of an input, the values that are filled into it and the result may each take as much.
    allowed(
        3 * JSON_MEMORY,
        server(
            "references",
            languages::references,
            languages::REFERENCE_WORDS,
        ),
    ),
    server("cedar", policies::cedar, policies::WORDS),
    server("schema", schemas::schema, schemas::WORDS),
    server("mcp_message", messages::message, messages::WORDS),
    server("mcp_tools", messages::tools, messages::TOOL_WORDS),
    server("html", sources::html, sources::HTML_WORDS),
    server("markdown", sources::markdown, sources::MARKDOWN_WORDS),
    confined("pdf", sources::pdf, sources::PDF_WORDS),
    // Lines that Charter wrote are read as storage is, where documents may be larger.
    allowed(
        2 * BUNDLE_MEMORY,
        server("evidence", exports::evidence, exports::WORDS),
    ),
    allowed(
        2 * BUNDLE_MEMORY,
        server("mission_bundle", exports::mission_bundle, exports::WORDS),
    ),
];

const fn server(
    name: &'static str,
    run: fn(&[u8]) -> Verdict,
    words: &'static [&'static str],
) -> FuzzTarget {
    FuzzTarget {
        name,
        process: Process::Server,
        memory: INPUT_MEMORY,
        time: INPUT_TIME,
        words,
        run,
    }
}

const fn confined(
    name: &'static str,
    run: fn(&[u8]) -> Verdict,
    words: &'static [&'static str],
) -> FuzzTarget {
    FuzzTarget {
        process: Process::Confined,
        memory: EVALUATION_MEMORY,
        ..server(name, run, words)
    }
}

/// The same target with another limit of memory.
const fn allowed(memory: usize, target: FuzzTarget) -> FuzzTarget {
    FuzzTarget { memory, ..target }
}

impl FuzzTarget {
    /// The target of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Tries an input on this thread, whose stack should be as small as [`STACK`].
    #[must_use]
    pub fn try_input(&self, input: &[u8]) -> Trial {
        let (done, cost) = measured(|| catch_unwind(|| (self.run)(input)));
        match done {
            Ok(verdict) => Trial {
                verdict,
                cost,
                fault: self.limit_passed(cost),
            },
            Err(panic) => Trial {
                verdict: Verdict::Refused,
                cost,
                fault: Some(format!("it panicked: {}", words_of(&*panic))),
            },
        }
    }

    /// The limit of the server that an input was over, if it was over one.
    fn limit_passed(&self, cost: Cost) -> Option<String> {
        match self.process {
            Process::Confined => None,
            Process::Server if cost.time > self.time => {
                Some(format!("it took {:?} of processor time", cost.time))
            }
            Process::Server if cost.heap > self.memory => {
                Some(format!("it took {} MiB of memory", cost.heap >> 20))
            }
            Process::Server => None,
        }
    }
}

/// The message of a panic.
fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a word")
}
