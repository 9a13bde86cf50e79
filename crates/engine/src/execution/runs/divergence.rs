//! Where a journal and the run machine differ.

use schemars::JsonSchema;
use serde::Serialize;

/// Where a journal is not what the run machine wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ReplayDivergence")]
pub struct ReplayDivergence {
    /// The event's position, from 1.
    pub at: u64,
    /// What is wrong with it.
    pub detail: String,
}

impl ReplayDivergence {
    pub(super) fn new(at: u64, detail: String) -> Self {
        Self { at, detail }
    }
}
