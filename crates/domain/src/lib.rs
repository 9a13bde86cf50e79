//! Pure decisions: overlay, resolution, graphs and the run machine. No I/O, no async; no decision reads the [`clock`].
//!
//! Everything here maps values to values. `charter-engine` reads the inputs of decisions and carries decisions out.
//! Equal inputs give equal decisions, so that every rule can be tested with a table and every run replayed.

// Only the command line writes to the terminal, with writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod analysis;
pub mod answer;
pub mod approval;
pub mod assent;
pub mod cancellation;
pub mod candidate;
pub mod catalogue;
pub mod clarification;
pub mod clock;
pub mod console_link;
pub mod dependencies;
pub mod evidence_log;
pub mod expert_graph;
pub mod expression;
pub mod follow_up;
pub mod gate;
pub mod glob;
pub mod graph;
pub mod guardrail;
pub mod identifiers;
pub mod intent;
pub mod jq;
pub mod link_graph;
pub mod memory;
pub mod mission;
mod nesting;
pub mod notification;
pub mod package;
pub mod parameters;
pub mod person;
pub mod persona;
pub mod policy;
pub mod profile;
pub mod rate_limit;
pub mod redaction;
pub mod reference;
pub mod route_example;
pub mod run;
pub mod schedule;
pub mod script;
pub mod sentences;
pub mod skill_folder;
pub mod source;
pub mod template;
pub mod tier;
pub mod tool_content;
