//! What a tool is, and what it answers. Must not know which tools there are.

use charter_engine::{Caller, EngineError};
use rmcp::model::{CreateTaskResult, InputRequiredResult, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;

/// What a tool answers.
pub(super) enum ToolReply<T> {
    /// It is done.
    Done(T),
    /// What was to be done failed, and this says how.
    Failed(T),
    /// The person at the client has to say something first.
    Asks(InputRequiredResult),
    /// It goes on; the client looks after it.
    Task(CreateTaskResult),
}

/// A tool. Its schemas come from its types, and every word of its description is read by a model.
pub(super) trait McpTool: 'static {
    /// Its name.
    const NAME: &'static str;
    /// Its name for people.
    const TITLE: &'static str;
    /// What it does, when to use it, and what comes next.
    const DESCRIPTION: &'static str;
    /// What it takes.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// What it gives.
    type Output: Serialize + JsonSchema;

    /// What it may do to the world.
    fn annotations() -> ToolAnnotations;

    /// Whether it is of any use to a caller; it is not listed for others.
    fn serves(_caller: &Caller) -> bool {
        true
    }

    /// Carries it out.
    fn call(
        call: &Call,
        input: Self::Input,
    ) -> impl Future<Output = Result<ToolReply<Self::Output>, EngineError>> + Send;
}

/// How an error calls what a tool was called with.
pub(super) fn arguments_of(tool: &str) -> String {
    format!("the arguments of `{tool}`")
}
