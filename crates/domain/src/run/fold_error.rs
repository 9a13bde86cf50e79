//! The reasons why a journal cannot be folded into a run.

use charter_contract::ids::StepId;

use crate::graph::GraphError;

/// The reason why a journal cannot be folded: this machine did not write it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// The first event is not a start event, or a later one is.
    #[error("the journal does not start with its start event")]
    Start,
    /// An event names a step that the run does not have.
    #[error("the journal names an unknown step `{0}`")]
    UnknownStep(StepId),
    /// An event continues with a fallback that does not exist.
    #[error("corrupt journal: fallback event without a fallback plan")]
    NoFallback,
    /// A result adds steps that do not fit the graph.
    #[error("the journal adds invalid steps: {0}")]
    GraphAdditions(GraphError),
    /// An event follows the last one.
    #[error("the journal continues after its end")]
    Ended,
}
