//! From a question to its answer: requests, sessions, tasks and tool calls of other agents, analyses by a model, and
//! candidates where nothing registered fits.

pub(crate) mod analysis;
pub(crate) mod candidates;
pub(crate) mod requests;
pub(crate) mod sessions;
pub(crate) mod tasks;
pub(crate) mod tool_invocations;

#[cfg(test)]
mod tests;
