//! REST, A2A, events and authentication over the engine.
//!
//! A handler reads the request into the contract's types, calls the engine, and writes the result. It makes no
//! decisions. Failures are returned as `AgentError` (seed 003) with the status of their code. This crate knows no
//! storage and no configuration file.

// Only the command line writes to the terminal, with writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod a2a;
mod accept;
mod address;
mod admission;
mod agent_card;
mod auth;
mod console_session;
mod error;
mod extract;
mod headers;
mod json;
mod limits;
mod mcp;
mod metrics;
mod openapi;
mod operations;
mod protected_resource;
mod public_url;
mod query;
mod readiness;
mod router;
mod routes;
mod serve;
mod shares;
mod state;
mod streams;
mod telemetry;
mod transfer;

pub use agent_card::A2aIdentity;
pub use auth::{Access, AccessError, ApiKey};
pub use limits::Limits;
pub use mcp::{EngineLoader, LineTransport, ListMode, LocalMcp, McpError, only_reads};
pub use openapi::document as openapi_document;
pub use router::{probes, router};
pub use serve::serve;
pub use state::AppState;
pub use telemetry::JoinTrace;
