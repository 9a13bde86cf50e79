//! One step's effect: resolves and checks parameters, asks the gate, calls the tool, checks the result.

mod analysis;
mod own;
mod stages;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::{JSON_MEMORY, RUN_MEMORY};
use charter_contract::catalogue::playbook::SafetyClass;
use charter_contract::catalogue::policy::RunKind;
use charter_contract::catalogue::tool::{DRY_RUN, Implementation, Tool, ToolClass};
use charter_contract::catalogue::vocabulary::Role;
use charter_contract::error_code::ErrorCode;
use charter_contract::filling::FillBudget;
use charter_contract::ids::{PlaybookId, ScriptId, StepId, TenantId, ToolId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::approval::{Digest, ExactCall};
use charter_domain::catalogue::CatalogueEntry;
use charter_domain::gate::{GateDecision, RuleKind, RuleResult};
use charter_domain::graph::{Arguments, Step, StepAction};
use charter_domain::guardrail::{ApplicableGuardrail, RequestTags};
use charter_domain::mission::TARGET_CHANGED;
use charter_domain::parameters;
use charter_domain::policy::PolicySet;
use charter_domain::run::{ErrorKind, ResultSource, Run, StepFailure, StepYield, TokenUsage};
use charter_domain::tool_content;
use charter_effects::{Limits, PackageFiles, ScriptTool, ToolOutcome, check_against};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use self::own::InternalEffect;
use super::RunClients;
use super::progress::Progress;
use super::tool_calls::ToolCallService;
use crate::EngineError;
use crate::execution::outputs::{OutputAllocation, OutputMemory, RunMemory};
use crate::execution::tool_results::ResultKey;
use crate::identity::credentials::CallSecrets;

pub(crate) use analysis::{AnalysisDone, AnalysisOrder, AnalysisWork};
pub(crate) use stages::{StageFailure, StageResult, StageRunner, StageWork};

/// A tool as a run pinned it, with the files of its package.
#[derive(Debug, Clone)]
pub(crate) struct PinnedTool {
    pub(crate) entry: Arc<CatalogueEntry<Tool>>,
    pub(crate) files: Arc<PackageFiles>,
}

/// The context in which a run executes: its tools, and the rules that apply before they are called.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    pub(crate) tenant: TenantId,
    /// The user on whose behalf the run acts.
    pub(crate) by: UserId,
    /// The user's level.
    pub(crate) role: Role,
    /// The kind of document that is executed, and its id.
    pub(crate) kind: RunKind,
    pub(crate) subject: String,
    /// The document's domain; absent for a plan or a mission.
    pub(crate) domain: Option<String>,
    /// The tags of the run's request.
    pub(crate) tags: RequestTags,
    pub(crate) tools: BTreeMap<ToolId, PinnedTool>,
    /// Bodies of a playbook's steps and rollbacks.
    pub(crate) scripts: BTreeMap<ScriptId, ScriptTool>,
    pub(crate) guardrails: Vec<ApplicableGuardrail>,
    pub(crate) policies: Arc<PolicySet>,
    pub(crate) playbook: Option<(PlaybookId, SafetyClass)>,
    /// The context of a mission's stages.
    pub(crate) desk: Option<Arc<dyn StageRunner>>,
}

/// An effect and the gate's decision about it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(super) call: ExactCall,
    pub(super) decision: GateDecision,
    pub(super) tool: PinnedTool,
    pub(super) script: Option<ScriptTool>,
    pub(super) dry_run: bool,
    pub(super) timeout: Duration,
    pub(super) tenant: TenantId,
    /// The user whose credentials the tool gets.
    by: UserId,
    cache_ttl: Duration,
    /// An earlier result of the same call, used instead of a new call.
    recalled: Option<Value>,
    /// Work that this server performs itself, in place of a tool.
    own: Option<InternalEffect>,
    /// Whether it carries out a mission's proposal.
    of_proposal: bool,
    /// When the approval lapses under which it begins.
    pub(super) approved_until: Option<Timestamp>,
    /// A read of the change's target, with the value at the time of the decision.
    seen: Option<Box<(Prepared, Value)>>,
}

/// The action for a step that may start.
#[derive(Debug)]
pub(crate) enum Preparation {
    /// Start its effect.
    Effect(Box<Prepared>),
    /// Do nothing: this is a dry run, and the step writes with a tool that does not support one.
    NotInDryRun,
}

