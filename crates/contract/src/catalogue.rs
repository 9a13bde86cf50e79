//! The documents of the catalogue (seed 000, and policies, kinds of missions and prompt templates, which
//! are this project's): what packages register, and the two records that are written while requests are
//! answered. Types and static checks only; where documents are stored and how they overlay is not known
//! here.

pub mod agent;
pub mod builtin;
pub mod domain;
pub mod evidence;
pub mod graph;
pub mod guardrail;
pub mod heading;
pub mod lens;
pub mod mission_type;
mod placeholders;
pub mod playbook;
pub mod policy;
pub mod prompt;
pub mod skill;
pub mod stage;
mod step_references;
pub mod tags;
pub mod template;
pub mod tool;
pub mod vocabulary;

mod document;

pub use document::{Document, DocumentKind, DocumentKindError};
