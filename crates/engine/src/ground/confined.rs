//! Computation of packages: jq filters, and templates with expressions. Each runs in a process of the sandbox, bounded
//! in time and memory, because it may loop or grow and its author is not trusted with this process. Templates without
//! expressions are filled in here.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::agentic::error::ErrorType;
use charter_contract::bounds::{
    EVALUATION_MEMORY, EVALUATION_TIME, FILLED_TOGETHER, FILTER_MEMORY, FILTER_TIME,
};
use charter_contract::error_code::ErrorCode;
use charter_contract::filling::FillBudget;
use charter_contract::ids::{TenantId, ToolId};
use charter_domain::template::{Filled, Structure};
use charter_effects::{
    DryRun, Language, Limits, PackageFiles, ScriptTool, Target, ToolCall, ToolImplementation,
    ToolOutcome, ToolRunner, UnlimitedOutput,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::EngineError;
use crate::ground::fair_slots::{FairSlots, Slot};

/// Maximum concurrent processes. Each only computes, so more than there are processors would slow each other down, and
/// also this process, which has leases to renew.
pub(crate) fn at_once() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// A template with one set of values: the result, or why it cannot be filled in.
pub(crate) type Rendered = Result<Value, String>;

/// The computation of one process.
struct Computation<'a> {
    /// Its name in messages.
    what: &'a str,
    /// Its name in the log.
    tool: &'static str,
    language: Language,
    /// The program's path among the files of its call.
    entry: &'static str,
    program: String,
    parameters: Map<String, Value>,
    limits: Limits,
}

/// Runs the computations of packages, in slots that are shared fairly between tenants.
pub(crate) struct Computations {
    slots: FairSlots,
    tools: Arc<dyn ToolRunner>,
    shutdown: CancellationToken,
}

impl Computations {
    pub(crate) fn new(tools: Arc<dyn ToolRunner>, shutdown: CancellationToken) -> Self {
        Self {
            slots: FairSlots::new(at_once()),
            tools,
            shutdown,
        }
    }

    /// Returns every value that a tenant's filter emits for an input, at most `limit` values. `what` names the filter
    /// in messages.
    ///
    /// # Errors
    /// `tool_failed` or `tool_timeout` if the package is at fault; `unavailable` if the engine stops first.
    pub(crate) async fn filter(
        &self,
        tenant: &TenantId,
        what: &str,
        program: &str,
        input: impl FnOnce() -> Value,
        limit: usize,
    ) -> Result<Vec<Value>, EngineError> {
        let place = self.slots.take(tenant).await;
        // Made when its turn has come, so that waiting callers hold no copies.
        let filter = Computation {
            what,
            tool: "charter.filter",
            language: Language::Filter,
            entry: "filter.jq",
            program: program.to_owned(),
            parameters: Map::from_iter([
                ("input".to_owned(), input()),
                ("limit".to_owned(), json!(limit)),
            ]),
            limits: limits(FILTER_TIME, FILTER_MEMORY),
        };
        match self.compute(place, filter).await? {
            Value::Array(emitted) => Ok(emitted),
            _ => Err(EngineError::internal(
                "running a filter",
                "it returned no list",
            )),
        }
    }

    /// Fills in a template once. `what` names the template in messages.
    ///
    /// # Errors
    /// `unavailable` if the engine stops first. A template that cannot be filled in is not an error.
    pub(crate) async fn fill_in(
        &self,
        tenant: &TenantId,
        what: &str,
        structure: &Value,
        values: Map<String, Value>,
    ) -> Result<Rendered, EngineError> {
        if let Some(mut rendered) = fill_in_here(what, structure, std::iter::once(&values)) {
            return Ok(rendered.remove(0));
        }
        let mut rendered = self.evaluate(tenant, what, structure, vec![values]).await?;
        Ok(rendered.remove(0))
    }

    /// Fills in a template with expressions, once for each set of values, in one process.
    ///
    /// # Errors
    /// `unavailable` if the engine stops first. A template that cannot be filled in, or that is killed at its limits,
    /// is not an error.
    pub(crate) async fn evaluate(
        &self,
        tenant: &TenantId,
        what: &str,
        structure: &Value,
        all: Vec<Map<String, Value>>,
    ) -> Result<Vec<Rendered>, EngineError> {
        let count = all.len();
        let values = all.into_iter().map(Value::Object).collect();
        let template = Computation {
            what,
            tool: "charter.template",
            language: Language::Template,
            entry: "template.json",
            program: structure.to_string(),
            parameters: Map::from_iter([("values".to_owned(), Value::Array(values))]),
            limits: Limits {
                // As JSON, with all escapes.
                output_bytes: 2 * FILLED_TOGETHER,
                ..limits(EVALUATION_TIME, EVALUATION_MEMORY)
            },
        };
        let place = self.slots.take(tenant).await;
        match self.compute(place, template).await {
            Ok(output) => outcomes(what, output, count),
            Err(error) if matches!(error.code, ErrorCode::ToolFailed | ErrorCode::ToolTimeout) => {
                let fault = format!(
                    "{} (a template has {EVALUATION_TIME} ms and {EVALUATION_MEMORY} bytes of memory)",
                    error.message
                );
                Ok(vec![Err(fault); count])
            }
            Err(error) => Err(error),
        }
    }

