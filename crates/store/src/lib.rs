//! Storage as the rest of Charter sees it: traits, records and one error type.
//!
//! One trait per noun, so that a use case asks for exactly what it needs; [`Store`] is all of
//! them together. Every method states what is atomic and what a repeat does. An engine behind
//! these traits (`charter-store-sql`) passes the contract suite of `charter-testkit`.
//!
//! This crate knows no SQL, no files and no sockets, and takes the time from its caller.

// The command line alone writes to the terminal, by writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod error;

pub mod agent_skills;
pub mod approval;
pub mod artifact;
pub mod calibration;
pub mod catalogue;
pub mod evidence;
pub mod evidence_log;
pub mod journal;
pub mod key;
pub mod lease;
pub mod lens;
pub mod memory;
pub mod mission;
pub mod notices;
pub mod outbox;
pub mod request;
pub mod route_example;
pub mod session;
pub mod skill_index;
pub mod tag;
pub mod tenant;
pub mod vector;

pub use charter_contract::page;
pub use error::StoreError;

use std::sync::Arc;

/// Everything that one storage engine offers. Implemented by whatever implements the parts.
pub trait Store:
    agent_skills::AgentSkills
    + approval::Approvals
    + calibration::Calibrations
    + catalogue::Catalogue
    + evidence::Evidence
    + evidence_log::EvidenceLog
    + journal::Journal
    + key::Keys
    + lease::Leases
    + lens::Lenses
    + memory::Memories
    + mission::Missions
    + notices::Notices
    + outbox::Outbox
    + request::Requests
    + route_example::RouteExamples
    + session::Sessions
    + tag::Tags
    + tenant::Tenants
    + vector::Vectors
    + Send
    + Sync
{
}

impl<T> Store for T where
    T: agent_skills::AgentSkills
        + approval::Approvals
        + calibration::Calibrations
        + catalogue::Catalogue
        + evidence::Evidence
        + evidence_log::EvidenceLog
        + journal::Journal
        + key::Keys
        + lease::Leases
        + lens::Lenses
        + memory::Memories
        + mission::Missions
        + notices::Notices
        + outbox::Outbox
        + request::Requests
        + route_example::RouteExamples
        + session::Sessions
        + tag::Tags
        + tenant::Tenants
        + vector::Vectors
        + Send
        + Sync
{
}

/// A store shared by the use cases of one process.
pub type SharedStore = Arc<dyn Store>;
