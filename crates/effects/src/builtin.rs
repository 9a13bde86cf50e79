//! The tools that Charter itself carries out (seed 003, Resource Access): files, environment,
//! network, web search, commands, charts.
//!
//! Each call is allowed what its [`BuiltinGrants`] name and nothing else; by default that is
//! nothing. Every answer carries `actions`, in the form of the response's own (seed 003, Response
//! Schema) without the time, which whoever records the call knows. Must not know where grants come
//! from, nor skills, runs or tenants.

mod action;
mod budget;
pub(crate) mod command;
pub(crate) mod environment;
pub(crate) mod files;
mod grants;
pub(crate) mod network;
mod parameters;
mod table;
pub(crate) mod visualise;
pub(crate) mod web_search;

use std::sync::Arc;

use charter_contract::catalogue::builtin::Builtin;

pub(crate) use budget::Budget;
pub use grants::{BuiltinGrants, CommandGrant, Root, RootAccess};
pub use table::documents;
pub use web_search::{SearchOptions, SearchProvider, SearchSetupError, WebSearch};

/// A tool that Charter carries out, and what it may touch.
#[derive(Debug, Clone)]
pub struct BuiltinTool {
    /// Which.
    pub name: Builtin,
    /// What it may touch.
    pub grants: Arc<BuiltinGrants>,
}
