//! The documents in force: the live catalogue with its indexes, the documents of a view, the documents resolved for a request, and
//! the tools of MCP servers.

pub(crate) mod abilities;
pub(crate) mod change_turn;
pub(crate) mod documents;
pub(crate) mod imports;
pub(crate) mod lens_index;
pub(crate) mod live;
pub(crate) mod resolve;