/// How a step ended.
#[derive(Debug)]
pub(crate) enum StepEnd {
    Succeeded {
        step: StepId,
        output: Value,
        source: ResultSource,
        duration_ms: u64,
        brings: Box<StepYield>,
        /// Tools that the new steps call.
        tools: Vec<PinnedTool>,
        /// The memory of a large output.
        memory: Option<Box<OutputMemory>>,
    },
    Failed {
        step: StepId,
        failure: StepFailure,
        tokens: TokenUsage,
    },
    /// A write was answered and the answer is refused: the write did happen, or may have.
    InDoubt { step: StepId, refusal: StepFailure },
}

impl StepEnd {
    pub(crate) fn step(&self) -> &StepId {
        match self {
            Self::Succeeded { step, .. }
            | Self::Failed { step, .. }
            | Self::InDoubt { step, .. } => step,
        }
    }

    /// Where its result came from, or why it has none.
    pub(crate) fn outcome(&self) -> Result<&ResultSource, &StepFailure> {
        match self {
            Self::Succeeded { source, .. } => Ok(source),
            Self::Failed { failure, .. }
            | Self::InDoubt {
                refusal: failure, ..
            } => Err(failure),
        }
    }

    /// Tokens that the step used.
    pub(crate) fn tokens(&self) -> TokenUsage {
        match self {
            Self::Succeeded { brings, .. } => brings.tokens,
            Self::Failed { tokens, .. } => *tokens,
            Self::InDoubt { .. } => TokenUsage::default(),
        }
    }
}

/// Why a call has no output.
enum NoOutput {
    /// The call failed.
    Failed(StepFailure),
    /// The tool answered, and the answer is refused.
    Refused(StepFailure),
}

impl NoOutput {
    fn into_failure(self) -> StepFailure {
        match self {
            Self::Failed(failure) | Self::Refused(failure) => failure,
        }
    }
}

impl From<StepFailure> for NoOutput {
    fn from(failure: StepFailure) -> Self {
        Self::Failed(failure)
    }
}

pub(crate) fn failure(kind: ErrorKind, code: ErrorCode, message: impl Into<String>) -> StepFailure {
    StepFailure {
        kind,
        code: code.as_str().to_owned(),
        message: message.into(),
        retryable: false,
        account: None,
    }
}

/// The tool that a step calls, in the versions that its run pinned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CalledTool<'w> {
    pub(crate) tool: &'w PinnedTool,
    script: Option<&'w ScriptTool>,
    writes: bool,
}

impl Workspace {
    /// Makes every decision before an effect starts. A call that cannot be prepared fails the step.
    pub(crate) fn prepare(
        &self,
        run: &Run,
        step: &StepId,
        now: Timestamp,
    ) -> Result<Preparation, StepFailure> {
        let missing = |what: String| failure(ErrorKind::SystemError, ErrorCode::Internal, what);
        let step = run
            .graph()
            .step(step)
            .ok_or_else(|| missing(format!("the run has no step `{step}`")))?;
        let StepAction::Call { arguments, .. } = &step.action else {
            return Err(missing(format!("the step `{}` calls nothing", step.id)));
        };
        let called = self.called(step).map_err(missing)?;
        let given = resolved(run, step, arguments)?;
        let call = self
            .exact(run, step, called, given)
            .map_err(|error| failure(ErrorKind::InputError, error.code, error.to_string()))?;
        let Some(call) = call else {
            return Ok(Preparation::NotInDryRun);
        };
        let document = &called.tool.entry.document;
        let mut decision = self.ask(run, step, document, &call, now);
        if let Some(refusal) = self.mandate_refusal(run, step, document, now)? {
            decision = refusal;
        }
        Ok(Preparation::Effect(Box::new(Prepared {
            approved_until: run.steps().approval_end(&call, &decision, now),
            decision,
            own: self.own_work(run, step, document, &call)?,
            seen: self.target_read(run, step, now)?,
            // All other calls of a mission only read (B002-6).
            of_proposal: self.desk.is_some() && called.writes,
            call,
            tool: called.tool.clone(),
            script: called.script.cloned(),
            dry_run: run.is_dry_run() && called.writes,
            timeout: timeout(step, document),
            tenant: self.tenant.clone(),
            by: self.by.clone(),
            cache_ttl: Duration::from_secs(step.cache_ttl_seconds),
            recalled: None,
        })))
    }

