//! One step's effect: parameters resolved and checked, the gate asked, the tool called, its result
//! checked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::catalogue::tool::{Implementation, Tool, ToolClass};
use charter_contract::catalogue::vocabulary::Language;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{StepId, TenantId, ToolId};
use charter_domain::catalogue::Entry;
use charter_domain::guardrail::{EffectClass, Judgement, Resolved, judge};
use charter_domain::parameters;
use charter_domain::reference::resolve;
use charter_domain::run::{ErrorKind, ResultSource, Run, StepFailure};
use charter_effects::{
    DryRun, HostPattern, HttpTool, Limits, PackageFiles, ScriptTool, ToolCall, ToolImplementation,
    ToolOutcome,
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::tool_results::ResultKey;
use crate::{Engine, EngineError, Role};

/// A tool as a run pinned it, with the files of its package.
#[derive(Debug, Clone)]
pub(crate) struct PinnedTool {
    pub(crate) entry: Arc<Entry<Tool>>,
    pub(crate) files: Arc<PackageFiles>,
}

/// What a run works with: its tools and the guardrails that bear on it.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    pub(crate) tenant: TenantId,
    pub(crate) role: Role,
    pub(crate) tools: BTreeMap<ToolId, PinnedTool>,
    pub(crate) guardrails: Vec<Resolved>,
}

/// An effect that may start.
#[derive(Debug)]
pub(crate) struct Prepared {
    step: StepId,
    tool: PinnedTool,
    tenant: TenantId,
    parameters: Map<String, Value>,
    judgement: Judgement,
    timeout: Duration,
    cache_ttl: Duration,
}

/// How a step ended.
#[derive(Debug)]
pub(crate) enum StepEnd {
    Succeeded {
        step: StepId,
        output: Value,
        source: ResultSource,
        duration_ms: u64,
    },
    Failed {
        step: StepId,
        failure: StepFailure,
    },
}

fn failure(kind: ErrorKind, code: ErrorCode, message: impl Into<String>) -> StepFailure {
    StepFailure {
        kind,
        code: code.as_str().to_owned(),
        message: message.into(),
        retryable: false,
    }
}

impl Workspace {
    /// Everything that is decided before an effect starts. Refusals are failures of the step.
    pub(crate) fn prepare(&self, run: &Run, step_id: &StepId) -> Result<Prepared, StepFailure> {
        let missing = |what: String| failure(ErrorKind::SystemError, ErrorCode::Internal, what);
        let step = run
            .graph()
            .step(step_id)
            .ok_or_else(|| missing(format!("the run has no step `{step_id}`")))?;
        let tool = self
            .tools
            .get(&step.tool)
            .ok_or_else(|| missing(format!("the run has no tool `{}`", step.tool)))?;
        let document = &tool.entry.document;
        let parameters = bind(run, &step.parameters, document)?;
        let class = self.admit(document)?;
        let judgement = judge(&self.guardrails, class, &variables(document, &parameters));
        refuse(&judgement)?;
        let own = document
            .timeout_ms
            .map(|limit| Duration::from_millis(limit.get()));
        let timeout = match (step.timeout_ms, own) {
            (0, own) => own.unwrap_or(Limits::TIMEOUT),
            (limit, own) => own
                .unwrap_or(Duration::MAX)
                .min(Duration::from_millis(limit)),
        };
        Ok(Prepared {
            step: step_id.clone(),
            tool: tool.clone(),
            tenant: self.tenant.clone(),
            parameters,
            judgement,
            timeout,
            cache_ttl: Duration::from_secs(step.cache_ttl_seconds),
        })
    }

    /// B000-11 and B003-4: readonly tools only, and none above the caller's permission.
    fn admit(&self, tool: &Tool) -> Result<EffectClass, StepFailure> {
        let denied = |message| {
            Err(failure(
                ErrorKind::PermissionError,
                ErrorCode::PermissionDenied,
                message,
            ))
        };
        if !self.role.may_call(tool.permission_level) {
            return denied(format!(
                "the tool `{}` needs the permission level {}",
                tool.tool_id, tool.permission_level
            ));
        }
        match tool.tool_class {
            ToolClass::Readonly => Ok(EffectClass::Read),
            ToolClass::Write | ToolClass::Internal => denied(format!(
                "a skill may use readonly tools only; `{}` is {}",
                tool.tool_id, tool.tool_class
            )),
        }
    }
}