    /// Runs a computation to its end, in a slot of its tenant.
    async fn compute(
        &self,
        _place: Slot,
        computation: Computation<'_>,
    ) -> Result<Value, EngineError> {
        let what = computation.what;
        let call = computation.call()?;
        match self.tools.run(call, self.shutdown.child_token()).await {
            ToolOutcome::Succeeded { output, .. } => Ok(output),
            // Cut off by this process's shutdown, which is not the package's fault.
            ToolOutcome::Failed { .. } if self.shutdown.is_cancelled() => {
                Err(EngineError::interrupted())
            }
            ToolOutcome::Failed { kind, message, .. } => {
                Err(EngineError::new(failed(kind), format!("{what}: {message}")))
            }
        }
    }
}

impl Computation<'_> {
    fn call(self) -> Result<ToolCall, EngineError> {
        let internal = "preparing a package's computations";
        let files = BTreeMap::from([(self.entry.to_owned(), self.program)]);
        let files =
            PackageFiles::new(files).map_err(|error| EngineError::internal(internal, error))?;
        Ok(ToolCall {
            tool_id: ToolId::parse(self.tool)
                .map_err(|error| EngineError::internal(internal, error))?,
            implementation: ToolImplementation::Script(ScriptTool {
                language: self.language,
                entry: self.entry.to_owned(),
                files: Arc::new(files),
            }),
            target: Target::Here,
            parameters: self.parameters,
            dry_run: DryRun::No,
            limits: self.limits,
            environment: Vec::new(),
            egress: Vec::new(),
            readable: Vec::new(),
            idempotency_key: self.what.to_owned(),
            // The slots bound the number of processes, and one that waits for memory would block a slot.
            room: Arc::new(UnlimitedOutput),
        })
    }
}

/// Fills in a template in this process, once for each set of values; `None` for one with expressions.
pub(crate) fn fill_in_here<V: Borrow<Map<String, Value>>>(
    what: &str,
    structure: &Value,
    all: impl Iterator<Item = V>,
) -> Option<Vec<Rendered>> {
    let named = |error: &dyn std::fmt::Display| format!("{what}: {error}");
    let plain = match Structure::read(structure) {
        Ok(Structure::Plain(plain)) => plain,
        Ok(Structure::Program) => return None,
        Err(error) => return Some(all.map(|_| Err(named(&error))).collect()),
    };
    let mut together = FillBudget::with_limit(FILLED_TOGETHER);
    let rendered = all.map(|values| {
        let filled = plain.fill(values.borrow(), &mut together);
        filled.map_err(|error| named(&error))
    });
    Some(rendered.collect())
}

/// Reads the outcome of each set of values from the output of the process.
fn outcomes(what: &str, output: Value, count: usize) -> Result<Vec<Rendered>, EngineError> {
    let internal = "filling in a template";
    let filled = Vec::<Filled>::deserialize(output)
        .map_err(|error| EngineError::internal(internal, error))?;
    if filled.len() != count {
        let message = format!("{} outcomes for {count} sets of values", filled.len());
        return Err(EngineError::internal(internal, message));
    }
    let rendered = filled.into_iter().map(|filled| match filled {
        Filled::Value(value) => Ok(value),
        Filled::Fault(fault) => Err(format!("{what}: {fault}")),
    });
    Ok(rendered.collect())
}

fn limits(milliseconds: usize, bytes: usize) -> Limits {
    let timeout = Duration::from_millis(milliseconds as u64);
    Limits {
        timeout,
        cpu_seconds: timeout.as_secs(),
        memory_bytes: bytes as u64,
        ..Limits::default()
    }
}

fn failed(kind: ErrorType) -> ErrorCode {
    match kind {
        ErrorType::TimeoutError => ErrorCode::ToolTimeout,
        ErrorType::InputError
        | ErrorType::ExecutionError
        | ErrorType::ResourceError
        | ErrorType::PermissionError
        | ErrorType::SystemError => ErrorCode::ToolFailed,
    }
}