    /// Prepares the read of a step's target, if the step asks for one.
    fn target_read(
        &self,
        run: &Run,
        step: &Step,
        now: Timestamp,
    ) -> Result<Option<Box<(Prepared, Value)>>, StepFailure> {
        let Some(look) = &step.unless_changed else {
            return Ok(None);
        };
        let seen = run.outputs().get(look).cloned();
        match (self.prepare(run, look, now)?, seen) {
            (Preparation::Effect(look), Some(seen)) => Ok(Some(Box::new((*look, seen)))),
            (Preparation::Effect(_) | Preparation::NotInDryRun, _) => {
                let what = format!("the step `{}` has no target to read", step.id);
                Err(failure(ErrorKind::SystemError, ErrorCode::Internal, what))
            }
        }
    }

    /// Returns the refusal of a call that its task may not make: its package does not name the tool, or its pass does
    /// not cover the data that the tool reads (B002-5, B002-8).
    fn mandate_refusal(
        &self,
        run: &Run,
        step: &Step,
        tool: &Tool,
        now: Timestamp,
    ) -> Result<Option<GateDecision>, StepFailure> {
        let (Some(desk), Some(task)) = (&self.desk, &step.mandate) else {
            return Ok(None);
        };
        let refused = desk.refusal(run, task, tool, now)?;
        let rule = |(id, why): (String, String)| RuleResult::new(RuleKind::Permission, &id, why);
        Ok(refused.map(|refused| GateDecision::Deny {
            rules: vec![rule(refused)],
        }))
    }

    /// Returns what a step calls; the error names what is missing.
    pub(crate) fn called(&self, step: &Step) -> Result<CalledTool<'_>, String> {
        let StepAction::Call {
            tool,
            script,
            writes,
            ..
        } = step.action.each()
        else {
            return Err(format!("the step `{}` calls nothing", step.id));
        };
        let find = |id| {
            let script = self.scripts.get(id);
            script.ok_or_else(|| format!("the run has no script `{id}`"))
        };
        Ok(CalledTool {
            tool: self
                .tools
                .get(tool)
                .ok_or_else(|| format!("the run has no tool `{tool}`"))?,
            script: script.as_ref().map(find).transpose()?,
            writes: *writes,
        })
    }

    /// Returns the exact call with these values, checked against the tool's declaration and with defaults filled in.
    /// `None` if this is a dry run that the tool does not support.
    pub(crate) fn exact(
        &self,
        run: &Run,
        step: &Step,
        called: CalledTool<'_>,
        mut given: Map<String, Value>,
    ) -> Result<Option<ExactCall>, EngineError> {
        let document = &called.tool.entry.document;
        if run.is_dry_run() && called.writes {
            if called.script.is_some() || !document.supports_dry_run() {
                return Ok(None);
            }
            given.insert(DRY_RUN.to_owned(), Value::Bool(true));
        }
        let parameters = match called.script {
            Some(_) => given,
            None => bound(document, &given)?,
        };
        Ok(Some(ExactCall {
            run_id: run.id().clone(),
            step: step.id.clone(),
            tool: document.tool_id.clone(),
            tool_hash: called.tool.entry.content_hash.clone(),
            parameters,
        }))
    }
}

fn timeout(step: &Step, tool: &Tool) -> Duration {
    let own = tool
        .timeout_ms
        .map(|limit| Duration::from_millis(limit.get()));
    match (step.timeout_ms, own) {
        (0, own) => own.unwrap_or(Limits::TIMEOUT),
        (limit, own) => own
            .unwrap_or(Duration::MAX)
            .min(Duration::from_millis(limit)),
    }
}

/// Returns the resolved arguments of a step.
fn resolved(
    run: &Run,
    step: &Step,
    arguments: &Arguments,
) -> Result<Map<String, Value>, StepFailure> {
    let left = RUN_MEMORY.saturating_sub(run.memory());
    let mut filling = FillBudget::with_limit(left.min(JSON_MEMORY));
    let values = arguments.resolve(run.bindings_of(step), &mut filling);
    values.map_err(|error| {
        let code = ErrorCode::InvalidParameters;
        failure(ErrorKind::InputError, code, error.to_string())
    })
}

/// Checks parameters against the tool's declaration and fills in defaults.
fn bound(tool: &Tool, given: &Map<String, Value>) -> Result<Map<String, Value>, EngineError> {
    parameters::bind_arguments(tool, given)
        .map_err(|faults| EngineError::parameters(&format!("the tool `{}`", tool.tool_id), &faults))
}

impl Prepared {
    pub(crate) fn call(&self) -> &ExactCall {
        &self.call
    }

