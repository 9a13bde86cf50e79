//! The trait of tools and their answers. Must not know which tools there are.

use charter_engine::{Caller, EngineError};
use rmcp::model::{CreateTaskResult, InputRequiredResult, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;

/// The answer of a tool.
pub(super) enum ToolReply<T> {
    /// It is done.
    Done(T),
    /// It failed, with this report.
    Failed(T),
    /// The person at the client must answer a question first.
    Asks(InputRequiredResult),
    /// It continues; the client follows the task.
    Task(CreateTaskResult),
}

/// A tool. Its schemas come from its types, and every word of its description is read by a model.
pub(super) trait McpTool: 'static {
    /// Its name.
    const NAME: &'static str;
    /// Its name for people.
    const TITLE: &'static str;
    /// Its purpose, when to use it, and the next step.
    const DESCRIPTION: &'static str;
    /// Its arguments.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// Its output.
    type Output: Serialize + JsonSchema;

    /// Hints about its effects.
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

/// The name of a tool's arguments in errors.
pub(super) fn arguments_of(tool: &str) -> String {
    format!("the arguments of `{tool}`")
}
