//! One step of a graph: its action, its start condition, and the effect of its failure.

use charter_contract::filling::FillBudget;
use charter_contract::for_each::ForEach;
use charter_contract::ids::{ScriptId, StepId, TaskId, ToolId};
use charter_contract::json::{memory_of, memory_of_fields};
use charter_contract::placeholder::is_plain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::reference::{Bindings, ReferenceError, resolve};

/// The action of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepAction")]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum StepAction {
    /// Calls a tool: the only action that has an effect.
    Call {
        /// The tool.
        tool: ToolId,
        /// Its arguments.
        #[serde(flatten)]
        arguments: Arguments,
        /// A script of the pinned playbook that replaces the tool's own body.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<ScriptId>,
        /// Whether the call changes something outside Charter.
        writes: bool,
    },
    /// Chooses the first branch whose expression is true, or else the default.
    Choose {
        /// The branches, in order of evaluation.
        branches: Vec<Branch>,
        /// The step to run if no branch matches.
        otherwise: StepId,
    },
    /// Concludes with an outcome.
    Conclude {
        /// The step's output.
        output: Value,
    },
    /// Repeats a call for each item of a list. The items are added as steps when the list is known, and the step then
    /// waits for them. Its output is the list of their outputs.
    ForEach {
        /// The list, with references.
        items: Value,
        /// The maximum number of items.
        max_items: usize,
        /// The maximum number of items that run at the same time.
        concurrency: usize,
        /// The call of each item.
        each: Box<StepAction>,
    },
}

impl StepAction {
    /// Returns the step's own action, or that of each of its items.
    #[must_use]
    pub fn each(&self) -> &Self {
        match self {
            Self::ForEach { each, .. } => each,
            Self::Call { .. } | Self::Choose { .. } | Self::Conclude { .. } => self,
        }
    }

    /// Repeats a call for each item of a list, if a document asks for that.
    #[must_use]
    pub fn repeated(self, for_each: Option<&ForEach>) -> Self {
        match for_each {
            None => self,
            Some(for_each) => Self::ForEach {
                items: for_each.items.clone(),
                max_items: for_each.limit(),
                concurrency: for_each.at_once(),
                each: Box::new(self),
            },
        }
    }

    /// Estimates the memory of the action's values, in bytes.
    fn memory(&self) -> usize {
        match self {
            Self::Call { arguments, .. } => memory_of_fields(arguments.written()),
            Self::Choose { .. } => 0,
            Self::Conclude { output } => memory_of(output),
            Self::ForEach { items, each, .. } => memory_of(items).saturating_add(each.memory()),
        }
    }
}

/// The arguments of a step that calls a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenArguments", into = "WrittenArguments")]
pub enum Arguments {
    /// Templates of a document: `${…}` in a text is a reference.
    Template(Map<String, Value>),
    /// Values of a caller: `${…}` in a text is plain text.
    Exact(Map<String, Value>),
}

/// The journal format of [`Arguments`].
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepArguments")]
struct WrittenArguments {
    /// The parameters of the tool.
    parameters: Map<String, Value>,
    /// Whether `${…}` in the parameters is plain text instead of a reference.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    exact: bool,
}

impl Arguments {
    /// Exact values. If no text has `${`, the values are equal to their template, and the journal omits `exact`.
    #[must_use]
    pub fn exact(values: Map<String, Value>) -> Self {
        if values.values().all(reads_alike) {
            Self::Template(values)
        } else {
            Self::Exact(values)
        }
    }

    /// The unresolved arguments.
    #[must_use]
    pub const fn written(&self) -> &Map<String, Value> {
        match self {
            Self::Template(written) | Self::Exact(written) => written,
        }
    }