/// Resolves a step's parameters and checks them against the tool's declaration.
fn bind(
    run: &Run,
    written: &Map<String, Value>,
    tool: &Tool,
) -> Result<Map<String, Value>, StepFailure> {
    let input =
        |message: String| failure(ErrorKind::InputError, ErrorCode::InvalidParameters, message);
    let mut given = Map::new();
    for (name, value) in written {
        // A reference to an optional parameter without a value leaves the argument out.
        match resolve(value, run.bindings()) {
            Ok(value) => {
                given.insert(name.clone(), value);
            }
            Err(charter_domain::reference::ReferenceError::NoParameter { .. }) => {}
            Err(error) => return Err(input(error.to_string())),
        }
    }
    parameters::bind(&tool.parameters, &given).map_err(|faults| {
        let error = EngineError::parameters(&format!("the tool `{}`", tool.tool_id), &faults);
        failure(ErrorKind::InputError, error.code, error.to_string())
    })
}

/// What guardrail expressions may ask about.
fn variables(tool: &Tool, parameters: &Map<String, Value>) -> Map<String, Value> {
    let tool = json!({
        "tool_id": tool.tool_id, "name": tool.name, "tool_class": tool.tool_class,
        "provider": tool.provider, "service": tool.service, "domain": tool.domain,
        "permission_level": tool.permission_level, "execution_target": tool.execution_target,
    });
    let dry_run = parameters
        .get("dry_run")
        .cloned()
        .unwrap_or(Value::Bool(false));
    let parameters = Value::Object(parameters.clone());
    [
        ("tool", tool),
        ("parameters", parameters),
        ("dry_run", dry_run),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into_iter()
    .collect()
}

fn refuse(judgement: &Judgement) -> Result<(), StepFailure> {
    match judgement {
        Judgement::Allow { .. } => Ok(()),
        Judgement::Deny { ruling } => Err(failure(
            ErrorKind::PermissionError,
            ErrorCode::GuardrailBlocked,
            format!("{}: {}", ruling.guardrail_id, ruling.message),
        )),
        Judgement::NeedsApproval { rulings } => {
            let messages: Vec<String> = rulings
                .iter()
                .map(|ruling| format!("{}: {}", ruling.guardrail_id, ruling.message))
                .collect();
            Err(failure(
                ErrorKind::PermissionError,
                ErrorCode::ApprovalRequired,
                messages.join("; "),
            ))
        }
    }
}

impl Prepared {
    pub(crate) fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    pub(crate) fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    pub(crate) fn tool(&self) -> &ToolId {
        &self.tool.entry.document.tool_id
    }

    /// Calls the tool, or takes an earlier result of the same call that is still fresh enough.
    pub(crate) async fn perform(
        self,
        engine: &Engine,
        key: String,
        cancel: CancellationToken,
    ) -> StepEnd {
        let step = self.step.clone();
        let result_key = ResultKey::new(&self.tenant, &self.tool.entry, &self.parameters);
        if let Some(output) = engine
            .tool_results()
            .get(&result_key, self.cache_ttl, engine.now())
        {
            return StepEnd::Succeeded {
                step,
                output,
                source: ResultSource::Cached,
                duration_ms: 0,
            };
        }
        match self.call(engine, key, cancel).await {
            Ok((output, duration_ms)) => {
                engine
                    .tool_results()
                    .put(result_key, output.clone(), engine.now());
                StepEnd::Succeeded {
                    step,
                    output,
                    source: ResultSource::Fresh,
                    duration_ms,
                }
            }
            Err(failure) => StepEnd::Failed { step, failure },
        }
    }

    async fn call(
        self,
        engine: &Engine,
        key: String,
        cancel: CancellationToken,
    ) -> Result<(Value, u64), StepFailure> {
        let entry = Arc::clone(&self.tool.entry);
        let call = self.tool_call(engine, key)?;
        let _slot = engine.tool_slot().await;
        match engine.tools().run(call, cancel).await {
            ToolOutcome::Succeeded {
                output,
                duration_ms,
                ..
            } => {
                check_output(&entry.document, &output)?;
                Ok((output, duration_ms))
            }
            ToolOutcome::Failed {
                kind,
                message,
                retryable,
                ..
            } => Err(StepFailure {
                kind,
                code: code_of(kind).as_str().to_owned(),
                message: format!("the tool `{}` failed: {message}", entry.document.tool_id),
                retryable,
            }),
        }
    }

    fn tool_call(self, engine: &Engine, idempotency_key: String) -> Result<ToolCall, StepFailure> {
        let document = &self.tool.entry.document;
        let grants = &engine.settings().grants;
        let granted = |name: &str| grants.environment.get(name);
        let environment: Vec<(String, String)> = document
            .environment
            .iter()
            .filter_map(|name| Some((name.to_string(), granted(name.as_ref())?.clone())))
            .collect();
        let readable = environment
            .iter()
            .filter_map(|(name, _)| grants.readable.get(name))
            .flatten();
        let readable = readable.cloned().collect();
        let egress = egress(document, &grants.egress)?;
        Ok(ToolCall {
            tool_id: document.tool_id.clone(),
            implementation: implementation(document, &self.tool.files)?,
            parameters: self.parameters,
            dry_run: DryRun::No,
            limits: Limits {
                timeout: self.timeout,
                ..Limits::default()
            },
            environment,
            egress,
            readable,
            idempotency_key,
        })
    }
}

/// The tool's own hosts, and the operator's for every tool that has any.
fn egress(tool: &Tool, granted: &[String]) -> Result<Vec<HostPattern>, StepFailure> {
    if tool.egress.is_empty() {
        return Ok(Vec::new());
    }
    let own = tool.egress.iter().map(|pattern| pattern.as_str());
    own.chain(granted.iter().map(String::as_str))
        .map(|pattern| {
            pattern.parse().map_err(|error| {
                let message = format!(
                    "the host pattern `{pattern}` of `{}`: {error}",
                    tool.tool_id
                );
                failure(ErrorKind::SystemError, ErrorCode::InvalidDocument, message)
            })
        })
        .collect()
}

fn implementation(
    tool: &Tool,
    files: &Arc<PackageFiles>,
) -> Result<ToolImplementation, StepFailure> {
    let unsupported = |what: &str| {
        let message = format!(
            "the tool `{}` has no {what} that can be run here",
            tool.tool_id
        );
        failure(ErrorKind::SystemError, ErrorCode::ToolFailed, message)
    };
    let language = || match tool.language {
        Language::Python => Ok(charter_effects::Language::Python),
        Language::Bash => Ok(charter_effects::Language::Bash),
        Language::Http => Err(unsupported("script")),
    };
    match &tool.implementation {
        None => Err(unsupported("implementation")),
        Some(Implementation::Script { path, body }) => match (path, body) {
            (Some(path), _) => Ok(ToolImplementation::Script(ScriptTool {
                language: language()?,
                entry: path.to_string(),
                files: Arc::clone(files),
            })),
            (None, Some(body)) => {
                let entry = format!("scripts/{}", tool.tool_id);
                let alone = BTreeMap::from([(entry.clone(), body.to_string())]);
                let files = PackageFiles::new(alone).map_err(|error| {
                    failure(
                        ErrorKind::SystemError,
                        ErrorCode::InvalidDocument,
                        error.to_string(),
                    )
                })?;
                Ok(ToolImplementation::Script(ScriptTool {
                    language: language()?,
                    entry,
                    files: Arc::new(files),
                }))
            }
            (None, None) => Err(unsupported("script")),
        },
        Some(Implementation::Http {
            method,
            url,
            headers,
            query,
            body,
        }) => Ok(ToolImplementation::Http(HttpTool {
            method: *method,
            url: url.to_string(),
            headers: headers
                .iter()
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
            query: query
                .iter()
                .map(|(k, v)| (k.clone(), Value::String(v.clone())))
                .collect(),
            body: body.clone(),
        })),
    }
}

fn code_of(kind: ErrorKind) -> ErrorCode {
    match kind {
        ErrorKind::TimeoutError => ErrorCode::ToolTimeout,
        ErrorKind::InputError
        | ErrorKind::ExecutionError
        | ErrorKind::ResourceError
        | ErrorKind::PermissionError
        | ErrorKind::SystemError => ErrorCode::ToolFailed,
    }
}

/// B003-4: a result is checked against what the tool declares.
fn check_output(tool: &Tool, output: &Value) -> Result<(), StepFailure> {
    let Some(schema) = &tool.output_schema else {
        return Ok(());
    };
    let violations = charter_contract::validate::against_schema(schema, output);
    let Some(first) = violations.first() else {
        return Ok(());
    };
    let message = format!(
        "the tool `{}` answered something other than it declares: {first}",
        tool.tool_id
    );
    Err(failure(
        ErrorKind::ExecutionError,
        ErrorCode::ToolResultInvalid,
        message,
    ))
}