    pub(crate) fn decision(&self) -> &GateDecision {
        &self.decision
    }

    pub(crate) fn tool(&self) -> &Tool {
        &self.tool.entry.document
    }

    pub(crate) fn refuse(&mut self, decision: GateDecision) {
        self.decision = decision;
    }

    /// Reports intermediate results of the step to followers of the run.
    pub(crate) fn report_progress_to(&mut self, progress: &Progress) {
        if let Some(own) = &mut self.own {
            own.tell(progress);
        }
    }

    /// Looks up an earlier result of the same call that is still fresh; if there is one, the tool is not called.
    pub(crate) fn recall(&mut self, calls: &ToolCallService, now: Timestamp) {
        let key = self.result_key();
        self.recalled = key.and_then(|key| calls.results.get(&key, self.cache_ttl, now));
    }

    /// Returns whether a cached result is used.
    pub(crate) fn is_recalled(&self) -> bool {
        self.recalled.is_some()
    }

    /// The cache key of the result, if the result may be reused.
    fn result_key(&self) -> Option<ResultKey> {
        let reads = self.cache_ttl > Duration::ZERO;
        reads.then(|| {
            ResultKey::new(
                &self.tenant,
                &self.by,
                &self.tool.entry,
                &self.call.parameters,
            )
        })
    }

    /// Calls the tool, or uses the cached result.
    pub(crate) async fn perform(
        mut self,
        calls: &ToolCallService,
        clients: &dyn RunClients,
        room: Arc<RunMemory>,
        key: String,
        cancel: CancellationToken,
    ) -> StepEnd {
        if let Some(own) = self.own.take() {
            return self.run_internal(own, calls, clients, &room, cancel).await;
        }
        let step = self.call.step.clone();
        if let Some(output) = self.recalled.take() {
            return StepEnd::Succeeded {
                step,
                output,
                source: ResultSource::Cached,
                duration_ms: 0,
                brings: Box::default(),
                tools: Vec::new(),
                memory: None,
            };
        }
        let result_key = self.result_key();
        let tenant = self.tenant.clone();
        let writes = self.tool.entry.document.tool_class == ToolClass::Write;
        let changes = writes && !self.dry_run;
        let ended = self.run(calls, &room, key, cancel).await;
        // A write that failed may have changed something as well.
        if writes {
            calls.results.forget(&tenant);
        }
        match ended {
            Ok((output, duration_ms, memory)) => {
                if let Some(key) = result_key {
                    calls.results.insert(key, &output, calls.clock.now());
                }
                StepEnd::Succeeded {
                    step,
                    output,
                    source: ResultSource::Fresh,
                    duration_ms,
                    brings: Box::default(),
                    tools: Vec::new(),
                    memory,
                }
            }
            Err(NoOutput::Refused(refusal)) if changes => StepEnd::InDoubt { step, refusal },
            Err(none) => StepEnd::Failed {
                step,
                failure: none.into_failure(),
                tokens: TokenUsage::default(),
            },
        }
    }

    /// Refuses a change whose target differs from the state that was decided on (B002-13).
    async fn has_changed(
        &mut self,
        calls: &ToolCallService,
        room: &Arc<RunMemory>,
        cancel: &CancellationToken,
    ) -> Result<(), StepFailure> {
        let Some(seen) = self.seen.take() else {
            return Ok(());
        };
        let (look, before) = *seen;
        let tool = look.call.tool.clone();
        let key = format!("{}/again", look.call.step);
        let seen = Box::pin(look.run(calls, room, key, cancel.clone())).await;
        let (now, ..) = seen.map_err(NoOutput::into_failure)?;
        if Digest::from_json(&now) == Digest::from_json(&before) {
            return Ok(());
        }
        let message =
            format!("conflict: the target changed since `{tool}` read it for the proposal");
        Err(target_changed(message))
    }

