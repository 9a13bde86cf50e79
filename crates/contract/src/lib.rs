//! Wire types of every Charter contract, their JSON Schemas, ids and error codes.

#[macro_use]
mod macros;
#[macro_use]
mod object;

pub mod agentic;
pub mod catalogue;
mod dependency;
pub mod error_code;
pub mod finding;
pub mod ids;
pub mod link_graph;
pub mod mission;
pub mod number;
pub mod package;
pub mod parameter;
pub mod placeholder;
pub mod schema;
pub mod scope;
pub mod text;
pub mod time;
pub mod validate;
pub mod violation;