    /// Resolves all references. An argument that refers to an optional parameter without a value is omitted.
    ///
    /// # Errors
    /// The first reference that is malformed, has no value, or exceeds a limit.
    pub fn resolve(
        &self,
        bindings: Bindings<'_>,
        filling: &mut FillBudget,
    ) -> Result<Map<String, Value>, ReferenceError> {
        let written = match self {
            Self::Exact(values) => return Ok(values.clone()),
            Self::Template(written) => written,
        };
        let mut values = Map::new();
        for (name, value) in written {
            match resolve(value, bindings, filling) {
                Ok(value) => {
                    values.insert(name.clone(), value);
                }
                Err(ReferenceError::NoParameter { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(values)
    }

    /// The arguments that may have references.
    pub fn templates(&self) -> impl Iterator<Item = &Value> {
        let written = match self {
            Self::Template(written) => Some(written),
            Self::Exact(_) => None,
        };
        written.into_iter().flat_map(Map::values)
    }
}

/// Whether a value equals its own template, because no text has `${`.
fn reads_alike(value: &Value) -> bool {
    match value {
        Value::String(text) => is_plain(text),
        Value::Array(items) => items.iter().all(reads_alike),
        Value::Object(fields) => fields.values().all(reads_alike),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

impl From<WrittenArguments> for Arguments {
    fn from(written: WrittenArguments) -> Self {
        match written.exact {
            true => Self::Exact(written.parameters),
            false => Self::Template(written.parameters),
        }
    }
}

impl From<Arguments> for WrittenArguments {
    fn from(arguments: Arguments) -> Self {
        let exact = matches!(arguments, Arguments::Exact(_));
        let (Arguments::Template(parameters) | Arguments::Exact(parameters)) = arguments;
        Self { parameters, exact }
    }
}

/// A branch of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepBranch")]
pub struct Branch {
    /// The CEL expression.
    pub when: String,
    /// The step it leads to.
    pub next: StepId,
}

/// The required result of an edge's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EdgeCondition")]
#[serde(rename_all = "snake_case")]
pub enum EdgeCondition {
    /// It succeeded.
    Success,
    /// It failed. Such a step runs even after the run was aborted (B003-6).
    Failure,
    /// The source ended with any result: an order without a dependency.
    Settled,
    /// The source is a choice, and chose this step.
    Chosen,
}

/// A step's condition on an earlier step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepEdge")]
pub struct Edge {
    /// The earlier step.
    pub from: StepId,
    /// The required result.
    pub on: EdgeCondition,
}

/// The number of a step's edges that must hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepJoin")]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// All edges.
    #[default]
    All,
    /// At least one edge, for steps with several incoming paths.
    Any,
}

/// The start condition of a step. It is evaluated once every source has settled. A step whose edges do not hold, or
/// whose expression is false, is skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepEntry")]
pub struct Entry {
    /// Conditions on earlier steps; empty for a step that may start at once.
    pub edges: Vec<Edge>,
    /// The number of edges that must hold.
    #[serde(default)]
    pub join: Join,
    /// A CEL expression that must be true too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// The effect of a failed step on the rest of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterFailure {
    /// No further step starts, and the run fails.
    Abort,
    /// As for `Abort`, and completed writes are reversed.
    RollBack,
    /// Steps that require its success are skipped; the others run.
    #[serde(alias = "go_on")]
    Continue,
}

/// The retries of a step (B003-7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepRetry")]
pub struct Retry {
    /// Retries after the first attempt.
    pub retries: u32,
    /// Time between attempts, in milliseconds.
    pub delay_ms: u64,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PlannedStep")]
pub struct Step {
    /// Its id.
    pub id: StepId,
    /// The action.
    pub action: StepAction,
    /// The start condition.
    #[serde(default)]
    pub entry: Entry,
    /// The effect of a failure.
    pub after_failure: AfterFailure,
    /// Whether a person must review each call, in every case (ruling 10).
    #[serde(default)]
    pub reviewed: bool,
    /// The retries.
    #[serde(default)]
    pub retry: Retry,
    /// The timeout of one attempt in milliseconds; 0 means no timeout of the step itself (B003-7).
    #[serde(default)]
    pub timeout_ms: u64,
    /// The time for which a result may be reused for an equal call, in seconds; 0 means never.
    #[serde(default)]
    pub cache_ttl_seconds: u64,
    /// Whether the step may use tokens of the run's budget. Such a step does not begin once the budget is used up
    /// (B002-17).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spends: bool,
    /// The mission task that the call is for. The task's prompt package and pass define the allowed calls (B002-5,
    /// B002-8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mandate: Option<TaskId>,
    /// An earlier read whose result must be unchanged when this step begins. Otherwise this step would change something
    /// other than what was decided on (B002-13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless_changed: Option<StepId>,
    /// The step that this one reverses. Reversals do not run in the forward direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverses: Option<StepId>,
    /// The item that the step is for, if it was added by a step that is repeated for each item of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Box<StepItem>>,
}

/// One item of a list for whose items a step is repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepItem")]
pub struct StepItem {
    /// The repeated step.
    pub of: StepId,
    /// The position of the item, from 1.
    pub number: usize,
    /// The item.
    pub value: Value,
}

impl Step {
    /// Creates a step without dependencies and limits.
    #[must_use]
    pub fn new(id: StepId, action: StepAction, after_failure: AfterFailure) -> Self {
        Self {
            id,
            action,
            entry: Entry::default(),
            after_failure,
            reviewed: false,
            retry: Retry::default(),
            timeout_ms: 0,
            cache_ttl_seconds: 0,
            spends: false,
            mandate: None,
            unless_changed: None,
            reverses: None,
            item: None,
        }
    }

    /// Returns the tool that the step, or each of its items, calls, if any.
    #[must_use]
    pub fn tool(&self) -> Option<&ToolId> {
        match self.action.each() {
            StepAction::Call { tool, .. } => Some(tool),
            StepAction::Choose { .. }
            | StepAction::Conclude { .. }
            | StepAction::ForEach { .. } => None,
        }
    }

    /// Returns whether the step, or each of its items, changes something outside Charter.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(self.action.each(), StepAction::Call { writes: true, .. })
    }

    /// Returns whether the step is repeated for each item of a list.
    #[must_use]
    pub fn repeats(&self) -> bool {
        matches!(self.action, StepAction::ForEach { .. })
    }

    /// Estimates the memory of the step's values, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let item = self.item.as_deref();
        let item = item.map_or(0, |item| memory_of(&item.value));
        self.action.memory().saturating_add(item)
    }
}
