//! One step of a graph: what it does, when it may start, and what its failure does.

use charter_contract::filling::FillBudget;
use charter_contract::ids::{ScriptId, StepId, TaskId, ToolId};
use charter_contract::json::{memory_of, memory_of_fields};
use charter_contract::placeholder::is_plain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::reference::{Bindings, ReferenceError, resolve};

/// What a step does.
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
        /// A script of the pinned playbook that is run in place of the tool's own body.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<ScriptId>,
        /// Whether it changes something outside.
        writes: bool,
    },
    /// Takes the first branch whose expression holds, else the last way.
    Choose {
        /// Expression and the step that it leads to, in the order in which they are tried.
        branches: Vec<Branch>,
        /// Where to go when none holds.
        otherwise: StepId,
    },
    /// Says what was decided.
    Conclude {
        /// What is written out as the step's output.
        output: Value,
    },
}

impl StepAction {
    /// Bytes of memory that its values take, by estimate.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Call { arguments, .. } => memory_of_fields(arguments.written()),
            Self::Choose { .. } => 0,
            Self::Conclude { output } => memory_of(output),
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

/// A way that a choice may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepBranch")]
pub struct Branch {
    /// The CEL expression.
    pub when: String,
    /// The step it leads to.
    pub next: StepId,
}

/// What must have become of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EdgeCondition")]
#[serde(rename_all = "snake_case")]
pub enum EdgeCondition {
    /// It succeeded.
    Success,
    /// It failed. Such a step runs even after the run was aborted (B003-6).
    Failure,
    /// It ended, however: order without dependence.
    Settled,
    /// It is a choice and chose this step.
    Chosen,
}

/// One step's claim on an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepEdge")]
pub struct Edge {
    /// The earlier step.
    pub from: StepId,
    /// What must have become of it.
    pub on: EdgeCondition,
}

/// How many of a step's edges must hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepJoin")]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// Every one.
    #[default]
    All,
    /// At least one: several ways lead here.
    Any,
}

/// When a step may start. It is decided once every source has settled; a step whose edges do not
/// hold, or whose expression is false, is skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepEntry")]
pub struct Entry {
    /// Its claims on earlier steps; none for a step that may start at once.
    pub edges: Vec<Edge>,
    /// How many must hold.
    #[serde(default)]
    pub join: Join,
    /// A CEL expression that must be true as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// What happens to the rest of a run when a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterFailure {
    /// Nothing that has not started starts any more; the run fails.
    Abort,
    /// The same, and completed writes are reversed.
    RollBack,
    /// Steps that claim its success are skipped; the others run.
    #[serde(alias = "go_on")]
    Continue,
}

/// How a step is tried again (B003-7).
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
    /// What it does.
    pub action: StepAction,
    /// When it may start.
    #[serde(default)]
    pub entry: Entry,
    /// What a failure does.
    pub after_failure: AfterFailure,
    /// Whether a person must review each call, whatever else holds (ruling 10).
    #[serde(default)]
    pub reviewed: bool,
    /// How it is tried again.
    #[serde(default)]
    pub retry: Retry,
    /// Limit of one attempt in milliseconds; 0 sets no limit of the step's own (B003-7).
    #[serde(default)]
    pub timeout_ms: u64,
    /// How long a result may be used again for the same call, in seconds; 0 for never.
    #[serde(default)]
    pub cache_ttl_seconds: u64,
    /// Whether it may use tokens of the run's budget: none is begun once that is used up (B002-17).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spends: bool,
    /// The task of a mission that it is called for: the task's prompt package and pass say what may be
    /// called (B002-5, B002-8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mandate: Option<TaskId>,
    /// An earlier call, which only reads, that must still answer what it did when this one begins: else
    /// what this one changes is not what somebody decided on (B002-13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless_changed: Option<StepId>,
    /// The step that it reverses. A reversal is no part of the way forward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverses: Option<StepId>,
}

impl Step {
    /// A step that waits for nothing, with no limits of its own.
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
        }
    }

    /// The tool it calls, if it calls one.
    #[must_use]
    pub fn tool(&self) -> Option<&ToolId> {
        match &self.action {
            StepAction::Call { tool, .. } => Some(tool),
            StepAction::Choose { .. } | StepAction::Conclude { .. } => None,
        }
    }

    /// Whether it changes something outside.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(self.action, StepAction::Call { writes: true, .. })
    }
}
