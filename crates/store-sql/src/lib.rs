//! SQL engines behind the storage traits of `charter-store`.
//!
//! [`sqlite`] is the embedded engine: one data directory, no setup. [`postgres`] is the engine for several processes: a
//! pool of connections to a server. Nouns, like `session`, are written once for both: their statements run through
//! `tx`, their values are converted in `column` and `row`.
//!
//! This crate knows no use cases: callers decide the meaning of a record and when to write it.

// Only the command line writes to the terminal, through writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agent_skills;
mod approval;
mod artifact;
mod assignment;
pub mod backup;
mod calibration;
mod catalogue;
mod column;
mod connected_account;
mod console_session;
mod directory_layout;
mod evidence;
mod evidence_log;
mod failure;
mod journal;
mod key;
mod lease;
mod lens;
mod lock;
mod memory;
mod mission;
mod notification;
mod outbox;
mod request;
mod route_example;
mod row;
mod schedule;
mod schema;
mod session;
mod store;
mod tag;
pub mod tenant;
mod tool_content;
mod tx;
mod vector;

pub mod postgres;
pub mod sqlite;

pub use lock::DirectoryLock;
pub use schema::StoreLayout;
pub use store::SqlStore;
