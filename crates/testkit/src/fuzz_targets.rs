//! The parsers and walkers that process foreign input, each as a function over bytes, with its limits. `make fuzz`
//! runs them on generated inputs, and tests replay the corpus on them. A target is a function and an entry in
//! [`TARGETS`].
//!
//! A target panics if the code violates a guarantee, for example if an accepted output cannot be stored.
//! [`FuzzTarget::try_input`] compares the cost of an input with the limits.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a target panics where the code breaks its word"
)]

mod apis;
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

/// Maximum size of an input, in bytes: 1 MiB.
pub const INPUT_BYTES: usize = 1 << 20;

/// Maximum memory for an input, in bytes: 64 MiB.
pub const INPUT_MEMORY: usize = 64 << 20;

/// Maximum CPU time for an input; unoptimised code gets more.
pub const INPUT_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });

/// Maximum CPU time for YAML, whose parser needs little more without optimisation.
const YAML_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 4 } else { 2 });

/// Stack of the server's threads, in bytes: 2 MiB.
pub const STACK: usize = 2 << 20;

/// The process in which the product runs the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// The server: an input that exceeds a limit is a fault.
    Server,
    /// A process that is killed at its limits: an input that exceeds a limit ends there.
    Confined,
}

/// The verdict of a target on an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The target accepted the input.
    Accepted,
    /// The target refused the input with an error.
    Refused,
}

impl Verdict {
    fn from_result<T, E>(result: &Result<T, E>) -> Self {
        match result {
            Ok(_) => Self::Accepted,
            Err(_) => Self::Refused,
        }
    }
}

/// A parser or walker.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// Name of the target and of its folder in the corpus.
    pub name: &'static str,
    /// Process in which the product runs it.
    pub process: Process,
    /// Maximum memory for an input, in bytes.
    pub memory: usize,
    /// Maximum CPU time for an input.
    pub time: Duration,
    /// Words and symbols of the input language, for generated inputs.
    pub words: &'static [&'static str],
    run: fn(&[u8]) -> Verdict,
}

/// The outcome of one input: the verdict, the cost, and the fault, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Verdict on the input.
    pub verdict: Verdict,
    /// Time and memory used.
    pub cost: Cost,
    /// Exceeded limit, or panic message.
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
    FuzzTarget {
        memory: apis::MEMORY,
        time: apis::TIME,
        ..server("openapi", apis::openapi, apis::WORDS)
    },
    server("template", languages::template, languages::TEMPLATE_WORDS),
    confined(
        "template_evaluation",
        languages::evaluation,
        languages::TEMPLATE_WORDS,
    ),
    server("cel", languages::cel, languages::CEL_WORDS),
    server("jq", languages::jq, languages::JQ_WORDS),
    // The document of an input, the filled values and the result may each use this much.
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
    // Lines that Charter wrote are parsed with the limits of storage, which are higher.
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

/// Returns the target with another memory limit.
const fn allowed(memory: usize, target: FuzzTarget) -> FuzzTarget {
    FuzzTarget { memory, ..target }
}

impl FuzzTarget {
    /// Returns the target with a name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Runs an input on this thread, whose stack should be as small as [`STACK`].
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

    /// Returns a description of the server limit that an input exceeded, if any.
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

/// Returns the message of a panic.
fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a word")
}
