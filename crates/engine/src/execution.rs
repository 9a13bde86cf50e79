//! Execution and its record: runs with their journals and approvals, starting them, outputs and findings,
//! evidence and its log, executors, events, notifications, and the other replicas.

pub(crate) mod asking;
pub(crate) mod call_links;
pub(crate) mod events;
pub(crate) mod evidence;
pub(crate) mod evidence_log;
pub(crate) mod executors;
pub(crate) mod explain;
pub(crate) mod findings;
pub(crate) mod linked_calls;
pub(crate) mod notifications;
pub(crate) mod outputs;
pub(crate) mod previews;
pub(crate) mod replicas;
pub(crate) mod runs;
pub(crate) mod starts;
pub(crate) mod tags;
pub(crate) mod tool_contents;
pub(crate) mod tool_results;

#[cfg(test)]
mod tests;