    /// Returns the output, its duration, and its memory if it is large.
    async fn run(
        mut self,
        calls: &ToolCallService,
        room: &Arc<RunMemory>,
        key: String,
        cancel: CancellationToken,
    ) -> Result<(Value, u64, Option<Box<OutputMemory>>), NoOutput> {
        self.has_changed(calls, room, &cancel).await?;
        let entry = Arc::clone(&self.tool.entry);
        let checked = self.script.is_none();
        let (of_proposal, approved_until) = (self.of_proposal, self.approved_until);
        let by = self.by.clone();
        let (tenant, run) = (self.tenant.clone(), self.call.run_id.clone());
        let room = calls.memory.for_output(room);
        let secrets = secrets(calls, &tenant, &by, &entry.document).await?;
        let call = self.tool_call(calls, secrets, key, Arc::<OutputAllocation>::clone(&room))?;
        let _slot = calls.slot(&tenant, &call).await;
        still_approved(approved_until, calls.clock.now())?;
        let _resting = calls.drivers.mark_idle(&run);
        match calls.tools.run(call, cancel).await {
            ToolOutcome::Succeeded {
                mut output,
                duration_ms,
                ..
            } => {
                let content = content_of(&entry.document, &mut output);
                if checked {
                    let fits = check_output(&entry.document, output).await;
                    output = fits.map_err(NoOutput::Refused)?;
                }
                if let Some(content) = content {
                    calls.contents.keep(&tenant, &mut output, content).await;
                }
                Ok((output, duration_ms, room.take()))
            }
            // B002-13: the system of record reports that the target differs from the one that the proposal was made
            // for.
            ToolOutcome::Failed {
                message,
                stale: true,
                ..
            } if of_proposal => Err(NoOutput::Failed(target_changed(format!(
                "conflict: `{}` reports that the target changed since it was read: {message}",
                entry.document.tool_id
            )))),
            ToolOutcome::Failed {
                answered: true,
                message,
                ..
            } => Err(NoOutput::Refused(refused(format!(
                "the tool `{}` returned an unusable result: {message}",
                entry.document.tool_id
            )))),
            ToolOutcome::Failed {
                kind,
                message,
                retryable,
                ..
            } => Err(NoOutput::Failed(StepFailure {
                kind,
                code: code_of(kind).as_str().to_owned(),
                message: format!("the tool `{}` failed: {message}", entry.document.tool_id),
                retryable,
                account: None,
            })),
        }
    }
}

/// Removes the content from the output of an MCP server's tool: the tool's declaration does not cover it.
fn content_of(tool: &Tool, output: &mut Value) -> Option<Value> {
    match &tool.implementation {
        Some(Implementation::Mcp { .. }) => tool_content::detach(output),
        Some(_) | None => None,
    }
}

/// Returns the secrets that a tool gets: those of the user on whose behalf the run acts, also after another person
/// approved or resumed it.
async fn secrets(
    calls: &ToolCallService,
    tenant: &TenantId,
    by: &UserId,
    document: &Tool,
) -> Result<CallSecrets, StepFailure> {
    if !document.has_credentials() {
        return Ok(CallSecrets::default());
    }
    let found = calls.credentials.for_call(tenant, by, document);
    found.await.map_err(|error| StepFailure {
        kind: if error.code == ErrorCode::Unavailable {
            ErrorKind::ResourceError
        } else {
            ErrorKind::PermissionError
        },
        code: error.code.as_str().to_owned(),
        message: format!("the tool `{}` was not called: {error}", document.tool_id),
        retryable: error.code.retryable(),
        account: error.missing_account().map(Box::new),
    })
}

/// The failure of a step whose tool answered with a result that is refused.
fn refused(message: String) -> StepFailure {
    failure(
        ErrorKind::ExecutionError,
        ErrorCode::ToolResultInvalid,
        message,
    )
}

/// Refuses a call whose approval lapsed while it waited for a slot: it has had no effect yet.
fn still_approved(until: Option<Timestamp>, now: Timestamp) -> Result<(), StepFailure> {
    match until {
        Some(end) if now >= end => Err(failure(
            ErrorKind::PermissionError,
            ErrorCode::ApprovalExpired,
            format!("its approval expired at {end}, before the call could start"),
        )),
        Some(_) | None => Ok(()),
    }
}

fn target_changed(message: String) -> StepFailure {
    StepFailure {
        kind: ErrorKind::ExecutionError,
        code: TARGET_CHANGED.to_owned(),
        message,
        retryable: false,
        account: None,
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

/// Checks a result against the tool's declaration (B003-4).
async fn check_output(tool: &Tool, output: Value) -> Result<Value, StepFailure> {
    let Some(schema) = &tool.output_schema else {
        return Ok(output);
    };
    let (output, violations) = check_against(schema, output).await;
    let Some(first) = violations.first() else {
        return Ok(output);
    };
    Err(refused(format!(
        "the result of the tool `{}` violates its output schema: {first}",
        tool.tool_id
    )))
}

#[cfg(test)]
mod tests;
