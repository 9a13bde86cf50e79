//! The contracts at the edge (seed 003). Six follow the seed's schemas literally and accept unknown fields, as those
//! schemas do. The seed only names the other nine: they are authored here, strict, and marked `x-charter-authored`.

pub mod error;

pub mod memory;
pub mod request;
pub mod response;
pub mod tool_definition;

pub mod context_model;
pub mod decision_tree;
pub mod environment_access;
pub mod file_system_operation;
pub mod network_request;
pub mod pipeline_definition;
pub mod session;
pub mod tool_invocation;
pub mod tool_result;
