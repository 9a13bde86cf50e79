//! The storage interface of Charter: traits, records and one error type.
//!
//! There is one trait per noun, so that a use case depends only on those it needs; [`Store`] combines all of them.
//! Every method documents what is atomic and the effect of a repeat. An engine behind these traits
//! (`charter-store-sql`) passes the contract suite of `charter-testkit`.
//!
//! This crate knows no SQL, no files and no sockets, and receives the time from its caller.

// Only the command line writes to the terminal, through writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod error;

pub mod agent_skills;
pub mod approval;
pub mod artifact;
pub mod assignment;
pub mod calibration;
pub mod catalogue;
pub mod connected_account;
pub mod console_session;
pub mod evidence;
pub mod evidence_log;
pub mod journal;
pub mod key;
pub mod lease;
pub mod lens;
pub mod memory;
pub mod mission;
pub mod notices;
pub mod notification;
pub mod outbox;
pub mod request;
pub mod route_example;
pub mod schedule;
pub mod session;
pub mod skill_index;
pub mod tag;
pub mod tenant;
pub mod tool_content;
pub mod vector;

pub use charter_contract::page;
pub use error::StoreError;

use std::sync::Arc;

/// All traits of a storage engine. Implemented for every type that implements them.
pub trait Store:
    agent_skills::AgentSkills
    + approval::Approvals
    + assignment::Assignments
    + calibration::Calibrations
    + catalogue::Catalogue
    + connected_account::ConnectedAccounts
    + console_session::ConsoleSessions
    + evidence::Evidence
    + evidence_log::EvidenceLog
    + journal::Journal
    + key::Keys
    + lease::Leases
    + lens::Lenses
    + memory::Memories
    + mission::Missions
    + notices::Notices
    + notification::Notifications
    + outbox::Outbox
    + request::Requests
    + route_example::RouteExamples
    + schedule::Schedules
    + session::Sessions
    + tag::Tags
    + tenant::Tenants
    + tool_content::ToolContents
    + vector::Vectors
    + Send
    + Sync
{
}

impl<T> Store for T where
    T: agent_skills::AgentSkills
        + approval::Approvals
        + assignment::Assignments
        + calibration::Calibrations
        + catalogue::Catalogue
        + connected_account::ConnectedAccounts
        + console_session::ConsoleSessions
        + evidence::Evidence
        + evidence_log::EvidenceLog
        + journal::Journal
        + key::Keys
        + lease::Leases
        + lens::Lenses
        + memory::Memories
        + mission::Missions
        + notices::Notices
        + notification::Notifications
        + outbox::Outbox
        + request::Requests
        + route_example::RouteExamples
        + schedule::Schedules
        + session::Sessions
        + tag::Tags
        + tenant::Tenants
        + tool_content::ToolContents
        + vector::Vectors
        + Send
        + Sync
{
}

/// A store shared by the use cases of one process.
pub type SharedStore = Arc<dyn Store>;
