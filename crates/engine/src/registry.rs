//! How documents come into force, and which of them a request is routed to: packages, routing, the examples that people
//! confirm, and the search for tools.

pub(crate) mod everyday;
pub(crate) mod packages;
pub(crate) mod route_examples;
pub(crate) mod routing;
pub(crate) mod tool_search;
