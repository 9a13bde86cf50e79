//! The documents of the catalogue: those of seed 000, and this project's policies, mission types and prompt templates.
//! Packages register them; tag and evidence records are written while requests are answered. Types and static checks
//! only: storage and overlays are handled elsewhere.

pub mod agent;
pub mod builtin;
pub mod domain;
pub mod evidence;
pub mod evidence_submission;
pub mod graph;
pub mod guardrail;
pub mod heading;
pub mod lens;
pub mod mission_type;
pub mod pin;
mod placeholders;
pub mod playbook;
pub mod policy;
pub mod prompt;
pub mod schedule;
pub mod skill;
pub mod stage;
mod step_references;
pub mod tags;
pub mod template;
pub mod tool;
pub mod vocabulary;

mod document;

pub use document::{Document, DocumentKind, DocumentKindError};
