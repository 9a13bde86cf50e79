//! The tools that Charter itself implements (seed 003, Resource Access): files, environment, network, web search,
//! commands, charts.
//!
//! Each call is allowed what its [`BuiltinGrants`](crate::BuiltinGrants) name and nothing else; by default that is
//! nothing. Every answer carries `actions`, in the form of the response's own (seed 003, Response
//! Schema) without the time, which the recorder of the call adds. Must not know where grants come
//! from, nor skills, runs or tenants.

mod action;
pub(crate) mod budget;
pub(crate) mod command;
pub(crate) mod environment;
#[cfg(target_os = "linux")]
pub(crate) mod files;
pub(crate) mod network;
mod parameters;
mod table;
pub(crate) mod visualise;
pub(crate) mod web_search;

pub use table::documents;
